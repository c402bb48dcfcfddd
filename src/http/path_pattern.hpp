// SPDX-License-Identifier: BSL-1.0
//
// Paths in normal form whose segments `*` and `{name}` stand for any segment, and `/*` at the end
// for any number of segments.

#pragma once

#include <http/path.hpp>

#include <string_view>

namespace colimit::http {

/// Percent-encoded in a route they stand for themselves.
inline constexpr std::string_view wildcard_characters = "*{}";

/// Returns the segments of a path in normal form, each after a slash: none for `/`.
[[nodiscard]] constexpr std::string_view pattern_of(std::string_view path) noexcept {
    return path == "/" ? std::string_view{} : path;
}

[[nodiscard]] constexpr bool is_rest(std::string_view pattern) noexcept {
    return pattern == "/*";
}

[[nodiscard]] constexpr bool is_any(std::string_view segment) noexcept {
    return segment == "*" || segment.starts_with('{');
}

} // namespace colimit::http
