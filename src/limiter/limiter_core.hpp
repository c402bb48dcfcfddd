// SPDX-License-Identifier: BSL-1.0
//
// The implementation of a limiter. A call goes through the same stages, whatever its store is:
//
//     begin     arguments -> leases -> deny cache -> backend
//     its end   note_ended: deny cache, leases
//               finish: leases -> failure mode -> wait stage -> counters; then the handler
//
// A stage says whether it has kept a call, which it completes later, or the call has ended. Notes
// are taken in the order of replies, with all that a reply has ended and before any of its
// handlers; `finish` is called just before each handler, as its failure mode reads a clock and it
// may begin to wait.
//
// Completions: finished calls go into one list, and one posted function runs all their handlers. So
// no handler runs within its own initiating function, and a thousand completions cost one post.
//
// Threads: with `thread_safe`, functions that are called from outside or by the executor lock;
// functions named `_locked`, and all functions of the backend, are called with the lock held.
// Handlers run without it, in short lists, several at a time. Sockets and timers live on a strand.

#pragma once

#include <async/call_pool.hpp>
#include <async/handler_memory.hpp>
#include <async/operation_list.hpp>
#include <async/thread_check.hpp>
#include <colimit/config.hpp>
#include <colimit/detail/call_operation.hpp>
#include <colimit/diagnostics.hpp>
#include <colimit/error.hpp>
#include <colimit/statistics.hpp>
#include <limiter/backend.hpp>
#include <limiter/call_counter.hpp>
#include <limiter/call_observer.hpp>
#include <limiter/deny_cache.hpp>
#include <limiter/fallback.hpp>
#include <limiter/filter_watch.hpp>
#include <limiter/lease_table.hpp>
#include <limiter/slot_keeper.hpp>
#include <limiter/wait_stage.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace colimit::detail {

class core_service;

class limiter_core : public std::enable_shared_from_this<limiter_core> {
  public:
    /// @param has_server there are failure modes, and there may be a deny cache
    limiter_core(asio::any_io_executor executor, const config& settings, bool has_server);
    limiter_core(const limiter_core&) = delete;
    limiter_core& operator=(const limiter_core&) = delete;
    ~limiter_core();

    /// Called before any other function, once a shared_ptr owns the core.
    void open(std::unique_ptr<backend> store);
    /// Ends every call with `errc::closed`. A second call does nothing.
    void close() noexcept;
    /// Called when the context is being destroyed: destroys every call without calling its handler.
    void abandon() noexcept;

    /// Takes the operation; it is finished later.
    void start_locked(operation& op, const call& c) noexcept;
    void cancel_locked(operation& op, asio::cancellation_type type) noexcept;
    /// Returns whether a call that was started may have had an effect. The types of cancellation
    /// that promise none do nothing then.
    [[nodiscard]] bool may_have_effect_locked(const operation& op) const noexcept;

    [[nodiscard]] colimit::statistics statistics() const;
    [[nodiscard]] std::vector<colimit::policy_statistics> policy_statistics() const;
    [[nodiscard]] std::optional<problem> last_error() const;
    [[nodiscard]] colimit::health health();

    [[nodiscard]] const asio::any_io_executor& executor() const noexcept { return executor_; }
    [[nodiscard]] const std::shared_ptr<call_pool>& calls() const noexcept { return calls_; }
    [[nodiscard]] node_pool& pool() noexcept { return calls_->memory; }
    [[nodiscard]] thread_lock& lock() const noexcept { return lock_; }

    // For the backend and the stages, with the lock held.

    /// Returns the executor of the limiter's own work, which never runs two functions at once.
    [[nodiscard]] const asio::any_io_executor& own_executor() const noexcept {
        return own_executor_;
    }
    [[nodiscard]] bool is_closed() const noexcept { return is_closed_; }
    /// Returns whether the context is being destroyed, so that nothing can be posted any more.
    [[nodiscard]] bool is_abandoned() const noexcept { return is_abandoned_; }
    /// Records the current state, if it has changed.
    void track_state() noexcept;

    void complete(operation& op, error_code ec) noexcept {
        op.ec = ec;
        complete(op);
    }
    void complete(operation& op) noexcept;
    void complete_all(operation_list& list) noexcept;
    /// Passes calls that the backend has ended to the deny cache and the leases, in the order of
    /// their replies.
    /// The backend completes or runs them afterwards.
    /// @param now when they ended, by the clock of `operation::deadline`
    void note_ended(operation_list& list, std::int64_t now) noexcept;
    /// Runs the handlers of completed calls, from within a function that the executor runs. They
    /// may start calls, close the limiter or destroy it: the caller keeps the core alive.
    void run(operation_list list);

    /// Lets a lease, the deny cache or the backend decide a call on one key, which is valid.
    [[nodiscard]] stage_result ask(operation& op, std::string_view key,
                                   const policy_pointer& policy);
    /// Releases a reservation of a wait.
    void release(const reservation& entry, std::int64_t cost, const decision& reserved) noexcept {
        const std::lock_guard guard{lock_};
        waits_.release(entry, cost, reserved);
    }
    [[nodiscard]] slot_keeper& slots() noexcept { return slots_; }
    /// Returns the queues of calls that ask again.
    [[nodiscard]] key_queues& queues() noexcept { return waits_.queues(); }
    /// Returns whether other processes may have the same state.
    [[nodiscard]] bool has_server() const noexcept { return fallback_.has_value(); }
    /// Reports the state of a filter that was inspected.
    void note_filter(const policy_data& filter, const filter_status& status) noexcept {
        filters_.note(filter, status);
    }
    void release_in_fallback(const reservation& entry, std::int64_t cost,
                             const decision& reserved) noexcept {
        fallback_->unreserve(entry, cost, reserved);
    }

  private:
    friend void detail::start(operation& op, const call& c) noexcept;

    void close_locked() noexcept;
    [[nodiscard]] stage_result begin(operation& op, const call& c);
    [[nodiscard]] stage_result begin_one(operation& op, const call& c,
                                         const policy_pointer& policy);
    [[nodiscard]] stage_result begin_all(operation& op, const call& c);
    [[nodiscard]] stage_result try_decide_locally(operation& op, const policy_pointer& policy);
    [[nodiscard]] stage_result finish(operation& op);
    void end_observed(operation& op, std::int64_t now) noexcept;
    void finish_observed(operation& op);
    [[nodiscard]] operation_list take_completed();
    void schedule() noexcept;
    void drop_completed() noexcept;

    asio::any_io_executor executor_;
    asio::any_io_executor own_executor_;
    std::shared_ptr<call_pool> calls_;
    thread_lock& lock_;
    thread_check thread_check_;

    std::function<time_point()> clock_;
    std::optional<deny_cache> denials_;
    std::optional<lease_table> leases_;
    std::optional<fallback> fallback_;
    wait_stage waits_;
    slot_keeper slots_;
    filter_watch filters_;
    call_counter counter_;
    std::unique_ptr<call_observer> observer_; ///< null if nothing asks for it
    std::unique_ptr<backend> backend_;

    operation_list completed_;
    handler_memory completed_memory_;
    bool is_scheduled_ = false;
    bool is_closed_ = false;
    bool is_abandoned_ = false;
    health_state state_ = health_state::connecting;
    std::chrono::system_clock::time_point state_since_;
    core_service* service_ = nullptr; ///< null before `open` and after `abandon`
};

} // namespace colimit::detail
