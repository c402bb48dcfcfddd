// SPDX-License-Identifier: BSL-1.0
//
// Compiles rules, and functions with which the kinds do so. Every product and sum of the arithmetic
// stays below 2^53, or the rule is refused with the reason.

#pragma once

#include <colimit/limits.hpp>
#include <core/compiled_policy.hpp>
#include <core/compiled_rule.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::core {

/// Returns whether a * b is at most `most`; for b >= 1.
[[nodiscard]] constexpr bool product_fits(std::int64_t a, std::int64_t b,
                                          std::int64_t most) noexcept {
    BOOST_ASSERT(b >= 1);
    return a <= most / b;
}

/// Throws errc::invalid_policy.
/// @param where names the rule: `policy 'login', rule 2 'minute'`
[[noreturn]] void refuse(const std::string& where, const std::string& reason);

/// Throws unless the rule recovers from its limit, in so many steps, within 100 years.
void check_recovery(const std::string& where, std::int64_t steps, std::int64_t us_per_step);

/// Returns the period in microseconds. Throws unless it is 1 us to 100 years.
[[nodiscard]] std::int64_t period_of(const std::string& where, const rule& r);

/// Returns the finest unit in which the numbers of a rule stay exact: a microsecond, millisecond or
/// second. Throws if none does.
/// @param amount the name in messages of the amount that is multiplied by the period
/// @param remedy the name of the number that a user could reduce
/// @param stays_exact a predicate for a period in units
[[nodiscard]] std::int64_t exact_unit(const std::string& where, std::int64_t period,
                                      std::string_view amount, std::string_view remedy,
                                      auto stays_exact) {
    for (const auto unit : {1, 1'000, 1'000'000})
        if (period % unit == 0 && stays_exact(period / unit))
            return unit;
    refuse(where, std::string{amount} +
                      " times period is too large to be counted exactly: choose a smaller " +
                      std::string{remedy} + ", or a period of whole milliseconds or seconds");
}

/// Compiles a rule of this kind, except for its tag and whether it is a shadow rule. Its
/// refinements must be those of the kind.
/// @throws colimit::error errc::invalid_policy
[[nodiscard]] compiled_rule compile_rule(const std::string& where, kind k, const rule& r);

/// Returns whether no rule of a user can have the tag: 0, that of a key's block and that of the
/// lockout of a policy.
[[nodiscard]] bool is_reserved_tag(std::uint32_t tag) noexcept;

/// Appends a rule to a policy, and updates the properties of all its rules.
void append_rule(compiled_policy& to, const compiled_rule& l) noexcept;

/// Appends the lockout of a policy that prevents duplicates, which is a rule without a name, as a
/// user's rule cannot be. Its rules are complete, and `shadow` is set.
/// @throws colimit::error errc::invalid_policy
void append_lockout(compiled_policy& to, const std::string& where, std::int64_t period);

/// Makes a policy packed, whose states are all numbers. A packed state is dropped when it would
/// have recovered from its limit, so debt stops at the limit.
void pack(compiled_policy& made) noexcept;

/// Compiles a rule that counts in windows of `period` microseconds.
[[nodiscard]] inline compiled_rule make_window(const rule& r, std::int64_t period) noexcept {
    return {.capacity = r.count(),
            .num = steps_mark + period,
            .debt_limit = r.count(),
            .debt_max = std::max(r.count(), max_ticks),
            .period = period,
            .count = r.count()};
}

} // namespace colimit::core
