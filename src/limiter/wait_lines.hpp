// SPDX-License-Identifier: BSL-1.0
//
// Calls of `wait` under rules from which nothing can be reserved: windows, logs, counters, distinct
// members; and of `acquire`. They stand in a line per key and version of a policy in this process.
// The first call asks the store, as `allow` does; when it is denied, the line sleeps until its
// `retry_after`, and it asks again.
//
// A denial is about the rules that made it. So when a policy changes while calls wait, those stay
// in their line and ask under the rules with which they were made; calls under the new version have
// a line of their own. The store decides both on one state, in the order in which they ask.
//
// After a grant as many calls ask together as its `remaining` covers, and those whose time has
// passed. After an error all of them ask, so that they do not wait for the same server one after
// another. A call that cannot be admitted in time is denied at once, with the decision of the call
// before it.
//
// A place that is given back is asked for in the same batch, so other processes never find it free.
// Therefore a process that has passed a place on among its own calls for two seconds gives way: for
// so long that each other process that waits looks once, its calls do not ask. Those whose time
// ends meanwhile get the last denial of their line. A line without a denial lets them ask, and
// without calls it stays until then, as it has the denial for the next ones.

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
struct waiting_line;

using unlinks_itself = boost::intrusive::link_mode<boost::intrusive::auto_unlink>;
using order_hook = boost::intrusive::list_base_hook<unlinks_itself>;
using latest_hook = boost::intrusive::set_base_hook<unlinks_itself>;

/// The place of a call in its line, with what the call needs to ask again.
struct line_place final : acquisition, order_hook, latest_hook {
    line_place(operation& of, const call& c);

    operation& op;
    std::string key;
    std::string member;
    policy_pointer policy;
    waiting_line* line = nullptr; ///< null: it is in no line any more
    std::int64_t now;             ///< as in the request: a store may write its own time there
    std::int64_t began;           ///< its start, of the steady clock, as the next two are
    std::int64_t latest;          ///< the latest time of its admission
    std::int64_t due = 0;         ///< when it was denied: the time to ask again
    bool is_asking = false;
    bool is_cancelled = false; ///< while its decision was on the way to `keeps`
};

struct by_latest {
    [[nodiscard]] bool operator()(const line_place& a, const line_place& b) const noexcept {
        return a.latest < b.latest;
    }
};

using line_hook = boost::intrusive::set_base_hook<boost::intrusive::tag<struct line_tag>>;
using wake_hook = boost::intrusive::set_base_hook<boost::intrusive::tag<struct wake_tag>>;

struct waiting_line final : line_hook, wake_hook {
    waiting_line(const hash::digest& of, std::uint64_t under) : key(of), rules(under) {}

    hash::digest key;    ///< of key and the policy's name
    std::uint64_t rules; ///< fingerprint of the policy's version
    boost::intrusive::list<line_place, boost::intrusive::base_hook<order_hook>,
                           boost::intrusive::constant_time_size<false>>
        places;
    /// The same places: a grant must not look at each call that waits.
    boost::intrusive::multiset<line_place, boost::intrusive::compare<by_latest>,
                               boost::intrusive::base_hook<latest_hook>,
                               boost::intrusive::constant_time_size<false>>
        in_order_of_latest;
    std::size_t asking = 0; ///< calls of this round without a decision
    std::int64_t wakes_at = 0;
    std::int64_t remaining = 0; ///< after the last grant of this round
    bool has_failed = false;    ///< a call of this round
    bool has_news = false;      ///< a place was given back while calls asked: they may be too early
    decision denial;            ///< the last one

    [[nodiscard]] bool sleeps() const noexcept { return wake_hook::is_linked(); }
};

/// Since when a process passes the places of a key on among its own calls.
struct place_turn {
    std::int64_t since;
    std::int64_t released_at;   ///< the last place
    std::int64_t gives_way = 0; ///< until then
};

class wait_lines {
  public:
    explicit wait_lines(limiter_core& core);
    wait_lines(const wait_lines&) = delete;
    wait_lines& operator=(const wait_lines&) = delete;
    ~wait_lines();

    /// Adds a call, whose attachment is its place. It asks now if it is the first one.
    [[nodiscard]] stage_result join(operation& op);
    /// Lets a call that was decided wait again, and returns true, if it can still be granted in
    /// time; otherwise takes it out of its line.
    [[nodiscard]] bool try_enqueue(operation& op);
    /// Takes out a cancelled call that does not ask; one whose decision is on the way leaves in
    /// `try_enqueue`. Returns whether it is to be completed now.
    [[nodiscard]] bool cancel(operation& op) noexcept;
    /// Lets the first call of each line of a key ask now, or as soon as those that ask are decided:
    /// what was given back is there for all versions of a policy. Of the lines that sleep, the one
    /// whose first call has waited for longest asks before the others, so none has all places.
    /// @param since when the turn began in which the place was acquired
    void wake_line(const hash::digest& key, std::int64_t since) noexcept;
    /// Called when a place was granted. Returns when the turn began to which it belongs: now,
    /// unless it was passed on.
    /// @param free_places if there are any, no process needs to give way
    [[nodiscard]] std::int64_t turn_of(const hash::digest& key, std::int64_t free_places) noexcept;
    /// Takes out all calls that do not ask.
    [[nodiscard]] operation_list take_all() noexcept;

    [[nodiscard]] static line_place& place_of(const operation& op) noexcept {
        return static_cast<line_place&>(*op.attached);
    }

  private:
    struct by_key {
        [[nodiscard]] bool operator()(const waiting_line& a, const waiting_line& b) const noexcept {
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
        [[nodiscard]] bool operator()(const waiting_line& a, const waiting_line& b) const noexcept {
            return a.wakes_at < b.wakes_at;
        }
    };

    [[nodiscard]] waiting_line& line_of(const line_place& place);
    void leave(line_place& place) noexcept;
    void close_if_empty(waiting_line& line) noexcept;
    void next_round(waiting_line& line) noexcept;
    void ask(line_place& place) noexcept;
    void sleep(waiting_line& line, std::int64_t until) noexcept;
    void interrupt(waiting_line& line) noexcept;
    void end_turn(const hash::digest& key, std::int64_t since) noexcept;
    void deny_late(waiting_line& line, std::int64_t due, const line_place* denied) noexcept;
    void deny(line_place& place, std::int64_t due) noexcept;
    void wake();

    limiter_core& core_;
    deadline_timer timer_;
    boost::intrusive::set<waiting_line, boost::intrusive::compare<by_key>,
                          boost::intrusive::base_hook<line_hook>>
        lines_;
    boost::intrusive::multiset<waiting_line, boost::intrusive::compare<by_time>,
                               boost::intrusive::base_hook<wake_hook>>
        sleeping_;
    std::map<hash::digest, place_turn, by_digest> turns_; ///< of places given back recently
    std::size_t turns_to_sweep_ = 64;                     ///< at this size
};

} // namespace colimit::detail
