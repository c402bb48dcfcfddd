// SPDX-License-Identifier: BSL-1.0
//
// Read first: `run`, which calls the middleware.

#include "session.hpp"

#include "responses.hpp"

#include <colimit/beast.hpp>
#include <colimit/key.hpp>
#include <colimit/metrics.hpp>
#include <colimit/routes.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace http_server {

namespace {

namespace http = boost::beast::http;
using clock = std::chrono::steady_clock;

constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";

/// While it lives, the connection waits for its client, and may be dropped for another one.
class client_wait {
  public:
    client_wait(std::list<session*>& all, session* one)
        : all_(all), at_(all.insert(all.end(), one)) {}
    ~client_wait() { all_.erase(at_); }
    client_wait(const client_wait&) = delete;
    client_wait& operator=(const client_wait&) = delete;

  private:
    std::list<session*>& all_; // NOLINT(cppcoreguidelines-avoid-const-or-ref-data-members)
    std::list<session*>::iterator at_;
};

} // namespace

session::session(asio::ip::tcp::socket client, const asio::ip::address& peer, service& shared)
    : client_(std::move(client)), received_(max_header_bytes + max_body_bytes), service_(shared),
      peer_(peer) {}

/// The loop is one coroutine, so that a request costs no coroutine frame.
asio::awaitable<void> session::run() {
    boost::system::error_code ignored;
    ignored = client_.socket().set_option(asio::ip::tcp::no_delay{true}, ignored);
    for (auto is_open = true; is_open;) {
        parser next;
        next.header_limit(max_header_bytes);
        next.body_limit(max_body_bytes);
        client_.expires_after(patience);
        auto waiting = std::make_optional<client_wait>(service_.waiting, this);
        auto [ec, size] = co_await http::async_read_header(client_, received_, next, quietly);
        const auto refused = ec ? refusal{} : refusal_of(next.get());
        if (refused.status != http::status{}) {
            co_await reject(refused);
            co_return;
        }
        if (!ec && !next.is_done() && next.get().count(http::field::expect) != 0)
            std::tie(ec, size) =
                co_await asio::async_write(client_, asio::buffer(continue_line), quietly);
        if (!ec && !next.is_done())
            std::tie(ec, size) = co_await http::async_read(client_, received_, next, quietly);
        if (ec) {
            co_await reject(ec);
            co_return;
        }
        waiting.reset();
        const auto& r = next.get();
        // As the middleware sees it, so that another spelling of a path escapes no limit.
        const auto path = colimit::http::normal_path(r.target());
        if (path == "/events" && r.method() == http::verb::get) {
            co_await serve_events();
            co_return;
        }
        auto made = respond(r, path);
        if (service_.is_limiting && path.starts_with("/api/")) {
            const auto what = colimit::http::view_of(r, peer_);
            const auto is_measured = service_.watch.wants_time();
            const auto start = is_measured ? clock::now() : clock::time_point{};
            auto [failure, verdict] = co_await service_.guard.check(what, quietly);
            if (is_measured)
                add_time(verdict, clock::now() - start);
            if (verdict.allowed)
                colimit::http::add_fields(made, verdict);
            else
                made = colimit::http::denial_of(r, std::move(verdict));
        }
        to_text(made, sent_);
        client_.expires_after(patience);
        waiting.emplace(service_.waiting, this);
        const auto [lost, sent] = co_await asio::async_write(client_, asio::buffer(sent_), quietly);
        is_open = !lost && made.keep_alive();
    }
}

/// A body whose end is not known would be read as requests.
session::refusal session::refusal_of(const request& r) const {
    const auto codings = r.count(http::field::transfer_encoding);
    if (codings > 1 ||
        (codings == 1 && !boost::beast::iequals(r.at(http::field::transfer_encoding), "chunked")))
        return {http::status::not_implemented, "unknown transfer coding (expected chunked)"};
    if (codings == 1 && r.version() < 11)
        return {http::status::bad_request, "a transfer coding needs HTTP/1.1"};
    if (r.count(http::field::expect) != 0 &&
        !boost::beast::iequals(r[http::field::expect], "100-continue"))
        return {http::status::expectation_failed, "unknown expectation (expected 100-continue)"};
    const auto hosts = r.count(http::field::host);
    if (hosts > 1 || (hosts == 0 && r.version() >= 11))
        return {http::status::bad_request, "expected one Host field"};
    if ((hosts == 1 && !has_own_name(r.at(http::field::host))) || !is_for_own_name(r.target()))
        return {http::status::misdirected_request, "this server has another name (see --host)"};
    return {};
}

