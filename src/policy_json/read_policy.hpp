// SPDX-License-Identifier: BSL-1.0
//
// Reads a policy, which documents of both kinds have.

#pragma once

#include <colimit/policy.hpp>
#include <policy_json/fields.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace colimit::json {

/// Reads the member of an object: its name is that of the policy, its value the rules, or an object
/// with options.
/// @param further names of fields that the object may have, too
[[nodiscard]] policy read_policy(const node_ref& member,
                                 std::span<const std::string_view> further = {});

/// Returns the object `policies` of a document, which has not too many members.
[[nodiscard]] node_ref policies_in(const fields& document);

} // namespace colimit::json
