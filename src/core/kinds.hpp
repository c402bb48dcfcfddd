// SPDX-License-Identifier: BSL-1.0
//
// One question for all kinds of rules: each function asks the kind that the rule is.

#ifndef COLIMIT_CORE_KINDS_HPP
#define COLIMIT_CORE_KINDS_HPP

#include <colimit/decision.hpp>
#include <core/continuous.hpp>
#include <core/counter.hpp>
#include <core/hold.hpp>
#include <core/state.hpp>
#include <core/stepped.hpp>
#include <core/window.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace colimit::core {

/// Nothing fits, not even a cost of 0.
inline constexpr std::int64_t nothing_fits = -1;

namespace kinds {

using std::chrono::microseconds;

/// From now to a time that a store says. A server may say what cannot be: what has passed is now.
[[nodiscard]] inline microseconds until(std::int64_t at, std::int64_t now) noexcept {
    return microseconds{std::max<std::int64_t>(at - now, 0)};
}

[[nodiscard]] inline bool bring_to_now(const limit& l, rule_state& s, std::int64_t now) noexcept {
    switch (l.kind) {
    case kind::bucket:
        return continuous::bring_to_now(l, s, now);
    case kind::stepwise:
    case kind::aligned:
        return stepped::bring_to_now(l, s, now);
    case kind::window:
    case kind::from_first:
    case kind::calendar:
        return window::bring_to_now(l, s, now);
    case kind::counter:
        return counter::bring_to_now(l, s, now);
    case kind::hold:
        return hold::bring_to_now(l.period, s, now);
    case kind::log:
    case kind::distinct: // the store has done it
        return false;
    }
    return false;
}

/// The largest amount up to `amount` that the rule has room for.
[[nodiscard]] inline std::int64_t fitting(const limit& l, const rule_state& s, std::int64_t amount,
                                          std::int64_t now) noexcept {
    auto room = std::int64_t{0};
    switch (l.kind) {
    case kind::bucket:
        if (continuous::fits(l, s, amount)) // without a division
            return amount;
        room = continuous::room(l, s);
        break;
    case kind::stepwise:
    case kind::aligned:
        room = stepped::room(l, s);
        break;
    case kind::window:
    case kind::from_first:
    case kind::calendar:
    case kind::log:
        room = window::room(l, s);
        break;
    case kind::counter:
        room = counter::room(l, s, now);
        break;
    case kind::distinct:
        // A member is counted once, whatever it costs.
        room = amount > 0 && s.num <= l.full ? amount : s.debt <= l.full ? 0 : nothing_fits;
        break;
    case kind::hold:
        return s.debt > 0 ? nothing_fits : amount;
    }
    return std::max(std::min(amount, room), nothing_fits);
}

/// When this rule alone would grant `amount`, in microseconds from now.
[[nodiscard]] inline microseconds wait_for(const limit& l, const rule_state& s, std::int64_t amount,
                                           std::int64_t now) noexcept {
    if (amount > l.capacity)
        return never_again;
    switch (l.kind) {
    case kind::bucket:
        return microseconds{continuous::wait_for(l, s, amount, now)};
    case kind::stepwise:
    case kind::aligned:
        return microseconds{stepped::wait_for(l, s, amount, now)};
    case kind::window:
    case kind::from_first:
    case kind::calendar:
        return microseconds{window::wait_for(l, s, amount, now)};
    case kind::counter:
        return microseconds{counter::wait_for(l, s, amount, now)};
    case kind::log:
        return until(s.capacity, now);
    case kind::distinct:
        return fitting(l, s, amount, now) >= amount ? microseconds{0} : until(s.t, now);
    case kind::hold:
        return microseconds{s.debt};
    }
    return {};
}

inline void add(const limit& l, rule_state& s, std::int64_t cost, std::int64_t now) noexcept {
    switch (l.kind) {
    case kind::bucket:
        return continuous::add(l, s, cost);
    case kind::stepwise:
    case kind::aligned:
    case kind::window:
    case kind::from_first:
    case kind::calendar:
        return stepped::add(l, s, cost);
    case kind::counter:
        return counter::add(l, s, cost);
    case kind::log:
        window::add(l, s, cost);
        s.t = now;
        return;
    case kind::distinct:
        s.debt = s.num;
        return;
    case kind::hold:
        return;
    }
}

inline void take(const limit& l, rule_state& s, std::int64_t cost) noexcept {
    switch (l.kind) {
    case kind::bucket:
        return continuous::take(l, s, cost);
    case kind::stepwise:
    case kind::aligned:
    case kind::window:
    case kind::from_first:
    case kind::calendar:
        return stepped::take(l, s, cost);
    case kind::counter:
        return counter::take(l, s, cost);
    case kind::log:
    case kind::distinct:
    case kind::hold:
        return;
    }
}

/// The state as it is stored, of one that a call has worked on.
inline void fold(const limit& l, rule_state& s) noexcept {
    switch (l.kind) {
    case kind::bucket:
    case kind::stepwise:
    case kind::aligned:
    case kind::window:
    case kind::from_first:
    case kind::calendar:
    case kind::counter:
        return versions::fold(l, s);
    case kind::hold:
        return hold::fold(s);
    default:
        return;
    }
}

/// What is left, rounded down; negative after `charge` took more than there was.
[[nodiscard]] inline std::int64_t balance(const limit& l, const rule_state& s,
                                          std::int64_t now) noexcept {
    switch (l.kind) {
    case kind::bucket:
        return continuous::room(l, s);
    case kind::counter:
        return counter::room(l, s, now);
    default:
        return l.full - s.debt;
    }
}

[[nodiscard]] inline microseconds reset_after(const limit& l, const rule_state& s,
                                              std::int64_t now) noexcept {
    switch (l.kind) {
    case kind::bucket:
        return microseconds{continuous::reset_after(l, s, now)};
    case kind::stepwise:
    case kind::aligned:
        return microseconds{stepped::reset_after(l, s, now)};
    case kind::window:
    case kind::from_first:
    case kind::calendar:
        return microseconds{window::reset_after(l, s, now)};
    case kind::counter:
        return microseconds{counter::reset_after(l, s, now)};
    case kind::distinct:
        return s.debt == 0 ? microseconds{0} : until(s.t, now);
    case kind::log:
        return s.debt == 0 ? microseconds{0} : until(s.t + l.period, now);
    case kind::hold:
        return microseconds{s.debt};
    }
    return {};
}

[[nodiscard]] inline bool is_blank(const limit& l, const rule_state& s) noexcept {
    switch (l.kind) {
    case kind::bucket:
    case kind::stepwise:
    case kind::aligned:
        return continuous::is_blank(l, s);
    case kind::counter:
        return counter::is_blank(l, s);
    case kind::log: // nothing of it is stored here
        return true;
    default:
        return s.debt == 0;
    }
}

/// For how long the state is to be kept.
[[nodiscard]] inline std::int64_t matters_for(const limit& l, const rule_state& s,
                                              std::int64_t now) noexcept {
    switch (l.kind) {
    case kind::bucket:
        return continuous::matters_for(l, s, now);
    case kind::stepwise:
    case kind::aligned:
        return stepped::matters_for(l, s, now);
    case kind::window:
    case kind::from_first:
    case kind::calendar:
        return window::matters_for(l, s, now);
    case kind::counter:
        return counter::matters_for(l, s, now);
    case kind::log:
        return 0;
    default:
        return reset_after(l, s, now).count();
    }
}

} // namespace kinds
} // namespace colimit::core

#endif
