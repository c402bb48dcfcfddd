// SPDX-License-Identifier: BSL-1.0
//
// Validates calls: the ranges that options.hpp documents, and the arguments that the policy's rules
// need. Every entry to the library does this first.

#pragma once

#include <colimit/check_item.hpp>
#include <colimit/detail/call_request.hpp>
#include <colimit/error.hpp>
#include <colimit/limits.hpp>
#include <core/compiled_policy.hpp>

#include <span>
#include <string>
#include <string_view>

namespace colimit::detail {

/// Returns the reason why a call is not valid, as a message; empty if it is valid.
[[nodiscard]] std::string fault_message(const call_request& q, const core::compiled_policy& rules);

[[nodiscard]] bool is_valid_in_full(const call_request& q,
                                    const core::compiled_policy& rules) noexcept;

[[nodiscard]] inline bool is_valid(const call_request& q,
                                   const core::compiled_policy& rules) noexcept {
    // Fast path, as most calls are ordinary and each one is tested here.
    const auto is_ordinary = q.verb <= verb::reset && !q.has_member && !q.has_id &&
                             !rules.has_distinct && !rules.has_slots && q.at_least >= 0 &&
                             q.at_least <= q.cost && q.cost <= limits::max_exact_integer &&
                             q.now >= store_clock && q.now <= limits::max_time;
    return is_ordinary || is_valid_in_full(q, rules);
}

/// Throws the error of a call that is not valid.
[[noreturn]] void refuse_request(const call_request& q, const core::compiled_policy& rules);

/// @throws colimit::error with errc::invalid_argument or errc::invalid_policy, and the reason
inline void check_request(const call_request& q, const core::compiled_policy& rules) {
    if (!is_valid(q, rules))
        refuse_request(q, rules);
}

/// @throws colimit::error with errc::invalid_key if it is too long
void check_key(std::string_view key);

/// Returns the error of a call that is not valid; its message says why.
[[nodiscard]] error_code error_of_request(const call_request& q,
                                          const core::compiled_policy& rules) noexcept;

/// Returns the error of a `count_distinct` without the rule that it would count.
[[nodiscard]] error_code error_of_count(const core::compiled_policy& rules) noexcept;

/// Returns the error of checks that cannot be made together, or none. It is also stored in the `ec`
/// of the faulty check.
[[nodiscard]] error_code error_of_checks(std::span<check_item> checks) noexcept;

} // namespace colimit::detail
