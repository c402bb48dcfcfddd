// SPDX-License-Identifier: BSL-1.0
//
// A rule that is written as a JSON object.

#pragma once

#include <colimit/rule.hpp>
#include <policy_json/fields.hpp>

namespace colimit::json {

/// @throws colimit::error errc::invalid_policy, also if the rule is not valid.
[[nodiscard]] rule read_rule(const node_ref& object);

} // namespace colimit::json
