// SPDX-License-Identifier: BSL-1.0
//
// Paths and methods of routes that are valid and probably mean something else. `colimit lint` warns
// about them, and a source of policies counts such routes.

#pragma once

#include <span>
#include <string>
#include <string_view>

namespace colimit::http {

/// Returns whether a method is in IANA's registry, without `PRI`, which no request has.
[[nodiscard]] bool is_registered(std::string_view method);

/// Returns whether a path has a control character, or a blank at the beginning or end of a segment.
[[nodiscard]] bool is_odd(std::string_view path);

/// Returns the segment of a path that is not a literal text in other routers: `:id`, `<id>`,
/// `[id]`, `...`, `+`, `%s` and regular expressions; empty if there is none. Segments with `*` or
/// `{` are checked by the parser.
[[nodiscard]] std::string_view foreign_segment(std::string_view path);

/// Returns whether hardly any request has such a path, or one of these methods, of which none means
/// all.
/// @param path as it is written: what is percent-encoded is meant
[[nodiscard]] bool is_unlikely(std::string_view path, std::span<const std::string> methods);

} // namespace colimit::http
