// SPDX-License-Identifier: BSL-1.0
//
// What the kinds of rules have in common when limits are made of rules: every product and sum of
// the arithmetic stays below 2^53, or the rule is refused with the reason.

#ifndef COLIMIT_CORE_RULE_COMPILER_HPP
#define COLIMIT_CORE_RULE_COMPILER_HPP

#include <colimit/limits.hpp>
#include <core/compiled_rule.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::core {

/// Microseconds, milliseconds, seconds: the finest in which a rule's numbers stay exact is its
/// unit.
inline constexpr std::int64_t units[] = {1, 1'000, 1'000'000};

/// Whether a times b is at most `most`; b is at least 1.
[[nodiscard]] constexpr bool product_fits(std::int64_t a, std::int64_t b,
                                          std::int64_t most) noexcept {
    BOOST_ASSERT(b >= 1);
    return a <= most / b;
}

/// Throws errc::invalid_policy.
/// @param where names the rule: `policy 'login', rule 2 'minute'`
[[noreturn]] void refuse(const std::string& where, const std::string& reason);

/// Throws unless the rule recovers from its limit within a hundred years.
inline void check_recovery(const std::string& where, bool too_long) {
    if (too_long)
        refuse(where, "it would take more than 100 years to recover fully");
}

/// The period in microseconds, of the rules that have one. Throws unless it is 1 us to 100 years.
[[nodiscard]] std::int64_t period_of(const std::string& where, const rule& r);

/// The limit of a rule that counts in windows of `period` microseconds.
[[nodiscard]] inline compiled_rule make_window(const rule& r, std::int64_t period) noexcept {
    return {.capacity = r.count(),
            .num = steps_mark + period,
            .full = r.count(),
            .most = std::max(r.count(), most_ticks),
            .period = period,
            .count = r.count()};
}

} // namespace colimit::core

#endif
