// SPDX-License-Identifier: BSL-1.0
//
// Blanks in the values of header fields.

#pragma once

#include <algorithm>
#include <string_view>

namespace colimit::http {

/// Returns the text without spaces and tabs at both ends.
[[nodiscard]] constexpr std::string_view without_blanks(std::string_view text) noexcept {
    constexpr std::string_view blanks = " \t";
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

} // namespace colimit::http
