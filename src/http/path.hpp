// SPDX-License-Identifier: BSL-1.0
//
// The parts of request targets, and the normal form of paths.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace colimit::http {

/// A target without its fragment.
struct target_parts {
    std::string_view path;  ///< as it was received
    std::string_view query; ///< without `?`
};

[[nodiscard]] target_parts split_target(std::string_view target) noexcept;

/// Returns the byte that `%XX` at the beginning of the text means; nullopt if it begins otherwise.
[[nodiscard]] std::optional<char> escaped_byte(std::string_view text) noexcept;

[[nodiscard]] bool is_normal(std::string_view path) noexcept;
/// @param kept characters that stay encoded where they are
[[nodiscard]] std::string normalised(std::string_view path, std::string_view kept = {});

/// Removes the first segment of a path in normal form, and returns it.
[[nodiscard]] inline std::string_view take_segment(std::string_view& path) noexcept {
    path.remove_prefix(1);
    const auto segment = path.substr(0, path.find('/'));
    path.remove_prefix(segment.size());
    return segment;
}

} // namespace colimit::http
