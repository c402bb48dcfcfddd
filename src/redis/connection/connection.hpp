// SPDX-License-Identifier: BSL-1.0
//
// One connection to one server, replaced whenever it is lost: combines the session, the breaker and
// the stream, which are independent of each other. One write loop, one read loop, one timer. It
// knows no policies and no calls: `requests` provides the bytes to send and takes the replies.
//
//   flush -> requests.write -> stream.write
//   stream.read_some -> decoder -> session during the handshake, requests afterwards
//   timer: the next of a request's deadline, session.wake_at, a probe or PING that is due, and a
//          server that owes replies and is silent; before it acts, everything that has arrived is
//          read
//
// What happens is kept until the user takes it: the executor calls `on_events`, with which each
// completion ends, and the user calls `take_events`, `flush` and `wait`. It does the same after
// functions that may lose a connection. So no function of the user runs within another one.
//
// All functions are called with the lock held, including the user's.

#pragma once

#include <async/deadline_timer.hpp>
#include <async/handler_memory.hpp>
#include <base/clocks.hpp>
#include <base/logger.hpp>
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
#include <boost/core/noncopyable.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::redis {

/// The user of a connection.
class connection_user : boost::noncopyable {
  public:
    /// Called by the executor when something may have happened, or it is time for what `wait` was
    /// told. Handlers of calls may run.
    virtual void on_events() = 0;

  protected:
    ~connection_user() = default;
};

/// What has happened on a connection, in this order.
struct connection_events {
    bool ready = false;     ///< a handshake has succeeded
    bool answered = false;  ///< calls have ended whose callers were still waiting for their replies
    bool lost = false;      ///< a connection was lost or not made; the requests know it
    bool was_ready = false; ///< the one that was lost
};

struct connection_settings {
    session_settings session;
    redis::breaker_settings breaker;
    address where;
    std::shared_ptr<const tls_context> tls; ///< for addresses with TLS, else null
    naming names = naming::failures;
    bool may_move = false; ///< `move_to` is called, also when the server has become read-only
    tcp_options tcp;
    resp::decoder::long_bulks long_bulks = resp::decoder::long_bulks::malformed;
    resp::reply_bounds reply_bounds{};
    std::int64_t timeout = 0; ///< microseconds within which a healthy server replies
    std::int64_t ping_timeout = 0;
    std::int64_t ping_interval = 0; ///< 0: never
    detail::logger log = {};
};

class connection final : private stream_events {
  public:
    using executor = boost::asio::any_io_executor;

    static constexpr auto never = liveness::never;

    /// @param own the executor of the limiter's own work, which never runs two functions at once
    /// @param calls outlives the connection, as `problems`, `user` and `life` do
    /// @param life is locked for each operation: what it refers to owns the connection
    connection(const executor& own, detail::thread_lock& lock, connection_settings settings,
               requests& calls, error_sink& problems, connection_user& user,
               const std::weak_ptr<void>& life);

    /// Lets the executor connect, at once.
    void open();
    /// Opens the connection, or replaces it by one to this address.
    void move_to(address where);
    /// Closes the connection, until `move_to` is called. No call is lost if no reply is expected.
    /// There are events afterwards, as perhaps after the functions before and after this one.
    void suspend();
    /// Ends calls that wait for an address with this error, or lets them wait again if it is
    /// `errc::unavailable`. There is no connection yet.
    void await_address(errc why);
    /// Called when an attempt to find an address has failed: a miss of the breaker.
    void count_miss() {
        read_clock();
        breaker_.on_failure(now_);
    }
    /// Lets calls wait here for other reasons from now on: the breaker stays closed.
    void stop_counting();
    /// Ends everything that keeps the context running.
    /// @param now false if other threads may use the socket: then its executor closes it
    void close(bool now) noexcept;

    /// Sends the requests that may be sent now, or probes a server while the breaker is open.
    void flush();
    /// Called before `close`: sends the requests that may be sent now, as far as the socket takes
    /// them at once.
    /// @param now as for `close`
    void flush_last(bool now) noexcept;
    /// Sets the timer for the next event. Must be called after each change.
    /// @param also_at when the user has something to do, even if nothing happens
    void wait(std::int64_t also_at = never) noexcept;
    /// Returns what has happened since the last call.
    [[nodiscard]] connection_events take_events() noexcept { return std::exchange(events_, {}); }

    /// Returns the latest reading of the clock, in microseconds.
    [[nodiscard]] std::int64_t now() const noexcept { return now_; }
    void read_clock() noexcept { now_ = detail::steady_now(); }

