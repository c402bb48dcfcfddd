// SPDX-License-Identifier: BSL-1.0
//
// Denials that are still valid, so that a flood of denied calls costs the server nothing: the
// store's decisions, and when each expires. If a set of the table is full, a new denial replaces
// the one that expires first.
//
// A denial expires at the earliest time at which its request may have been sent, plus its
// retry_after less a thousandth: so it is never valid for longer than the store's own denial,
// however long the reply travelled and whichever of the two clocks is faster. It also expires when
// that request is `max_age` old, because other processes may have changed the key since. Its times
// are reduced by the time since the reply came: so a caller that waits for `retry_after` does not
// retry too early.
//
// The latest reply about a key decides. One connection replies in the order in which the server ran
// the calls, and `note` is called in that order: a denial under the same rules replaces the entry,
// and any other reply removes it, whichever verb was called, including `allow_all` and `peek`. Only
// if one batch had several costs for a key, at one instant and without a grant, the denial of the
// smallest cost stays.
//
// A verb that may return quota also removes the denial when it starts, and `changes_` counts that,
// so that a denial which is in flight then is not cached. The same happens when a call that may
// have been made ends without a reply (cancelled, too late, connection lost): when that call
// changed the key is not known.

#pragma once

#include <base/set_table.hpp>
#include <colimit/detail/operation.hpp>
#include <colimit/limits.hpp>
#include <hash/siphash.hpp>
#include <policy/policy_data.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace colimit::detail {

class deny_cache {
  public:
    using clock = std::int64_t (*)() noexcept;

    /// @param capacity denials, at least 1. Memory is allocated with the first of them.
    /// @param max_age of a denial, in microseconds
    /// @param now the clock of `operation::sent_at`, in microseconds
    deny_cache(std::size_t capacity, std::int64_t max_age, clock now);

    /// Called before a call: returns true if the cache decides it, in `op.result`. Removes entries
    /// that the call invalidates.
    [[nodiscard]] bool try_decide(operation& op, const policy_data& p) noexcept;

    /// Called before a check of `allow_all`, which always goes to the store: removes a denial under
    /// other rules.
    [[nodiscard]] deny_cache_note begin_check(const hash::digest& key, const policy_data& p,
                                              const check_options& options) noexcept;

    /// Called when a call has ended, with a reply or with an error.
    /// @param replied_at when it ended
    void note(const operation& op, std::int64_t replied_at) noexcept;

    /// Like `note`, for a check of `op`, which is an `allow_all`.
    /// @param begun from `begin_check`
    void note_check(const operation& op, const check_item& c, const hash::digest& key,
                    const deny_cache_note& begun, std::int64_t replied_at) noexcept;

    /// Returns the number of denials in the table, including expired ones.
    [[nodiscard]] std::size_t size() const noexcept { return table_.size(); }

  private:
    struct rule_part {
        std::int64_t balance;
        std::int64_t retry_after;
        std::int64_t reset_after;
    };
    struct denial {
        std::uint64_t digest;
        std::uint64_t rules;
        std::int64_t at_least; ///< was denied; larger costs are, too
        std::int64_t ends;
        std::int64_t replied_at;
        std::int64_t server_time;
        std::int64_t limit;
        std::int64_t remaining;
        std::int64_t retry_after;
        std::int64_t reset_after;
        denial_reason reason;
        std::uint8_t limiting_rule;
        std::array<rule_part, limits::max_rules_per_policy> parts;
    };
    /// The end of a call about a key.
    struct reply_event {
        const hash::digest& key;
        const deny_cache_note& begun;
        bool may_change;  ///< the call may change the key, if it ended with an error
        bool may_replace; ///< as a denial, it may replace the entry
        bool may_be_kept; ///< as a denial, it may become a new entry
        std::int64_t at_least;
        std::int64_t sent_at;
        std::int64_t replied_at;
        error_code ec;
        const decision& result;
    };

    [[nodiscard]] denial* find(const hash::digest& key) noexcept {
        return table_.find(key.low, key.high);
    }
    [[nodiscard]] std::uint32_t& changes_of(const hash::digest& key) noexcept {
        return changes_[static_cast<std::size_t>(key.low >> 54U)];
    }
    void on_reply(const reply_event& e) noexcept;
    [[nodiscard]] bool is_denial(const reply_event& e) noexcept;
    [[nodiscard]] static bool is_same_instant(const denial& d, const reply_event& e) noexcept;
    [[nodiscard]] std::int64_t end_of(const reply_event& e) const noexcept;
    void insert(const reply_event& e);

    clock now_;
    std::int64_t max_age_;
    set_table<denial> table_;
    /// Per group of keys, the number of starts of verbs other than `allow` and `peek`, plus the
    /// number of calls that may have changed a key and ended with an error.
    std::array<std::uint32_t, 1024> changes_{};
};

} // namespace colimit::detail
