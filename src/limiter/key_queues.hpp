// SPDX-License-Identifier: BSL-1.0
//
// Calls of `wait` under rules from which nothing can be reserved: windows, logs, counters, distinct
// members; and of `acquire`. They wait in a queue per key and version of a policy in this process.
// The first call asks the store, as `allow` does; when it is denied, the queue sleeps until its
// `retry_after`, and it asks again.
//
// A denial is about the rules that made it. So when a policy changes while calls wait, those stay
// in their queue and ask under the rules with which they were made; calls under the new version
// have a queue of their own. The store decides both on one state, in the order in which they ask.
//
// After a grant as many calls ask together as its `remaining` covers, and those whose time has
// passed. After an error all of them ask, so that they do not wait for the same server one after
// another. A call that cannot be admitted in time is denied at once, with the decision of the call
// before it.
//
// A slot that is released is asked for in the same batch, so other processes never find it free.
// Therefore a process that has passed a slot on among its own calls for two seconds gives way: for
// so long that each other process that waits asks once, its calls do not ask. Those whose time ends
// meanwhile get the last denial of their queue. A queue without a denial lets them ask, and without
// calls it stays until then, as it has the denial for the next ones.

#pragma once

#include <async/deadline_timer.hpp>
#include <async/operation_list.hpp>
#include <colimit/detail/call_operation.hpp>
#include <hash/siphash.hpp>
#include <limiter/backend.hpp>
#include <limiter/held_slot.hpp>
#include <policy/policy_data.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

namespace colimit::detail {

class limiter_core;
struct key_queue;

using unlinks_itself = boost::intrusive::link_mode<boost::intrusive::auto_unlink>;
using order_hook = boost::intrusive::list_base_hook<unlinks_itself>;
using deadline_hook = boost::intrusive::set_base_hook<unlinks_itself>;

/// A call in its queue, with what it needs to ask again.
struct waiter final : acquisition, order_hook, deadline_hook {
    waiter(operation& of, const call& c);

    operation& op;
    std::string key;
    std::string member;
    policy_pointer policy;
    key_queue* queue = nullptr; ///< null: it is in no queue any more
    std::int64_t now;           ///< as in the request: a store may write its own time there
    std::int64_t began;         ///< its start, of the steady clock, as the next two are
    std::int64_t deadline;      ///< the latest time of its admission
    std::int64_t due = 0;       ///< when it was denied: the time to ask again
    bool is_asking = false;
    bool is_cancelled = false; ///< while its decision was on the way to `try_enqueue`
};

struct earlier_deadline {
    [[nodiscard]] bool operator()(const waiter& a, const waiter& b) const noexcept {
        return a.deadline < b.deadline;
    }
};

using queue_hook = boost::intrusive::set_base_hook<boost::intrusive::tag<struct queue_tag>>;
using wake_hook = boost::intrusive::set_base_hook<boost::intrusive::tag<struct wake_tag>>;

struct key_queue final : queue_hook, wake_hook {
    key_queue(const hash::digest& of, std::uint64_t under) : key(of), rules(under) {}

    hash::digest key;    ///< of key and the policy's name
    std::uint64_t rules; ///< fingerprint of the policy's version
    boost::intrusive::list<waiter, boost::intrusive::base_hook<order_hook>,
                           boost::intrusive::constant_time_size<false>>
        waiters;
    /// The same waiters: a grant must not look at each of them.
    boost::intrusive::multiset<waiter, boost::intrusive::compare<earlier_deadline>,
                               boost::intrusive::base_hook<deadline_hook>,
                               boost::intrusive::constant_time_size<false>>
        by_deadline;
    std::size_t asking = 0; ///< calls of this round without a decision
    std::int64_t wakes_at = 0;
    std::int64_t remaining = 0;     ///< after the last grant of this round
    bool has_failed = false;        ///< a call of this round
    bool slot_was_released = false; ///< while calls asked: they may be too early
    decision denial;                ///< the last one

