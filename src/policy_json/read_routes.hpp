// SPDX-License-Identifier: BSL-1.0
//
// Reads the routes of a document.

#pragma once

#include <policy_json/document_data.hpp>
#include <policy_json/fields.hpp>

namespace colimit::json {

/// Sets the routes of a document whose policies are known.
/// @param all the array `routes`
void read_routes(detail::document_data& document, const node_ref& all);

/// Returns the policy of this name, or nullptr.
[[nodiscard]] const keyed_policy* find_policy(const detail::document_data& document,
                                              std::string_view name) noexcept;

} // namespace colimit::json
