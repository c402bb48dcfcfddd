// SPDX-License-Identifier: BSL-1.0
//
// The body of a limiter. A call goes through the same stages, whatever its store is:
//
//     start     arguments -> deny cache -> backend
//     its end   deny cache -> failure mode -> wait queue -> counters -> handler
//
// Completions: finished calls go into one list, and one posted function runs all their handlers. So
// a handler never runs within its own initiating function, and a thousand completions cost one
// post.
//
// Threads: with `thread_safe`, what is called from outside and what the executor calls locks; what
// is named `_locked`, and all functions of the backend, are called with the lock held. Handlers are
// not: they run in short lists, several at once. Sockets and timers live on a strand.

#ifndef COLIMIT_LIMITER_LIMITER_CORE_HPP
#define COLIMIT_LIMITER_LIMITER_CORE_HPP

#include <async/call_pool.hpp>
#include <async/handler_memory.hpp>
#include <async/operation_list.hpp>
#include <colimit/config.hpp>
#include <colimit/detail/call_operation.hpp>
#include <colimit/diagnostics.hpp>
#include <colimit/error.hpp>
#include <colimit/statistics.hpp>
#include <limiter/backend.hpp>
#include <limiter/call_counter.hpp>
#include <limiter/deny_cache.hpp>
#include <limiter/fallback.hpp>
#include <limiter/wait_stage.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace colimit::detail {

class limiter_core : public std::enable_shared_from_this<limiter_core> {
  public:
    /// @param has_server there are failure modes, and there may be a deny cache
    limiter_core(asio::any_io_executor executor, const config& settings, bool has_server);
    limiter_core(const limiter_core&) = delete;
    limiter_core& operator=(const limiter_core&) = delete;
    ~limiter_core();

    /// Before anything else, when it is owned by a shared_ptr.
    void open(std::unique_ptr<backend> store);
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

    [[nodiscard]] colimit::statistics statistics() const;
    [[nodiscard]] std::optional<problem> last_error() const;
    [[nodiscard]] colimit::health health();

    [[nodiscard]] const asio::any_io_executor& executor() const noexcept { return executor_; }
    [[nodiscard]] const std::shared_ptr<call_pool>& calls() const noexcept { return calls_; }
    [[nodiscard]] node_pool& pool() noexcept { return calls_->memory; }
    [[nodiscard]] thread_lock& lock() const noexcept { return lock_; }

    // For the backend and the stages, with the lock held.

    /// Where the limiter's own work runs: never two functions at once.
    [[nodiscard]] const asio::any_io_executor& own_executor() const noexcept {
        return own_executor_;
    }
    [[nodiscard]] bool is_closed() const noexcept { return is_closed_; }
    /// The context goes away: nothing can be posted any more.
    [[nodiscard]] bool is_abandoned() const noexcept { return is_abandoned_; }
    /// Records the state as it is now, if it has changed.
    void track_state() noexcept;

    void complete(operation& op, error_code ec) noexcept {
        op.ec = ec;
        complete(op);
    }
    void complete(operation& op) noexcept;
    void complete_all(operation_list& list) noexcept;
    /// Tells the deny cache of calls that the backend has ended, in the order of their replies. It
    /// completes or runs them afterwards.
    void note_ended(const operation_list& list) noexcept;
    /// Runs the handlers of completed calls, from within a function that the executor runs. They
    /// may start calls, close the limiter or destroy it: the caller keeps the core alive.
    void run(operation_list list);

    /// Releases a place that a wait has reserved.
    void release(const reservation& place, std::int64_t cost, std::int64_t end) noexcept {
        const std::lock_guard guard{lock_};
        waits_.release(place, cost, end);
    }
    void release_in_fallback(const reservation& place, std::int64_t cost,
                             std::int64_t end) noexcept {
        fallback_->unreserve(place, cost, end);
    }

  private:
    class registration;

    void close_locked() noexcept;
    void start_one(operation& op, const call& c);
    void start_each(operation& op, const call& c);
    void start_all(operation& op, const call& c);
    [[nodiscard]] bool is_over(operation& op);
    void apply_failure_mode(operation& op) noexcept;
    [[nodiscard]] operation_list take_completed();
    void schedule() noexcept;
    void drop_completed() noexcept;

    asio::any_io_executor executor_;
    asio::any_io_executor own_executor_;
    std::shared_ptr<call_pool> calls_;
    thread_lock& lock_;

    std::optional<deny_cache> denials_;
    std::optional<fallback> fallback_;
    wait_stage waits_;
    call_counter counter_;
    std::unique_ptr<backend> backend_;

    operation_list completed_;
    handler_memory completed_memory_;
    bool is_scheduled_ = false;
    bool is_closed_ = false;
    bool is_abandoned_ = false;
    health_state state_ = health_state::connecting;
    std::chrono::system_clock::time_point state_since_;
    std::unique_ptr<registration> registration_;
};

} // namespace colimit::detail

#endif
