// SPDX-License-Identifier: BSL-1.0
//
// Read first: `run`, which calls the middleware.

#include "session.hpp"

#include "responses.hpp"

#include <colimit/beast.hpp>
#include <colimit/metrics.hpp>
#include <colimit/routes.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace http_server {

namespace {

namespace http = boost::beast::http;
using clock = std::chrono::steady_clock;

asio::ip::address peer_of(const asio::ip::tcp::socket& client) {
    boost::system::error_code ec;
    const auto peer = client.remote_endpoint(ec);
    return peer.address(); // 0.0.0.0 if the client has disconnected
}

} // namespace

session::session(asio::ip::tcp::socket client, service& shared)
    : client_(std::move(client)), received_(max_header_bytes + max_body_bytes), service_(shared),
      peer_(peer_of(client_.socket())) {}

/// The loop is one coroutine, so that a request costs no coroutine frame.
asio::awaitable<void> session::run() {
    boost::system::error_code ignored;
    ignored = client_.socket().set_option(asio::ip::tcp::no_delay{true}, ignored);
    for (auto is_open = true; is_open;) {
        parser next;
        next.header_limit(max_header_bytes);
        next.body_limit(max_body_bytes);
        client_.expires_after(patience);
        const auto [ec, size] = co_await http::async_read(client_, received_, next, quietly);
        if (ec) {
            co_await reject(ec);
            co_return;
        }
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
        const auto [lost, sent] = co_await asio::async_write(client_, asio::buffer(sent_), quietly);
        is_open = !lost && made.keep_alive();
    }
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
        return make_response(r, http::status::ok, colimit::prometheus_content_type,
                             to_prometheus(colimit::metrics_of(service_.limiter)) +
                                 to_prometheus(colimit::metrics_of(service_.policies)));
    return page_response(r, path);
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
