// SPDX-License-Identifier: BSL-1.0
//
// A compiled rule: the form of a rule that the arithmetic reads, in whole numbers, reduced and
// checked once. The files in kinds/ compile the rules of users.

#pragma once

#include <colimit/rule.hpp>

#include <cstdint>

namespace colimit::core {

/// Defined in rule_kind.hpp, which knows the kinds; a kind does not know its number.
enum class kind : std::uint8_t;

/// The initial debt of rules that start full: a key without debt needs no state.
inline constexpr std::int64_t starts_full = -1;

/// The largest debt that is derived from a duration, in ticks.
inline constexpr std::int64_t max_ticks = std::int64_t{1} << 52;
/// `num` of stepped buckets and windows is the period plus this number, so a state shows which
/// boundaries its time belongs to. No continuous bucket has as many ticks per token.
inline constexpr std::int64_t steps_mark = max_ticks;

/// Debt is counted in ticks. In a continuous bucket a token has `num` ticks, and `den` are repaid
/// per unit of time: num/den, reduced, is the time per token. In all other kinds a token is a tick.
struct compiled_rule {
    std::int64_t capacity;       ///< tokens
    std::int64_t num = 1;        ///< ticks per token, or steps_mark + period
    std::int64_t den = 1;        ///< ticks repaid per unit
    std::int64_t unit = 1;       ///< 1, 1'000 or 1'000'000 microseconds
    std::int64_t debt_limit = 0; ///< capacity * num: the debt at which no token is left
    std::int64_t debt_max = 0;   ///< the debt at which `charge` saturates
    std::int64_t period = 0;     ///< units; of calendars the longest; unused by continuous buckets
    std::int64_t count = 0;      ///< tokens that return at a boundary; unused by logs
    std::int64_t offset = 0;     ///< of a calendar: microseconds ahead of UTC
    std::int64_t initial = starts_full; ///< the debt of a new key, in ticks
    std::int64_t stored_capacity = 1;   ///< the capacity in states that the rule stores
    std::uint32_t tag = 0;              ///< identifies the rule's state, by family and name
    core::kind kind{};
    calendar_unit calendar = calendar_unit::day;
    bool shadow = false;
    bool counts_denied = false;
    bool takes_one = false; ///< a call takes one slot, whatever its cost

    /// Returns whether the amount is above the limit, so that it is never allowed.
    [[nodiscard]] constexpr bool never_allows(std::int64_t amount) const noexcept {
        return amount > capacity && !takes_one;
    }

    friend bool operator==(const compiled_rule&, const compiled_rule&) = default;
};

} // namespace colimit::core
