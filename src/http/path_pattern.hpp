// SPDX-License-Identifier: BSL-1.0
//
// Paths in normal form whose segments `*` and `{name}` stand for any segment, and `/*` at the end
// for any number of segments.

#pragma once

#include <http/path.hpp>

#include <string_view>

namespace colimit::http {

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

/// Returns whether every path that `b` matches also matches `a`.
[[nodiscard]] inline bool covers_pattern(std::string_view a, std::string_view b) noexcept {
    while (!is_rest(a) && !is_rest(b) && !a.empty() && !b.empty()) {
        const auto of_a = take_segment(a);
        const auto of_b = take_segment(b);
        if (!is_any(of_a) && of_a != of_b)
            return false;
    }
    return is_rest(a) || (a.empty() && b.empty());
}

} // namespace colimit::http
