// SPDX-License-Identifier: BSL-1.0
//
// The socket, and nothing but the socket: over TCP, with TLS or without, or a unix path;
// connecting, reading, writing. Every completion says to which connection it belongs, so that what
// lingers of an earlier one is told apart.

#ifndef COLIMIT_REDIS_CONNECTION_STREAM_HPP
#define COLIMIT_REDIS_CONNECTION_STREAM_HPP

#include <async/handler_memory.hpp>
#include <colimit/diagnostics.hpp>
#include <colimit/error.hpp>
#include <redis/connection/address.hpp>
#include <redis/connection/tls_context.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace colimit::redis {

/// Who is told. Held by every outstanding operation; the functions are called by the executor.
class stream_events {
  public:
    stream_events() = default;
    stream_events(const stream_events&) = delete;
    stream_events& operator=(const stream_events&) = delete;

    /// With TLS, when the server has proved who it is. `errc::untrusted_server`, `auth_failed`
    /// or `bad_reply` (not TLS), here and in the following, is a refusal by one of both, which
    /// stays until its cause changes; any other error is a connection that is not there.
    virtual void on_connect(std::uint64_t connection, error_code ec) = 0;
    virtual void on_read(std::uint64_t connection, error_code ec, std::size_t bytes) = 0;
    /// With an error, at most so many bytes can have reached the server.
    virtual void on_write(std::uint64_t connection, error_code ec, std::size_t bytes) = 0;

  protected:
    ~stream_events() = default;
};

/// Options of a TCP socket; 0 leaves what the system does by default.
struct tcp_options {
    std::chrono::seconds keep_alive{0};        ///< idle time before a keep-alive probe
    std::chrono::milliseconds user_timeout{0}; ///< how long sent data may stay unacknowledged
};

class stream {
  public:
    using executor = boost::asio::any_io_executor;
    using listener = std::shared_ptr<stream_events>;

    /// @param tls for addresses that ask for it, else null
    stream(const executor& ex, redis::address where, std::unique_ptr<const tls_context> tls,
           tcp_options tcp = {});

    /// The number of the connection that is open or being made.
    [[nodiscard]] std::uint64_t connection() const noexcept { return connection_; }
    /// How far the connection has come: resolve, connect or tls.
    /// Any thread may ask.
    [[nodiscard]] colimit::phase reached() const noexcept { return reached_; }
    /// Why TLS failed, in the words of OpenSSL or of a server that does not speak TLS; else empty.
    [[nodiscard]] std::string_view tls_failure() const noexcept;
    [[nodiscard]] const redis::address& where() const noexcept { return where_; }

    /// Whether a TLS handshake has begun and the server has said nothing.
    [[nodiscard]] bool is_silent_in_tls() const noexcept;
    /// Makes a plain-text Redis server reply that takes the start of the TLS handshake for the
    /// beginning of a long line. A TLS server ends the connection.
    void provoke(const listener& to);

    /// Tries the addresses of the host one after the other, those that failed before last. Each
    /// has an equal share of the time that is left until `give_up`, when the caller closes.
    void connect(listener to, std::chrono::steady_clock::time_point give_up);
    /// The server at the current address does what it is asked: it is tried first next time.
    void keep_address() noexcept;
    /// It does not, or is silent: the others are tried first next time.
    void leave_address() noexcept;
    void read_some(listener to, std::span<char> into);
    void write(listener to, std::string_view bytes);
    /// How many operations of sockets have ended so far.
    [[nodiscard]] std::uint64_t completions() const noexcept { return completions_; }
    /// Whether the system has received bytes that no operation has taken yet.
    [[nodiscard]] bool has_unread() const noexcept;
    /// Closes; whatever is outstanding completes for a connection that is no more. The address of
    /// the host is still sought, for the next connection.
    void close() noexcept;
    /// Closes for good.
    void shut_down() noexcept;

  private:
    using tcp = boost::asio::ip::tcp;
    struct secure_part;

    void connect_tcp(const listener& to);
    void connect_unix(listener to);
    void resolve(const listener& to);
    void connect_to(std::vector<tcp::endpoint> found, const listener& to);
    void connect_next(const listener& to, error_code last);
    void try_next(const listener& to);
    void end_share_after_its_time(const listener& to);
    void on_tcp_connect(const listener& to, error_code ec);

    // With TLS (stream_tls.cpp)
    void begin_tls(const listener& to);
    void shake_hands(const listener& to);
    void receive_handshake(const listener& to);
    void read_tls(listener to, std::span<char> into);
    void receive_tls(listener to, std::span<char> into);
    void write_tls(const listener& to, std::string_view bytes);
    void send(const listener& to);
    void on_sent(const listener& to, secure_part& with, error_code ec, std::size_t bytes);
    void end_tls() noexcept;

    redis::address where_;
    std::unique_ptr<const tls_context> tls_;
    std::shared_ptr<secure_part> secure_; ///< of this connection, if it is by TLS
    tcp_options tcp_;
    std::optional<tcp::resolver> resolver_;
    std::weak_ptr<char> resolution_;       ///< under way, if it lives
    std::vector<tcp::endpoint> resolved_;  ///< what it said when no attempt was under way
    std::vector<tcp::endpoint> endpoints_; ///< of this attempt, in the order of trying
    std::size_t next_endpoint_ = 0;
    std::vector<tcp::endpoint> failed_; ///< since they worked last; the latest is the last one
    tcp::endpoint current_;             ///< that is tried or connected
    std::chrono::steady_clock::time_point give_up_;
    boost::asio::steady_timer share_;
    /// Until it is connected; then the socket is handed over.
    std::shared_ptr<tcp::socket> connecting_;
    boost::asio::generic::stream_protocol::socket socket_;
    std::uint64_t connection_ = 1;
    bool is_closed_ = true;
    std::atomic<colimit::phase> reached_{colimit::phase::connect};
    std::uint64_t completions_ = 0;
    detail::handler_memory read_memory_;
    detail::handler_memory write_memory_;
};

} // namespace colimit::redis

#endif
