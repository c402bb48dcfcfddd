// SPDX-License-Identifier: BSL-1.0
//
// The socket, without TLS.
//
// Names are resolved for each attempt, as they may change. Within an attempt each address has an
// equal share of the remaining time, so one that drops packets does not use it up; one that accepts
// and then stays silent does, and the next attempt begins with the others. Failures are recorded by
// address, not by position, because resolvers rotate. After a reset the same address is tried
// first, as its host exists; after silence, or if the server refuses commands, another one.

#include <redis/connection/stream.hpp>

#include <netinet/tcp.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/assert.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace colimit::redis {

namespace asio = boost::asio;

namespace {

template<int Level, int Name>
void set(asio::ip::tcp::socket& socket, std::int64_t value) {
    auto ignored = error_code{}; // the socket can be used without the option
    const auto number = static_cast<int>(value);
    (void)socket.set_option(asio::detail::socket_option::integer<Level, Name>{number}, ignored);
}

void apply(const tcp_options& options, asio::ip::tcp::socket& socket) {
    set<IPPROTO_TCP, TCP_NODELAY>(socket, 1);
    if (const auto idle = options.keep_alive.count(); idle != 0) {
        constexpr auto probes = 3;
        set<SOL_SOCKET, SO_KEEPALIVE>(socket, 1);
#ifdef TCP_KEEPIDLE
        set<IPPROTO_TCP, TCP_KEEPIDLE>(socket, idle);
        set<IPPROTO_TCP, TCP_KEEPINTVL>(socket, std::max(idle / probes, std::int64_t{1}));
        set<IPPROTO_TCP, TCP_KEEPCNT>(socket, probes);
#endif
    }
#ifdef TCP_USER_TIMEOUT
    if (const auto most = options.user_timeout.count(); most != 0)
        set<IPPROTO_TCP, TCP_USER_TIMEOUT>(socket, most);
#endif
}

} // namespace

stream::stream(const executor& ex, redis::address where, std::shared_ptr<const tls_context> tls,
               tcp_options tcp, detail::logger log)
    : where_(std::move(where)), log_(std::move(log)), tls_(std::move(tls)), tcp_(tcp), share_(ex),
      socket_(ex) {}

void stream::set_address(redis::address where) {
    BOOST_ASSERT(is_closed_);
    where_ = std::move(where);
    reached_ = phase::resolve;
    // What is known about the previous host, and its name being resolved, is of no use.
    resolution_.reset();
    resolver_.reset();
    resolved_.clear();
    failed_.clear();
}

void stream::connect(listener to, std::chrono::steady_clock::time_point give_up) {
    give_up_ = give_up;
    is_closed_ = false;
    if (where_.kind != address::kind::unix_socket)
        return connect_tcp(to);
    // Paths that are too long for the system are rejected when the address is parsed.
    reached_ = phase::connect;
    log_.write(log_level::debug, where_.path, ": connecting");
    const auto endpoint = asio::local::stream_protocol::endpoint{where_.path};
    socket_.async_connect(endpoint, [to = std::move(to), id = connection_](error_code ec) {
        to->on_connect(id, ec);
    });
}

void stream::connect_tcp(const listener& to) {
    reached_ = phase::resolve;
    auto ec = error_code{};
    const auto literal = asio::ip::make_address(where_.host, ec);
    if (!ec)
        return connect_to({tcp::endpoint{literal, where_.port}}, to);
    if (auto found = std::exchange(resolved_, {}); !found.empty())
        return connect_to(std::move(found), to);
    if (resolution_.expired())
        resolve(to);
}

/// A resolution continues after the end of its attempt, and serves the next one: a resolver may
/// take longer than an attempt each time. It ends when its handler is destroyed, run or not.
void stream::resolve(const listener& to) {
    log_.write(log_level::debug, where_.host, ": resolving");
    const auto token = std::make_shared<char>();
    resolver_.emplace(socket_.get_executor());
    resolver_->async_resolve(
        where_.host, std::to_string(where_.port),
        [this, to, token](error_code ec, const tcp::resolver::results_type& found) {
            if (token != resolution_.lock())
                return;
            ++completions_;
            resolution_.reset();
            if (ec)
                log_.write(log_level::debug, where_.host, ": ", ec);
            else
                log_.write(log_level::debug, where_.host, ": addresses found: ", found.size());
            const auto is_awaited = reached_ == phase::resolve && !is_closed_;
            if (!ec)
                ec = guarded([&] {
                    auto all = std::vector<tcp::endpoint>{found.begin(), found.end()};
                    is_awaited ? connect_to(std::move(all), to) : resolved_.swap(all);
                    return error_code{};
                });
            if (ec && is_awaited)
                to->on_connect(connection_, ec);
        });
    resolution_ = token;
}