/// The page shows keys, which the page of another site could read under a name of its own that it
/// lets resolve to this address. Such a name has a dot.
bool session::has_own_name(std::string_view host) const {
    const auto end = host.find_last_of(":]");
    if (end != std::string_view::npos && host[end] == ':')
        host = host.substr(0, end);
    boost::system::error_code is_name;
    (void)asio::ip::make_address(host.starts_with('[') ? host.substr(1, host.size() - 2) : host,
                                 is_name);
    const auto is_own = [host](const auto& name) { return boost::beast::iequals(host, name); };
    return !is_name || (!host.empty() && host.find('.') == std::string_view::npos) ||
           std::ranges::any_of(service_.hosts, is_own);
}

/// The name in `http://name/path` replaces that of Host (RFC 9112, 3.2.2).
bool session::is_for_own_name(std::string_view target) const {
    const auto scheme = target.find("://");
    if (target.starts_with('/') || scheme == std::string_view::npos)
        return true;
    const auto rest = target.substr(scheme + 3);
    const auto authority = rest.substr(0, rest.find_first_of("/?#"));
    return has_own_name(authority.substr(authority.rfind('@') + 1));
}

void session::stop() {
    boost::system::error_code ignored; // the client may have disconnected
    ignored = client_.socket().shutdown(asio::ip::tcp::socket::shutdown_receive, ignored);
}

/// Returns what an allowed client gets.
session::response session::respond(const request& r, std::string_view path) const {
    if (path.starts_with("/api/"))
        return make_response(r, http::status::ok, "application/json", "{\"message\":\"hello\"}\n");
    if (path == "/metrics")
        return metrics_response(r);
    return page_response(r, path);
}

session::response session::metrics_response(const request& r) const {
    using namespace std::chrono_literals;
    static const colimit::policy scrapes{"metrics", colimit::gcra(5, 1s).burst(10)};
    const auto d = service_.readers.allow(colimit::key::address(peer_), scrapes);
    if (d.allowed())
        return make_response(r, http::status::ok, colimit::prometheus_content_type,
                             to_prometheus(colimit::metrics_of(service_.limiter)) +
                                 to_prometheus(colimit::metrics_of(service_.policies)));
    auto denied = make_response(r, http::status::too_many_requests, colimit::http::problem_type,
                                colimit::http::problem_body(scrapes, d));
    for (const auto& [name, value] : colimit::http::draft_11::fields(scrapes, d))
        denied.set(name, value);
    return denied;
}

/// Times are those of a call for all policies of the route.
void session::add_time(const colimit::http::verdict& v, std::chrono::steady_clock::duration time) {
    for (const auto& policy : v.policies)
        service_.watch.add_time(policy.limit.name(), time);
}

asio::awaitable<void> session::serve_events() {
    if (service_.events.is_full())
        co_await send(rejection(http::status::service_unavailable,
                                "too many pages are open; try again later"));
    else
        co_await service_.events.serve(client_);
}

asio::awaitable<void> session::reject(boost::system::error_code why) {
    auto status = http::status::bad_request;
    if (why == http::error::header_limit)
        status = http::status::request_header_fields_too_large;
    else if (why == http::error::body_limit || why == http::error::buffer_overflow)
        status = http::status::payload_too_large;
    else if (why.category() != make_error_code(http::error::bad_method).category() ||
             why == http::error::end_of_stream || why == http::error::partial_message)
        co_return; // the connection ended, or the time is over
    co_await send(rejection(status, why.message()));
    co_await linger();
}

asio::awaitable<void> session::reject(refusal why) {
    co_await send(rejection(why.status, why.reason));
    co_await linger();
}

asio::awaitable<void> session::send(response r) {
    to_text(r, sent_);
    client_.expires_after(patience);
    co_await asio::async_write(client_, asio::buffer(sent_), quietly);
}

/// Takes what the client is still sending, so that the system does not discard the response; for a
/// second at most.
asio::awaitable<void> session::linger() {
    boost::system::error_code ec;
    ec = client_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ec);
    client_.expires_after(std::chrono::seconds{1});
    std::array<char, 4096> rest{};
    while (!ec) {
        const auto [failure, size] = co_await client_.async_read_some(asio::buffer(rest), quietly);
        ec = failure;
    }
}

} // namespace http_server
