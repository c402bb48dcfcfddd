// SPDX-License-Identifier: BSL-1.0
//
// The user's bytes in a message: no quotes, control characters or broken UTF-8.

#include <rule_text/quoted.hpp>

#include <cstddef>

namespace colimit::text {
namespace {

/// As much of a strange text as a message shows.
constexpr std::size_t shown_bytes = 24;

} // namespace

std::string quoted(std::string_view bytes) {
    constexpr std::string_view hex = "0123456789abcdef";
    std::string out = "'";
    for (const auto c : bytes.substr(0, shown_bytes)) {
        const auto code = static_cast<unsigned char>(c);
        if (c == '\'' || c == '\\')
            out += {'\\', c};
        else if (code >= 0x20 && code < 0x7f)
            out += c;
        else
            out += {'\\', 'x', hex[code >> 4U], hex[code & 15U]};
    }
    return out + (bytes.size() > shown_bytes ? "...'" : "'");
}

} // namespace colimit::text
