// SPDX-License-Identifier: BSL-1.0
//
// A rule as the arithmetic reads it: whole numbers, reduced and checked once. The files in kinds/
// make them from what people state.

#ifndef COLIMIT_CORE_COMPILED_RULE_HPP
#define COLIMIT_CORE_COMPILED_RULE_HPP

#include <colimit/rule.hpp>

#include <cstdint>

namespace colimit::core {

/// In rule_kind.hpp, which knows the kinds; a kind does not know its number.
enum class kind : std::uint8_t;

/// The start of a key that has no state: nothing is owed, and nothing is kept of that.
inline constexpr std::int64_t starts_full = -1;

/// Debt of a bucket saturates there at the latest.
inline constexpr std::int64_t most_ticks = std::int64_t{1} << 52;
/// Where the count comes back at once, `num` is the period above this mark: so a state tells which
/// steps, or which windows, its time belongs to. No continuous bucket has as many ticks per token.
inline constexpr std::int64_t steps_mark = most_ticks;

/// A rule. Debt of a bucket is counted in ticks: a token weighs `num` of them, and `den` are repaid
/// per unit of time, so num/den is the time of one token, reduced. Where the count comes back at
/// once, and in windows, a token is one tick.
struct compiled_rule {
    std::int64_t capacity;   ///< tokens
    std::int64_t num = 1;    ///< ticks per token, or steps_mark + period
    std::int64_t den = 1;    ///< ticks repaid per unit
    std::int64_t unit = 1;   ///< 1, 1'000 or 1'000'000 microseconds
    std::int64_t full = 0;   ///< capacity * num: the debt at which nothing is left
    std::int64_t most = 0;   ///< where `charge` stops adding debt
    std::int64_t period = 0; ///< units; not of continuous buckets; of calendars the longest
    std::int64_t count = 0;  ///< tokens that come back at once; not of logs
    std::int64_t offset = 0; ///< of a calendar: microseconds ahead of UTC
    std::int64_t initial = starts_full; ///< ticks that a new key owes
    std::int64_t marked = 1;            ///< the capacity that the rule's own states have
    std::uint32_t tag = 0;              ///< finds the rule's state, by its family and name
    core::kind kind{};
    calendar_unit calendar = calendar_unit::day;
    bool shadow = false;
    bool counts_denied = false;

    friend bool operator==(const compiled_rule&, const compiled_rule&) = default;
};

} // namespace colimit::core

#endif
