// SPDX-License-Identifier: BSL-1.0
//
// Parses numbers, and composes error messages. These are shown in terminals and logs, so they must
// not contain control characters or invalid UTF-8 of a user's text.

#include <rule_text/cursor.hpp>

#include <colimit/error.hpp>

#include <charconv>
#include <limits>
#include <system_error>

namespace colimit::text {

std::string quoted(std::string_view bytes) {
    constexpr std::size_t shown_bytes = 24;
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

void cursor::refuse(std::size_t from, const std::string& reason) const {
    throw error{errc::invalid_policy,
                std::string{what_} + ", character " + std::to_string(from + 1) + ": " + reason};
}

void cursor::unexpected(std::size_t from, const std::string& expected) const {
    const auto rest = text_.substr(from);
    const auto end =
        std::ranges::find_if(rest, [](char c) { return is_blank(c) || c == '/' || c == ';'; });
    const auto size = std::max(std::size_t{1}, static_cast<std::size_t>(end - rest.begin()));
    refuse(from, "expected " + expected + ", found " +
                     (rest.empty() ? "the end" : quoted(rest.substr(0, size))));
}

std::int64_t read_number(cursor& text, const std::string& expected) {
    const auto start = text.at();
    const auto digits = text.take_all(is_digit);
    if (digits.empty())
        text.unexpected(start, expected);
    auto value = std::int64_t{0};
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failed != std::errc{})
        text.refuse(start, "the number is larger than " +
                               std::to_string(std::numeric_limits<std::int64_t>::max()));
    return value;
}

std::int64_t read_amount(cursor& text, const std::string& expected) {
    const auto start = text.at();
    const auto value = read_number(text, expected);
    if (!text.at_end() && !text.at_blank() && !text.at('/') && !text.at(';'))
        text.unexpected(start, expected);
    return value;
}

} // namespace colimit::text
