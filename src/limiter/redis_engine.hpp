// SPDX-License-Identifier: BSL-1.0
//
// A limiter over one Redis or Valkey server: puts together the session, the queue of calls and the
// stream, each of which knows nothing of the others. One write loop, one read loop, one timer.
//
//   begin  -> calls.submit -> (one turn of the loop) -> pump -> stream.write
//   stream.read_some -> decoder -> session while greeting, the queue afterwards -> handlers
//   timer: the next of deadline, session.wake_at, and a server that owes replies and is silent;
//          before it acts, everything that has arrived is read

#ifndef COLIMIT_LIMITER_REDIS_ENGINE_HPP
#define COLIMIT_LIMITER_REDIS_ENGINE_HPP

#include <async/alarm.hpp>
#include <async/handler_memory.hpp>
#include <async/tick_watch.hpp>
#include <colimit/config.hpp>
#include <limiter/deny_cache.hpp>
#include <limiter/engine.hpp>
#include <limiter/event_sender.hpp>
#include <limiter/fallback.hpp>
#include <limiter/fallback_period.hpp>
#include <limiter/problem_log.hpp>
#include <redis/connection/breaker.hpp>
#include <redis/connection/session.hpp>
#include <redis/connection/stream.hpp>
#include <redis/protocol/resp.hpp>
#include <redis/queue/call_queue.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::detail {

class redis_engine final : public engine, private redis::stream_events {
  public:
    redis_engine(const asio::any_io_executor& executor, const config& settings,
                 const redis::address& where);

    void open() override;

  private:
    void begin(operation& op, const call& c) override;
    void begin_together(operation& op) override;
    void begin_ready(operation& op) override;
    [[nodiscard]] bool is_sent(const operation& op) const noexcept override {
        return op.place != &ready_waiters_ && calls_->is_sent(op);
    }
    void withdraw(operation& op, error_code why) override;
    void answer_instead(operation& op) noexcept override;
    void give_back_instead(const reservation& place, std::int64_t cost,
                           std::int64_t end) noexcept override {
        fallback_.unreserve(place, cost, end);
    }
    void shut(error_code why) override;
    void report(colimit::statistics& into) const override;
    [[nodiscard]] std::optional<problem> find_problem() const override { return problems_.last(); }
    [[nodiscard]] health_state find_state() const noexcept override;

    void on_connect(std::uint64_t connection, error_code ec) override;
    void on_read(std::uint64_t connection, error_code ec, std::size_t bytes) override;
    void on_write(std::uint64_t connection, error_code ec, std::size_t bytes) override;
    void on_time();
    void look_again();
    void look();
    void act_on_time();
    [[nodiscard]] std::int64_t next_event() const noexcept;
    [[nodiscard]] bool is_server_late() const noexcept;

    /// Does a step of a connection, which may throw. What it needs and cannot have, memory or a
    /// thread that resolves names, is missing as the connection is: it is given up, and tried again
    /// after a pause.
    template<class Step>
    void attempt(Step step) {
        try {
            step();
        } catch (const std::exception& why) {
            note_failed_step(why);
            lose_connection(redis::remedy::reconnect);
        }
    }