    /// Returns whether a call with this deadline may be served; if not, `error` says why.
    [[nodiscard]] bool may_serve_by(std::int64_t deadline) const noexcept {
        return !breaker_.is_open() && session_.earliest_ready_at() < deadline;
    }
    [[nodiscard]] bool is_ready() const noexcept {
        return session_.state() == session_state::ready;
    }
    /// Returns whether `flush` sends requests, or probes the server.
    [[nodiscard]] bool may_write() const noexcept {
        return !is_writing_ && is_ready() && !is_draining_;
    }
    [[nodiscard]] bool is_refused() const noexcept { return session_.is_refused(); }
    [[nodiscard]] bool is_breaker_open() const noexcept { return breaker_.is_open(); }
    [[nodiscard]] errc error() const noexcept { return session_.error(); }
    [[nodiscard]] health_state state() const noexcept;
    [[nodiscard]] phase reached() const noexcept { return problems_.reached(); }
    /// Returns the receiver of problems of the server.
    [[nodiscard]] error_sink& problems() noexcept { return problems_; }
    [[nodiscard]] const std::string& denied_commands() const noexcept {
        return session_.denied_commands();
    }

    [[nodiscard]] std::uint64_t bytes_out() const noexcept { return bytes_out_; }
    [[nodiscard]] std::uint64_t bytes_in() const noexcept { return bytes_in_; }
    [[nodiscard]] std::uint64_t connections() const noexcept { return connections_; }
    [[nodiscard]] std::uint64_t breaker_openings() const noexcept { return breaker_.open_count(); }
    [[nodiscard]] std::uint64_t script_loads() const noexcept { return session_.script_loads(); }
    [[nodiscard]] std::uint64_t scripts_loaded() const noexcept {
        return session_.scripts_loaded();
    }

  private:
    void on_connect(std::uint64_t connection, error_code ec) override;
    void on_read(std::uint64_t connection, error_code ec, std::size_t bytes) override;
    void on_write(std::uint64_t connection, error_code ec, std::size_t bytes) override;
    void on_time();
    void check_arrivals_later();
    void check_arrivals();
    void act_on_time();

    /// Runs a step of a connection, which may throw. If memory, or a thread that resolves names,
    /// cannot be obtained, the connection is treated as lost, and is made again after a pause.
    template<class Step>
    void attempt(Step step) {
        try {
            step();
        } catch (const std::exception& why) {
            problems_.report_failed_step(why);
            lose(recovery::reconnect);
        }
    }

    void perform(action what);
    void send_handshake();
    void serve();
    void disconnect();
    void start_draining(recovery why);
    void finish_draining();
    void lose(recovery why, errc error = errc::unavailable);
    void lose(error_code why);
    /// Returns whether the connection ends for another address: its end says nothing about that.
    [[nodiscard]] bool is_moving() const noexcept { return is_draining_ && next_address_; }

    void start_write();
    void start_read() { stream_.read_some(self(), in_.prepare()); }
    void read_replies();
    [[nodiscard]] bool read_reply(std::string_view bytes);
    [[nodiscard]] recovery read_answer(std::string_view bytes);

    void probe();
    void send_ping();
    [[nodiscard]] recovery read_pong(std::string_view bytes);

    /// Writes a line that begins with the server.
    template<class... Parts>
    void log(log_level l, const Parts&... parts) const noexcept {
        log_.write(l, [this] { return server_name(stream_); }, parts...);
    }
    void log_disconnected() const noexcept;
    void log_breaker() noexcept;

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
    [[nodiscard]] std::int64_t plaintext_probe_due() const noexcept;
    [[nodiscard]] std::int64_t next_event() const noexcept;
    [[nodiscard]] stream::listener self() {
        return {life_.lock(), static_cast<stream_events*>(this)};
    }
    void set_timer() noexcept;

    executor own_executor_;
    detail::thread_lock& lock_;
    detail::logger log_;
    bool is_breaker_logged_ = false; ///< as open
    requests& requests_;
    connection_user& user_;
    const std::weak_ptr<void>& life_;
    session session_;
    breaker breaker_;
    stream stream_;
    connection_problems problems_;
    bool may_move_;
    bool counts_misses_ = true;
    std::int64_t timeout_;
    std::int64_t now_ = 0;
    connection_events events_;
    std::int64_t user_event_ = never;

    std::optional<address> next_address_; ///< to which the next attempt connects
    bool is_draining_ = false;            ///< the connection ends when no reply is outstanding
    std::int64_t drain_until_ = 0;        ///< or at this time
    recovery drain_reason_ = recovery::reconnect; ///< why, if there is no next address

    std::string out_;             ///< being written
    std::uint64_t handed_ = 0;    ///< bytes passed to the socket on this connection
    std::uint64_t confirmed_ = 0; ///< of these, surely sent
    bool is_writing_ = false;
    bool is_serving_ = false;     ///< there was an event that the connection is ready
    bool owes_handshake_ = false; ///< it is sent as soon as nothing is being written

    resp::decoder decoder_;
    read_buffer in_;

    liveness liveness_;
    bool is_plaintext_probed_ = false; ///< on this connection
    detail::deadline_timer timer_;
    arrival_check arrivals_;
    detail::handler_memory check_memory_;

    std::uint64_t bytes_out_ = 0;
    std::uint64_t bytes_in_ = 0;
    std::uint64_t connections_ = 0;
};

} // namespace colimit::redis
