// SPDX-License-Identifier: BSL-1.0
//
// One connection to one server, made again whenever it is lost: puts together the session, the
// breaker and the stream, each of which knows nothing of the others. One write loop, one read loop,
// one timer. It knows no policy and no call: what it sends comes from `requests`, which takes the
// replies, too.
//
//   flush -> requests.write -> stream.write
//   stream.read_some -> decoder -> session during the handshake, requests afterwards -> owner
//   timer: the next of a request's deadline, session.wake_at, a probe or PING that is due, and a
//          server that owes replies and is silent; before it acts, everything that has arrived is
//          read
//
// All functions are called with the lock held; those of the owner are, too.

#ifndef COLIMIT_REDIS_CONNECTION_CONNECTION_HPP
#define COLIMIT_REDIS_CONNECTION_CONNECTION_HPP

#include <async/alarm.hpp>
#include <async/handler_memory.hpp>
#include <base/thread_lock.hpp>
#include <colimit/diagnostics.hpp>
#include <colimit/error.hpp>
#include <redis/connection/arrival_check.hpp>
#include <redis/connection/breaker.hpp>
#include <redis/connection/connection_problems.hpp>
#include <redis/connection/liveness.hpp>
#include <redis/connection/read_buffer.hpp>
#include <redis/connection/requests.hpp>
#include <redis/connection/session.hpp>
#include <redis/connection/stream.hpp>
#include <redis/protocol/error_sink.hpp>
#include <redis/protocol/resp.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

namespace colimit::redis {

/// Who uses a connection.
class connection_owner {
  public:
    connection_owner() = default;
    connection_owner(const connection_owner&) = delete;
    connection_owner& operator=(const connection_owner&) = delete;

    /// Keeps the owner, and so the connection, alive while an operation is outstanding.
    [[nodiscard]] virtual std::shared_ptr<void> keep_alive() = 0;
    /// A handshake has succeeded. Requests are sent next.
    virtual void on_ready() = 0;
    /// A connection, or an attempt at one, is over; the requests know it already.
    virtual void on_lost(bool was_ready) = 0;
    /// A reply has found its callers, who are the first of those that have ended.
    virtual void on_answer() noexcept = 0;
    /// Calls may have ended, and their handlers may run. The owner calls `flush` and `wait`
    /// afterwards.
    virtual void on_ended() = 0;
    /// Calls have ended while something else was done: their handlers may not run now.
    virtual void on_expired() noexcept = 0;
    /// The connection is about to wait: its state may have changed.
    virtual void on_wait() noexcept = 0;
    /// When the owner wants `on_wait` to be called though nothing else happens.
    [[nodiscard]] virtual std::int64_t next_event() const noexcept = 0;

  protected:
    ~connection_owner() = default;
};

struct connection_settings {
    session_settings session;
    redis::breaker_settings breaker;
    address where;
    std::unique_ptr<const tls_context> tls; ///< for addresses that ask for it, else null
    tcp_options tcp;
    resp::decoder::long_bulks long_bulks = resp::decoder::long_bulks::malformed;
    std::int64_t timeout = 0; ///< microseconds within which a healthy server replies
    std::int64_t ping_timeout = 0;
    std::int64_t ping_interval = 0; ///< 0: never
};

class connection final : private stream_events {
  public:
    using executor = boost::asio::any_io_executor;

    /// @param own where the limiter's own work runs: never two functions at once
    /// @param calls outlives the connection, as `problems` does
    connection(const executor& own, detail::thread_lock& lock, connection_settings settings,
               requests& calls, error_sink& problems, connection_owner& owner);

    void open();
    /// Ends everything that keeps the context running.
    /// @param now false if other threads may use the socket: it is closed where it belongs
    void close(bool now) noexcept;

    /// Sends what may be sent now, or asks how a server is that is not used.
    void flush();
    /// Sets the timer for whatever is due next. To be called after anything has changed.
    void wait() noexcept;

    /// The time when the clock was read last, in microseconds.
    [[nodiscard]] std::int64_t now() const noexcept { return now_; }
    void read_clock() noexcept;