    [[nodiscard]] bool sleeps() const noexcept { return wake_hook::is_linked(); }
};

/// Since when a process passes the slots of a key on among its own calls.
struct slot_turn {
    std::int64_t since;
    std::int64_t released_at;   ///< the last slot
    std::int64_t gives_way = 0; ///< until then
};

class key_queues {
  public:
    explicit key_queues(limiter_core& core);
    key_queues(const key_queues&) = delete;
    key_queues& operator=(const key_queues&) = delete;
    ~key_queues();

    /// Adds a call, whose attachment is its waiter. It asks now if it is the first one.
    [[nodiscard]] stage_result join(operation& op);
    /// Lets a call that was decided wait again, and returns true, if it can still be granted in
    /// time; otherwise takes it out of its queue.
    [[nodiscard]] bool try_enqueue(operation& op);
    /// Takes out a cancelled call that does not ask; one whose decision is on the way leaves in
    /// `try_enqueue`. Returns whether it is to be completed now.
    [[nodiscard]] bool cancel(operation& op) noexcept;
    /// Called when a slot was released: lets the first call of each queue of the key ask now, or as
    /// soon as those that ask are decided, as the slot is free for all versions of a policy. Of the
    /// queues that sleep, the one whose first call has waited for longest asks before the others,
    /// so none has all slots.
    /// @param since when the turn began in which the slot was acquired
    void wake_queues(const hash::digest& key, std::int64_t since) noexcept;
    /// Called when a slot was granted. Returns when the turn began to which it belongs: now,
    /// unless it was passed on.
    /// @param free_slots if there are any, no process needs to give way
    [[nodiscard]] std::int64_t turn_of(const hash::digest& key, std::int64_t free_slots) noexcept;
    /// Takes out all calls that do not ask.
    [[nodiscard]] operation_list take_all() noexcept;

    [[nodiscard]] static waiter& waiter_of(const operation& op) noexcept {
        return static_cast<waiter&>(*op.attached);
    }

  private:
    struct by_key {
        [[nodiscard]] bool operator()(const key_queue& a, const key_queue& b) const noexcept {
            return std::tie(a.key.low, a.key.high, a.rules) <
                   std::tie(b.key.low, b.key.high, b.rules);
        }
    };
    struct by_digest {
        [[nodiscard]] bool operator()(const hash::digest& a, const hash::digest& b) const noexcept {
            return std::tie(a.low, a.high) < std::tie(b.low, b.high);
        }
    };
    struct by_time {
        [[nodiscard]] bool operator()(const key_queue& a, const key_queue& b) const noexcept {
            return a.wakes_at < b.wakes_at;
        }
    };

    [[nodiscard]] key_queue& queue_of(const waiter& w);
    void remove(waiter& w) noexcept;
    void close_if_empty(key_queue& queue) noexcept;
    void next_round(key_queue& queue) noexcept;
    void ask(waiter& w) noexcept;
    void sleep(key_queue& queue, std::int64_t until) noexcept;
    void interrupt(key_queue& queue) noexcept;
    void end_turn(const hash::digest& key, std::int64_t since) noexcept;
    void deny_expired(key_queue& queue, std::int64_t due, const waiter* denied) noexcept;
    void deny(waiter& w, std::int64_t due) noexcept;
    void wake();

    limiter_core& core_;
    deadline_timer timer_;
    boost::intrusive::set<key_queue, boost::intrusive::compare<by_key>,
                          boost::intrusive::base_hook<queue_hook>>
        queues_;
    boost::intrusive::multiset<key_queue, boost::intrusive::compare<by_time>,
                               boost::intrusive::base_hook<wake_hook>>
        sleeping_;
    std::map<hash::digest, slot_turn, by_digest> turns_; ///< of slots released recently
    std::size_t turns_to_sweep_ = 64;                    ///< at this size
};

} // namespace colimit::detail
