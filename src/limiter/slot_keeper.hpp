// SPDX-License-Identifier: BSL-1.0
//
// The slots that a limiter holds: renews their leases, gives them back, and finds out that one is
// lost. All of this is by one timer, in the order in which slots are due:
//
//     held        renewed at a third of its lease, and after an error again and again; lost when
//                 the lease ends, or when the store denies the renewal
//     lost        its signal is emitted
//     releasing   released again after an error, until the lease ends that was asked for last
//
// A lease is counted from when its request was sent, which may be long after the call was made, and
// is a thousandth shorter than in the store: so it ends here first, whichever of the two clocks is
// faster.
//
// Renewals of one moment are together in a batch. Those that are due soon are made with those that
// are due now, so many slots do not wake the process one by one. Very many take several
// event-loop iterations, between which other handlers run.

#pragma once

#include <async/deadline_timer.hpp>
#include <colimit/detail/call_operation.hpp>
#include <colimit/statistics.hpp>
#include <hash/siphash.hpp>
#include <limiter/held_slot.hpp>

#include <boost/intrusive/set.hpp>

#include <cstdint>
#include <memory>

namespace colimit::detail {

class limiter_core;

class slot_keeper {
  public:
    explicit slot_keeper(limiter_core& core);
    slot_keeper(const slot_keeper&) = delete;
    slot_keeper& operator=(const slot_keeper&) = delete;
    ~slot_keeper() { close(); }

    // The following are called with the core's lock held.

    /// Gives a call of `acquire` the slot that it asks for, and its id as the member.
    void begin(operation& op, const call& c);
    /// Called each time the call asks the store.
    static void note_asked(const operation& op) noexcept;
    /// Called when the store has decided such a question, or it has ended with an error.
    static void note_answer(const operation& op) noexcept;
    /// Called when a call that asks is cancelled.
    static void note_cancelled(const operation& op) noexcept;
    /// Called when the call of `acquire` is over.
    void end(const operation& op) noexcept;
    void release(held_slot& of) noexcept;
    /// Emits the signal of a slot when it is lost.
    void watch(held_slot& of, asio::cancellation_signal& signal,
               asio::cancellation_type type) noexcept;
    /// Ends all slots: from now on they are not renewed, and not released.
    void close() noexcept;
    void add_statistics(colimit::statistics& to) const noexcept;

  private:
    struct by_time {
        [[nodiscard]] bool operator()(const held_slot& a, const held_slot& b) const noexcept {
            return a.due < b.due;
        }
    };

    static void finish(operation* base, bool invoke);

    void keep(held_slot& of, slot_state as) noexcept;
    void schedule(held_slot& of, std::int64_t due) noexcept;
    void drop(held_slot& of) noexcept;
    void lose(held_slot& of) noexcept;
    void send(held_slot& of, std::optional<slot_call>& by, verb v) noexcept;
    void end_renewal(held_slot& of, error_code why, bool is_granted) noexcept;
    void end_release(held_slot& of, error_code why) noexcept;
    void serve(held_slot& of, std::int64_t now) noexcept;
    void wake();
    void set_timer() noexcept;

    limiter_core& core_;
    const hash::digest secret_; ///< so that no two limiters make the same ids of holders
    std::uint64_t asked_ = 0;   ///< calls of `acquire`
    deadline_timer timer_;
    boost::intrusive::multiset<held_slot, boost::intrusive::compare<by_time>> slots_;
    std::uint64_t held_ = 0;
    std::uint64_t acquired_ = 0;
    std::uint64_t renewed_ = 0;
    std::uint64_t released_ = 0;
    std::uint64_t lost_ = 0;
};

} // namespace colimit::detail
