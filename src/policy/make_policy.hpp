// SPDX-License-Identifier: BSL-1.0
//
// Makes the representation of a policy: validates its rules, compiles and encodes them.

#pragma once

#include <policy/policy_data.hpp>

#include <span>
#include <string_view>

namespace colimit::detail {

/// @throws colimit::error with `errc::invalid_policy`, naming the policy, the rule and the reason
[[nodiscard]] policy_pointer make_policy(std::string_view name, std::span<const rule> rules,
                                         const policy_options& options = {});

/// Checks rules without a policy's name: throws as make_policy does, naming the rule.
void check_rules(std::span<const rule> rules);

} // namespace colimit::detail
