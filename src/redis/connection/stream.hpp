// SPDX-License-Identifier: BSL-1.0
//
// The socket only: over TCP, with or without TLS, or a unix path; connecting, reading, writing.
// Completions have the number of their connection, so that those of earlier ones are recognised.

#pragma once

#include <async/handler_memory.hpp>
#include <base/logger.hpp>
#include <colimit/diagnostics.hpp>
#include <colimit/error.hpp>
#include <redis/connection/address.hpp>
#include <redis/connection/tls_context.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/core/noncopyable.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace colimit::redis {

/// The receiver of completions. Every outstanding operation owns a reference to it; the executor
/// calls its functions.
class stream_events : boost::noncopyable {
  public:
    /// With TLS, called when the server's certificate is verified. `errc::untrusted_server`,
    /// `auth_failed` and `bad_reply` (not TLS), here and in the following, are refusals by one
    /// side, which stay until their cause changes; any other error is a lost connection.
    virtual void on_connect(std::uint64_t connection, error_code ec) = 0;
    virtual void on_read(std::uint64_t connection, error_code ec, std::size_t bytes) = 0;
    /// If there is an error, at most this many bytes can have reached the server.
    virtual void on_write(std::uint64_t connection, error_code ec, std::size_t bytes) = 0;

  protected:
    ~stream_events() = default;
};

/// Options of a TCP socket; 0 keeps the system's default.
struct tcp_options {
    std::chrono::seconds keep_alive{0};        ///< idle time before a keep-alive probe
    std::chrono::milliseconds user_timeout{0}; ///< how long sent data may stay unacknowledged
};

/// Runs `step`, which returns an error code; returns `no_memory` if it throws, as no exception may
/// leave a connection's handler through the event loop.
template<class Step>
[[nodiscard]] error_code guarded(Step step) noexcept {
    try {
        return step();
    } catch (const std::exception&) {
        return boost::asio::error::no_memory;
    }
}

class stream {
  public:
    using executor = boost::asio::any_io_executor;
    using listener = std::shared_ptr<stream_events>;

    /// @param tls for addresses with TLS, else null
    stream(const executor& ex, redis::address where, std::shared_ptr<const tls_context> tls,
           tcp_options tcp = {}, detail::logger log = {});

    /// Returns the number of the connection that is open or being made.
    [[nodiscard]] std::uint64_t connection() const noexcept { return connection_; }
    /// Returns the phase of the connection: resolve, connect or tls. Any thread may call it.
    [[nodiscard]] colimit::phase reached() const noexcept { return reached_; }
    /// Returns why TLS failed, as reported by OpenSSL or a server without TLS; else empty.
    [[nodiscard]] std::string_view tls_failure() const noexcept;
    [[nodiscard]] const redis::address& where() const noexcept { return where_; }

    /// Sets the address of later connections. There is no connection.
    void set_address(redis::address where);

    /// If a TLS handshake has begun and the server has sent nothing: sends bytes to which a
    /// plain-text Redis server replies with an error, as it takes the start of the handshake for
    /// the beginning of a long line. A TLS server closes the connection.
    void send_plaintext_probe(const listener& to);

    /// Tries the addresses of the host one after the other, those that failed before come last.
    /// Each has an equal share of the time until `give_up`, when the caller closes.
    void connect(listener to, std::chrono::steady_clock::time_point give_up);
    /// Called when the server at the current address works: it is tried first next time.
    void keep_address() noexcept { std::erase(failed_, current_); }
    /// Called when it does not work, or is silent: the others are tried first next time.
    void demote_address() noexcept;
    void read_some(listener to, std::span<char> into);
    /// The previous write has completed.
    void write(listener to, std::string_view bytes);
    /// Returns how many operations of sockets have completed so far.
    [[nodiscard]] std::uint64_t completions() const noexcept { return completions_; }
    /// Returns whether the system has received bytes that no operation has read yet.
    [[nodiscard]] bool has_unread() const noexcept;
    /// Closes; outstanding operations complete with the number of the closed connection. Name
    /// resolution continues, for the next connection.
    void close() noexcept;
    /// Closes permanently.
    void shut_down() noexcept;

  private:
    using tcp = boost::asio::ip::tcp;
    struct secure_part;

    void connect_tcp(const listener& to);
    void resolve(const listener& to);
    void connect_to(std::vector<tcp::endpoint> found, const listener& to);
    void connect_next(const listener& to, error_code last);
    void try_next(const listener& to);
    void start_share_timer(const listener& to);
    template<class Text>
    void log_address(const Text& what) const noexcept;
    void on_tcp_connect(const listener& to, error_code ec);

    // With TLS (stream_tls.cpp)
    void begin_tls(const listener& to);
    void handshake(const listener& to);
    template<class Next>
    void receive(const listener& to, Next next);
    void receive_handshake(const listener& to);
    void read_tls(const listener& to, std::span<char> into);
    void receive_tls(const listener& to, std::span<char> into);
    void write_tls(const listener& to, std::string_view bytes);
    void send(const listener& to);
    void on_sent(const listener& to, secure_part& with, error_code ec, std::size_t bytes);
    void end_tls() noexcept;

    redis::address where_;
    detail::logger log_;
    std::shared_ptr<const tls_context> tls_;
    std::shared_ptr<secure_part> secure_; ///< of this connection, if it uses TLS
    tcp_options tcp_;
    std::optional<tcp::resolver> resolver_;
    std::weak_ptr<char> resolution_;       ///< a resolution is in progress if it is alive
    std::vector<tcp::endpoint> resolved_;  ///< its result, if no attempt was in progress
    std::vector<tcp::endpoint> endpoints_; ///< of this attempt, in order
    std::size_t next_endpoint_ = 0;
    std::vector<tcp::endpoint> failed_; ///< since they worked last, in the order of failure
    tcp::endpoint current_;             ///< the address that is being tried or is connected
    std::chrono::steady_clock::time_point give_up_;
    boost::asio::steady_timer share_;
    /// Until it is connected; then the socket is moved from here.
    std::shared_ptr<tcp::socket> connecting_;
    boost::asio::generic::stream_protocol::socket socket_;
    std::uint64_t connection_ = 1;
    bool is_closed_ = true;
    std::atomic<colimit::phase> reached_{colimit::phase::resolve};
    std::uint64_t completions_ = 0;
    detail::handler_memory read_memory_;
    detail::handler_memory write_memory_;
};

} // namespace colimit::redis
