// SPDX-License-Identifier: BSL-1.0
//
// Faults in the arguments of calls. Each is an error code that compares equal to
// `errc::invalid_argument` or `errc::invalid_policy`, in two cases to `errc::server_error`. Its
// message names the argument or rule, the problem, and the expected value. Making such a code
// allocates no memory.

#pragma once

#include <colimit/error.hpp>
#include <colimit/rule.hpp>
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
    member_missing,
    member_size,
    time,
    // request ids
    request_size,
    request_verb,
    request_checks,
    request_members,
    request_bare_keys,
    other_verb, ///< the id was used for another call, as are the next four
    other_cost,
    other_at_least,
    other_member,
    other_policy,
    request_room, ///< in process; errc::server_error
    // acquire; errc::invalid_policy
    slots_verb,
    slots_policy,
    holder_room, ///< in process; errc::server_error
    // count_distinct
    count_policy,
    count_rule,
    // filters in process
    filter_count,
    // allow_all
    checks_count,
    checks_packed,
    checks_time,
    checks_same_state,
    checks_slots,
    bare_keys, ///< on a cluster
    // execution_mode::multi
    multi_verb,
    multi_together,
    multi_request,
    multi_rule,   ///< a fault of a rule; this and the next four are errc::invalid_policy
    multi_period, ///< a fault of a rule
    multi_cooldown,
    multi_no_rules,
    multi_packed,
    multi_cost,
    multi_partial,
    multi_refund,
    multi_time,
};

/// Identifies the rule, for the faults of a rule.
struct faulty_rule {
    std::size_t index = 0; ///< from 0
    core::kind kind{};
    colimit::algorithm algorithm{}; ///< for multi_rule
};

[[nodiscard]] errc code_of(fault f) noexcept;

/// Returns the error code of a fault, which is not `none`.
[[nodiscard]] error_code error_of(fault f, faulty_rule which = {}) noexcept;

/// Returns the message of a fault. `got` is the invalid value, or empty if it is not known.
[[nodiscard]] std::string text_of(fault f, faulty_rule which = {}, const std::string& got = {});

} // namespace colimit::detail
