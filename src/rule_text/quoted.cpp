// SPDX-License-Identifier: BSL-1.0
//
// Quotes text from users in messages: no quotes, control characters or invalid UTF-8 inside.

#include <rule_text/quoted.hpp>

#include <cstddef>

namespace colimit::text {
namespace {

/// The longest text that a message quotes.
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
