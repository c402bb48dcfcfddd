// SPDX-License-Identifier: BSL-1.0
//
// Faults in the arguments of calls. Each is an error code that compares equal to
// `errc::invalid_argument` or `invalid_policy` and whose message says which argument or rule it is,
// what is wrong and what is allowed. Making one allocates nothing.

#ifndef COLIMIT_CORE_CALL_FAULT_HPP
#define COLIMIT_CORE_CALL_FAULT_HPP

#include <colimit/error.hpp>
#include <core/compiled_policy.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace colimit::detail {

enum class fault : std::uint8_t {
    none,
    cost,
    duration,
    at_least,
    max_wait,
    packed,
    not_reservable, ///< of a rule
    member_missing,
    member_size,
    time,
    // allow_all
    checks_count,
    checks_packed,
    checks_time,
    checks_same_state,
    checks_slots,
    // execution_mode::multi
    multi_verb,
    multi_together,
    multi_rule, ///< of a rule; this and the following are of the policy
    multi_cooldown,
    multi_no_rules,
    multi_cost,
    multi_partial,
};

/// A rule of a policy, for the faults that are of a rule.
struct faulty_rule {
    std::size_t index = 0; ///< from 0
    core::kind kind{};
};

/// @param f not `none`
[[nodiscard]] error_code error_of(fault f, faulty_rule which = {}) noexcept;

/// The message as a whole; with `got` where the value is known.
[[nodiscard]] std::string text_of(fault f, faulty_rule which = {}, const std::string& got = {});

} // namespace colimit::detail

#endif