    void begin_checks(operation& op) noexcept;
    void note_done() noexcept;
    [[nodiscard]] operation_list& noted();
    [[nodiscard]] bool begin_turn(operation& op);
    [[nodiscard]] bool leave_place_behind(operation& op) noexcept;
    void schedule_turn() noexcept;
    void end_turn();
    void run_within_turn(operation_list& row);
    void pump();
    void start_write();
    void start_read();
    void read_replies();
    [[nodiscard]] bool drop_surplus() noexcept;
    [[nodiscard]] bool read_reply(std::string_view bytes);
    void obey(redis::action what);
    void greet();
    void serve();
    void disconnect();
    void close_stream() noexcept;
    void lose_connection(redis::remedy why, errc trouble = errc::unavailable);
    void lose_connection(error_code why);
    void note_connect_failure(error_code why) noexcept;
    void note_lost_connection(error_code why) noexcept;
    void lose_to_malformed_reply(std::string_view bytes);
    void note_late_connection() noexcept;
    void note_failed_step(const std::exception& why) noexcept;
    [[nodiscard]] phase reached() const noexcept;
    [[nodiscard]] problem cause_of(const operation& op, error_code why) const;
    [[nodiscard]] std::int64_t provoke_at() const noexcept;
    void check_silence();
    void send_event(event_kind kind) const noexcept;
    template<class FindCause>
    void send_event(event_kind kind, FindCause find_cause) const noexcept {
        if (!is_closed()) // then its context may be going away, and nothing is posted
            events_.send(kind, find_cause);
    }
    void send_events() noexcept;
    [[nodiscard]] std::int64_t event_due() const noexcept;
    void note_timeout(std::string_view text) noexcept;
    void set_alarm() noexcept;
    [[nodiscard]] std::int64_t silence_ends() const noexcept;
    [[nodiscard]] redis::remedy read_answer(std::string_view bytes);
    void probe();
    [[nodiscard]] redis::remedy end_probe(std::string_view bytes);
    [[nodiscard]] std::int64_t probe_due() const noexcept;
    void await_reply() noexcept;
    [[nodiscard]] bool owes_reply() const noexcept;
    void ping();
    [[nodiscard]] redis::remedy end_ping(std::string_view bytes);
    [[nodiscard]] std::int64_t ping_due() const noexcept;
    void end_ready_waiters(error_code ec);
    [[nodiscard]] redis::stream::listener self();

    static constexpr auto no_time = std::numeric_limits<std::int64_t>::max();

    problem_log problems_;
    event_sender events_;
    bool is_serving_ = false;      ///< what the last event said of the connection,
    bool is_breaker_open_ = false; ///< of the breaker,
    fallback_period falling_back_; ///< and of the failure modes
    std::uint64_t loads_reported_ = 0;
    std::int64_t decided_at_ = 0; ///< when the server last decided a call
    std::int64_t silence_limit_;
    std::int64_t doubt_limit_;   ///< the same for a connection that was idle before
    std::int64_t ping_interval_; ///< 0: never
    fallback fallback_;
    redis::session session_;
    redis::breaker breaker_;
    std::unique_ptr<redis::call_queue> calls_;
    std::optional<deny_cache> denials_;
    redis::stream stream_;
    redis::resp::decoder decoder_;

    std::string out_;             ///< being written
    std::uint64_t handed_ = 0;    ///< bytes given to the socket on this connection
    std::uint64_t confirmed_ = 0; ///< of these, surely sent
    bool writing_ = false;
    bool silence_checked_ = false;
    bool greeting_due_ = false; ///< as soon as nothing is being written

    std::vector<char> in_;
    std::size_t begin_ = 0;     ///< of the reply that is being read
    std::size_t end_ = 0;       ///< of what was received
    std::int64_t heard_ = 0;    ///< when bytes came, or the server began to owe a reply
    bool is_doubted_ = false;   ///< the connection was idle when the server began to owe a reply
    bool ping_is_owed_ = false; ///< the next reply is that to a PING of an idle connection
    bool may_ping_ = true;      ///< the server has not denied it on this connection

    alarm alarm_;
    handler_memory turn_memory_;
    bool turn_scheduled_ = false;
    bool clock_is_read_ = false; ///< in this turn
    tick_watch ticks_;

    handler_memory look_memory_;
    bool is_looking_ = false;            ///< for what has arrived, before something is due
    int looks_ = 0;                      ///< so far
    int quiet_looks_ = 0;                ///< of these, the last ones that found nothing
    std::uint64_t seen_completions_ = 0; ///< of the stream, at the last look

    std::uint64_t bytes_out_ = 0;
    std::uint64_t bytes_in_ = 0;
    std::uint64_t served_ = 0; ///< connections

    operation_list ready_waiters_;
};

} // namespace colimit::detail

#endif