/// Addresses that failed are tried last, the latest failure at the end.
void stream::connect_to(std::vector<tcp::endpoint> found, const listener& to) {
    std::erase_if(failed_,
                  [&](const auto& e) { return std::ranges::find(found, e) == found.end(); });
    failed_.reserve(found.size()); // so that recording a failure allocates nothing
    for (const auto& e : failed_) {
        const auto at = std::ranges::find(found, e);
        std::rotate(at, at + 1, found.end());
    }
    endpoints_ = std::move(found);
    next_endpoint_ = 0;
    try_next(to);
}

/// Writes a line about the address that is being tried.
template<class Text>
void stream::log_address(const Text& what) const noexcept {
    const auto name = [this] {
        return to_string(host_port{current_.address().to_string(), current_.port()});
    };
    log_.write(log_level::debug, name, ": ", what);
}

void stream::connect_next(const listener& to, error_code last) {
    connecting_.reset();
    if (next_endpoint_ < endpoints_.size())
        last = guarded([&] { return try_next(to), error_code{}; });
    if (last)
        to->on_connect(connection_, last);
}

void stream::try_next(const listener& to) {
    current_ = endpoints_.at(next_endpoint_++);
    log_address("connecting");
    demote_address(); // until it is known to work
    reached_ = phase::connect;
    connecting_ = std::make_shared<tcp::socket>(socket_.get_executor());
    start_share_timer(to);
    connecting_->async_connect(current_,
                               [this, to, id = connection_, open = connecting_](error_code ec) {
                                   if (id == connection_ && open == connecting_)
                                       on_tcp_connect(to, ec);
                               });
}

/// The last address has the remaining time, which the caller limits.
void stream::start_share_timer(const listener& to) {
    const auto remaining = endpoints_.size() + 1 - next_endpoint_;
    if (remaining == 1)
        return;
    const auto now = std::chrono::steady_clock::now();
    share_.expires_at(now + (give_up_ - now) / static_cast<std::int64_t>(remaining));
    share_.async_wait([this, to, id = connection_, open = connecting_](error_code /*cancelled*/) {
        if (id != connection_ || open != connecting_ ||
            std::chrono::steady_clock::now() < share_.expiry())
            return;
        auto ignored = error_code{};
        (void)open->close(ignored);
        log_address("no connection in its share of the time");
        connect_next(to, asio::error::timed_out);
    });
}

void stream::on_tcp_connect(const listener& to, error_code ec) {
    share_.cancel();
    ++completions_;
    if (ec) {
        log_address(ec);
        return connect_next(to, ec);
    }
    apply(tcp_, *connecting_);
    socket_ = std::move(*connecting_);
    connecting_.reset();
    if (tls_) {
        log_address("TLS handshake");
        return begin_tls(to);
    }
    to->on_connect(connection_, {});
}

void stream::demote_address() noexcept {
    std::erase(failed_, current_);
    if (failed_.size() < failed_.capacity())
        failed_.push_back(current_);
}

void stream::read_some(listener to, std::span<char> into) {
    if (secure_)
        return read_tls(to, into);
    socket_.async_read_some(asio::buffer(into.data(), into.size()),
                            with_memory(read_memory_, [this, to = std::move(to), id = connection_](
                                                          error_code ec, std::size_t n) {
                                ++completions_;
                                to->on_read(id, ec, n);
                            }));
}

void stream::write(listener to, std::string_view bytes) {
    if (secure_)
        return write_tls(to, bytes);
    asio::async_write(
        socket_, asio::buffer(bytes.data(), bytes.size()),
        with_memory(write_memory_, [to = std::move(to), id = connection_](
                                       error_code ec, std::size_t n) { to->on_write(id, ec, n); }));
}

bool stream::has_unread() const noexcept {
    auto ec = error_code{};
    return socket_.available(ec) != 0 && !ec;
}

void stream::shut_down() noexcept {
    resolver_.reset(); // cancelling it would allocate
    close();
}

void stream::close() noexcept {
    ++connection_;
    is_closed_ = true;
    auto ignored = error_code{};
    share_.cancel();
    if (connecting_)
        (void)connecting_->close(ignored);
    connecting_.reset();
    if (secure_)
        end_tls();
    (void)socket_.close(ignored);
}

} // namespace colimit::redis
