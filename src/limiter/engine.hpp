// SPDX-License-Identifier: BSL-1.0
//
// The body of a limiter: takes calls, checks their arguments, hands them to a store and runs their
// handlers when they are done. One engine for each store derives from it.
//
// Completions: finished calls go into one row, and one posted function runs all their handlers. So
// a handler never runs within its own initiating function, and a thousand completions cost one
// post.
//
// Threads: with `thread_safe`, what is called from outside and what the executor calls locks; what
// is named `_locked`, and all virtual functions, are called with the lock held. Handlers are not:
// they run in short rows, several at once. Sockets and timers live on a strand.

#ifndef COLIMIT_LIMITER_ENGINE_HPP
#define COLIMIT_LIMITER_ENGINE_HPP

#include <async/call_pool.hpp>
#include <async/handler_memory.hpp>
#include <async/operation_list.hpp>
#include <colimit/config.hpp>
#include <colimit/detail/call_operation.hpp>
#include <colimit/diagnostics.hpp>
#include <colimit/error.hpp>
#include <colimit/statistics.hpp>
#include <hash/siphash.hpp>
#include <limiter/waiting_line.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace colimit::detail {

class engine : public std::enable_shared_from_this<engine> {
  public:
    engine(asio::any_io_executor executor, const config& settings);
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;
    virtual ~engine();

    /// After construction, when it is owned by a shared_ptr.
    virtual void open();
    /// Ends every call with `errc::closed`. Twice does nothing.
    void close() noexcept;
    /// The context goes away: every call is dropped without its handler being called.
    void abandon() noexcept;

    /// Takes the operation; it is finished later.
    void start(operation& op, const call& c) noexcept;
    void start_locked(operation& op, const call& c) noexcept;
    void cancel_locked(operation& op, asio::cancellation_type type) noexcept;
    /// Returns whether a call that was started may have had an effect. The types of cancellation
    /// that promise none do nothing then.
    [[nodiscard]] bool may_have_effect_locked(const operation& op) const noexcept;

    /// For an operation that stands for others, when these are done.
    void complete_from_children_locked(operation& op, error_code ec) noexcept { complete(op, ec); }
    /// Asks the store that gave it to take a place back; nobody waits for the answer.
    void give_back(const reservation& place, std::int64_t cost, std::int64_t end) noexcept;
    void give_back_locked(const reservation& place, std::int64_t cost, std::int64_t end) noexcept;

    [[nodiscard]] colimit::statistics statistics() const;
    [[nodiscard]] std::optional<problem> last_error() const;
    [[nodiscard]] colimit::health health();

    [[nodiscard]] const asio::any_io_executor& executor() const noexcept { return executor_; }
    [[nodiscard]] const std::shared_ptr<call_pool>& calls() const noexcept { return calls_; }
    [[nodiscard]] node_pool& pool() noexcept { return calls_->memory; }
    [[nodiscard]] thread_lock& lock() const noexcept { return lock_; }

  protected:
    /// Where the limiter's own work runs: never two functions at once.
    [[nodiscard]] const asio::any_io_executor& own_executor() const noexcept {
        return own_executor_;
    }

    /// Takes a checked call; it comes back through `complete`.
    virtual void begin(operation& op, const call& c) = 0;
    /// Takes `op.checks`, which are valid: all or nothing.
    virtual void begin_together(operation& op) = 0;
    /// Completes with void(error_code) when the store answers.
    virtual void begin_ready(operation& op) = 0;
    /// Returns whether the request of a call that the store holds may have been sent.
    [[nodiscard]] virtual bool is_sent(const operation& /*op*/) const noexcept { return true; }
    /// Gives up a call that the store holds: it comes back through `complete`.
    virtual void withdraw(operation& op, error_code why) = 0;
    /// Adds what the store has counted itself.
    virtual void report(colimit::statistics& /*into*/) const {}
    /// The last problem with the store.
    [[nodiscard]] virtual std::optional<problem> find_problem() const { return std::nullopt; }
    /// The state of an engine that is not closed. A store in this process is always ready.
    [[nodiscard]] virtual health_state find_state() const noexcept { return health_state::ready; }
    /// Records the state as it is now, if it has changed.
    void track_state() noexcept;
    /// Decides a call that ended with an error, if somebody else is to.
    virtual void answer_instead(operation& /*op*/) noexcept {}
    /// As `give_back`, for a place that `answer_instead` gave.
    virtual void give_back_instead(const reservation& /*place*/, std::int64_t /*cost*/,
                                   std::int64_t /*end*/) noexcept {}
    /// Gives up all calls that the store holds, and everything else that keeps the context running.
    virtual void shut(error_code why) = 0;

    void complete(operation& op, error_code ec) noexcept {
        op.ec = ec;
        complete(op);
    }
    void complete(operation& op) noexcept;
    /// Completes a whole row.
    void complete_all(operation_list& row) noexcept;
    /// Runs the handlers of completed calls, from within a function that the executor runs. They
    /// may start calls, close the limiter or destroy it: the caller keeps the engine alive.
    void run(operation_list row);

    [[nodiscard]] bool is_closed() const noexcept { return closed_; }
    /// The context goes away: nothing can be posted any more.
    [[nodiscard]] bool is_abandoned() const noexcept { return abandoned_; }

    /// How long a call that has a deadline may take, and the clock of deadlines as it was read
    /// last: what the histogram of latencies is made from.
    std::int64_t timeout_ = 0;
    std::int64_t now_ = 0;

  private:
    class registration;

    void close_locked() noexcept;
    void start_one(operation& op, const call& c);
    void start_checks(operation& op, const call& c);
    [[nodiscard]] waiting_line& line_of(const operation& op) noexcept;
    [[nodiscard]] bool keeps_waiting(operation& op);
    [[nodiscard]] bool is_over(operation& op);
    [[nodiscard]] operation_list take_row();
    void serve_line();
    void count_end(operation& op) noexcept;
    void schedule() noexcept;
    void drop_completed() noexcept;

    asio::any_io_executor executor_;
    asio::any_io_executor own_executor_;
    std::shared_ptr<call_pool> calls_;
    thread_lock& lock_;
    operation_list completed_;
    handler_memory row_memory_;
    bool scheduled_ = false;
    bool closed_ = false;
    bool abandoned_ = false;
    std::size_t waits_ = 0; ///< calls of `wait` that are not complete
    std::size_t max_waits_;
    waiting_line line_;
    colimit::statistics counted_;
    health_state state_ = health_state::connecting;
    std::chrono::system_clock::time_point state_since_;
    /// By another clock: places that `answer_instead` gave.
    waiting_line line_instead_;
    std::unique_ptr<registration> registration_;
};

} // namespace colimit::detail

#endif
