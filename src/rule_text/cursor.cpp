// SPDX-License-Identifier: BSL-1.0
//
// Parses numbers, and composes error messages. These are shown in terminals and logs, so they must
// not contain control characters or invalid UTF-8 of a user's text.

#include <rule_text/cursor.hpp>

#include <colimit/error.hpp>

#include <charconv>
#include <limits>
#include <numeric>
#include <system_error>

namespace colimit::text {

std::string quoted(std::string_view bytes) {
    constexpr std::size_t shown_bytes = 24;
    std::string out = "'";
    for (const auto c : bytes.substr(0, shown_bytes)) {
        const auto code = static_cast<unsigned char>(c);
        if (c == '\'' || c == '\\')
            out += {'\\', c};
        else if (code >= 0x20 && code < 0x7f)
            out += c;
        else
            out += {'\\', 'x', detail::hex_digits[code >> 4U], detail::hex_digits[code & 15U]};
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

namespace {

[[nodiscard]] bool at_end_of_amount(const cursor& text) noexcept {
    return text.at_end() || text.at_blank() || text.at('/') || text.at(';');
}

} // namespace

std::int64_t read_amount(cursor& text, const std::string& expected) {
    const auto start = text.at();
    const auto value = read_number(text, expected);
    if (!at_end_of_amount(text))
        text.unexpected(start, expected);
    return value;
}

rule_count read_rule_count(cursor& text) {
    const std::string expected = "a count, a number such as 20 or 0.5";
    const auto start = text.at();
    auto numerator = read_number(text, expected);
    auto denominator = std::int64_t{1};
    if (text.take('.')) {
        const auto digits = text.take_all(is_digit);
        if (digits.empty())
            text.unexpected(start, expected);
        for (const auto digit : digits) {
            constexpr auto most = std::numeric_limits<std::int64_t>::max() / 10 - 1;
            if (numerator > most || denominator > most)
                text.refuse(start, "the count has too many digits to be counted exactly");
            numerator = numerator * 10 + (digit - '0');
            denominator *= 10;
        }
    }
    if (!at_end_of_amount(text))
        text.unexpected(start, expected);
    const auto common = std::gcd(numerator, denominator);
    return {start, numerator / common, denominator / common};
}

} // namespace colimit::text
