// SPDX-License-Identifier: BSL-1.0
//
// What leases cost a rule. A lease takes tokens at once and spends them until it ends. A continuous
// bucket repays them meanwhile, so that in any period T it would admit
//
//     capacity + rate * (T + length)
//
// So every call is decided with a capacity that is lower by rate * length, rounded up to a token,
// and the sum is again capacity + rate * T. All other kinds keep their capacity: a lease ends with
// its window, or before the next refill.

#pragma once

#include <core/compiled_rule.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::core {

/// Throws unless leases may have this length, in microseconds.
/// @param where names the policy
void check_lease_length(const std::string& where, std::int64_t length);

/// Returns the rule by which calls are decided under a policy with leases.
/// @param whole the rule, compiled
/// @param length of leases, in microseconds, which is checked
/// @throws colimit::error errc::invalid_policy if the rule cannot have such leases
[[nodiscard]] rule with_lease_reserve(const std::string& where, const rule& r,
                                      const compiled_rule& whole, std::int64_t length);

/// Returns a * b / c, rounded up; for a >= 0, b >= 0 and 1 <= c <= 2^60, if the result is below
/// 2^62.
[[nodiscard]] std::int64_t ceil_of_product(std::int64_t a, std::int64_t b, std::int64_t c) noexcept;

} // namespace colimit::core
