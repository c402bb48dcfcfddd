// SPDX-License-Identifier: BSL-1.0
//
// Documents of policies with routes, and those that are published with a version.

#pragma once

#include <colimit/limits.hpp>
#include <colimit/policy_document.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::json {

/// Parses a document that was published with this version.
/// @throws colimit::error as `parse_policy_document`, also if the document has another version
[[nodiscard]] policy_document parse_published(std::string_view document, std::int64_t version);

/// Returns whether the document lists routes, which then decide what limits a request, even if
/// there are none. Without the field the application chooses policies.
[[nodiscard]] bool has_routes(const policy_document& document) noexcept;

/// Returns whether hardly any request has the path or the methods of a route: see
/// `http::is_unlikely`.
[[nodiscard]] bool is_unlikely(const policy_document& document, std::size_t route) noexcept;

/// Returns the text of a valid document, with this version if it has none: at most
/// `max_copy_bytes`.
[[nodiscard]] std::string with_version(std::string_view document, std::int64_t version);

/// A document of the longest text with a version that it did not have.
inline constexpr std::size_t max_copy_bytes = limits::max_json_bytes + 32;

/// Parses what `with_version` has made.
/// @throws colimit::error as `parse_policy_document`
[[nodiscard]] policy_document parse_copy(std::string_view document);

} // namespace colimit::json