    /// Whether a call with this deadline has a chance; if not, `trouble` says why.
    [[nodiscard]] bool may_serve_by(std::int64_t deadline) const noexcept {
        return !breaker_.is_open() && session_.not_ready_before() < deadline;
    }
    [[nodiscard]] bool is_ready() const noexcept {
        return session_.state() == session_state::ready;
    }
    [[nodiscard]] bool is_refused() const noexcept { return session_.is_refused(); }
    [[nodiscard]] bool is_breaker_open() const noexcept { return breaker_.is_open(); }
    [[nodiscard]] errc trouble() const noexcept { return session_.trouble(); }
    [[nodiscard]] health_state state() const noexcept;
    /// The phase in which the connection is.
    [[nodiscard]] phase reached() const noexcept { return problems_.reached(); }
    /// Commands that the user may not run, though not all calls need them.
    [[nodiscard]] const std::string& denied_commands() const noexcept {
        return session_.denied_commands();
    }

    [[nodiscard]] std::uint64_t bytes_out() const noexcept { return bytes_out_; }
    [[nodiscard]] std::uint64_t bytes_in() const noexcept { return bytes_in_; }
    /// Connections that became ready.
    [[nodiscard]] std::uint64_t connections() const noexcept { return connections_; }
    [[nodiscard]] std::uint64_t breaker_openings() const noexcept { return breaker_.openings(); }
    [[nodiscard]] std::uint64_t script_loads() const noexcept { return session_.script_loads(); }
    /// Handshakes in which the server has loaded all scripts.
    [[nodiscard]] std::uint64_t scripts_loaded() const noexcept {
        return session_.scripts_loaded();
    }

  private:
    void on_connect(std::uint64_t connection, error_code ec) override;
    void on_read(std::uint64_t connection, error_code ec, std::size_t bytes) override;
    void on_write(std::uint64_t connection, error_code ec, std::size_t bytes) override;
    void on_time();
    void look_again();
    void look();
    void act_on_time();

    /// Does a step of a connection, which may throw. What it needs and cannot have, memory or a
    /// thread that resolves names, is missing as the connection is: it is given up, and tried again
    /// after a pause.
    template<class Step>
    void attempt(Step step) {
        try {
            step();
        } catch (const std::exception& why) {
            problems_.note_failed_step(why);
            lose(remedy::reconnect);
        }
    }

    void perform(action what);
    void send_handshake();
    void serve();
    void disconnect();
    void lose(remedy why, errc trouble = errc::unavailable);
    void lose(error_code why);
    void close_stream(bool now) noexcept;

    void start_write();
    void start_read();
    void read_replies();
    [[nodiscard]] bool read_reply(std::string_view bytes);
    void read_malformed_reply(std::string_view bytes);
    [[nodiscard]] remedy read_answer(std::string_view bytes);

    void probe();
    void ping();
    [[nodiscard]] remedy end_probe(std::string_view bytes);
    [[nodiscard]] remedy end_ping(std::string_view bytes);
    void provoke();

    [[nodiscard]] bool is_closed() const noexcept {
        return session_.state() == session_state::closed;
    }
    [[nodiscard]] bool is_current(std::uint64_t connection) const noexcept {
        return connection == stream_.connection();
    }
    [[nodiscard]] bool owes_reply() const noexcept;
    [[nodiscard]] bool is_idle() const noexcept;
    [[nodiscard]] bool is_server_late() const noexcept;
    [[nodiscard]] std::int64_t silence_ends() const noexcept;
    [[nodiscard]] std::int64_t probe_due() const noexcept;
    [[nodiscard]] std::int64_t ping_due() const noexcept;
    [[nodiscard]] std::int64_t provoke_at() const noexcept;
    [[nodiscard]] std::int64_t next_event() const noexcept;
    [[nodiscard]] stream::listener self();

    executor own_executor_;
    detail::thread_lock& lock_;
    requests& requests_;
    connection_owner& owner_;
    session session_;
    breaker breaker_;
    stream stream_;
    connection_problems problems_;
    std::int64_t timeout_;
    std::int64_t now_ = 0;

    std::string out_;             ///< being written
    std::uint64_t handed_ = 0;    ///< bytes given to the socket on this connection
    std::uint64_t confirmed_ = 0; ///< of these, surely sent
    bool is_writing_ = false;
    bool is_serving_ = false;     ///< the owner was told that the connection is ready
    bool owes_handshake_ = false; ///< as soon as nothing is being written

    resp::decoder decoder_;
    read_buffer in_;

    liveness liveness_;
    bool is_provoked_ = false; ///< on this connection
    detail::alarm alarm_;
    arrival_check arrivals_;
    detail::handler_memory look_memory_;

    std::uint64_t bytes_out_ = 0;
    std::uint64_t bytes_in_ = 0;
    std::uint64_t connections_ = 0;
};

} // namespace colimit::redis

#endif
