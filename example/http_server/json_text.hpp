// SPDX-License-Identifier: BSL-1.0
//
// Text as a JSON string. Keys contain what clients send, so all that could end the string, or the
// line of an event, is escaped.

#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

namespace http_server {

[[nodiscard]] inline std::string json_text(std::string_view text) {
    std::string out = "\"";
    for (const auto c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') {
            std::array<char, 8> escape{};
            std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
            out += escape.data();
        } else {
            out += c; // bytes of UTF-8 too; readers replace those that are not valid
        }
    }
    out += '"';
    return out;
}

} // namespace http_server
