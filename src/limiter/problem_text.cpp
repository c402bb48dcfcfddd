// SPDX-License-Identifier: BSL-1.0
//
// The filter compares each position of a text with the password in each of its encodings.

#include <base/bytes.hpp>
#include <limiter/problem_text.hpp>

#include <cstdint>
#include <optional>

namespace colimit::detail {
namespace {

/// Shorter passwords occur in ordinary words, and replacing them there would reveal them.
constexpr std::size_t least_password = 4;

/// The text after this repeats the arguments of the command: a password or the names of keys.
constexpr std::string_view arguments_begin = "with args beginning with";
constexpr std::string_view ellipsis = "...";
constexpr std::string_view stars = "***";
constexpr std::string_view left_out =
    "(omitted: it contains the password, which is too short to be replaced)";

[[nodiscard]] std::array<char, 4> escaped(char c) noexcept {
    const auto byte = static_cast<unsigned char>(c);
    return {'\\', 'x', hex_digits[byte >> 4U], hex_digits[byte & 15U]};
}

/// Returns whether two hexadecimal digits in either case encode this byte.
[[nodiscard]] bool is_hex_of(std::string_view digits, char c) noexcept {
    const auto byte = static_cast<unsigned char>(c);
    const auto is = [](char digit, unsigned value) { return lower(digit) == hex_digits[value]; };
    return digits.size() == 2 && is(digits[0], byte >> 4U) && is(digits[1], byte & 15U);
}

enum class writing : std::uint8_t { plain, percent, backslash };

/// Returns the character that encodes this byte after a backslash.
[[nodiscard]] char short_escape(char c) noexcept {
    constexpr std::string_view bytes = "\n\r\t\a\b";
    constexpr std::string_view letters = "nrtab";
    const auto at = bytes.find(c);
    return at != std::string_view::npos ? letters[at] : c;
}

/// Returns how many bytes at the beginning of a text encode this byte of a password: 0 for none,
/// nullopt if the text ends too early to decide.
[[nodiscard]] std::optional<std::size_t> size_of_byte(std::string_view text, char c,
                                                      writing how) noexcept {
    if (text.empty())
        return std::nullopt;
    const auto mark = how == writing::percent ? '%' : '\\';
    if (how == writing::plain || text.front() != mark)
        return text.front() == c ? 1 : 0;
    const auto has_x = text.size() > 1 && text[1] == 'x';
    if (how == writing::backslash && text.size() > 1 && text[1] == short_escape(c) && !has_x)
        return 2;
    if (how == writing::backslash && text.size() > 1 && !has_x)
        return 0;
    const auto digits_at = std::size_t{how == writing::percent ? 1U : 2U};
    if (text.size() < digits_at + 2)
        return std::nullopt;
    return is_hex_of(text.substr(digits_at, 2), c) ? digits_at + 2 : 0;
}

} // namespace

/// The differences between texts of different origin.
struct text_filter::kind {
    std::size_t
        least_part;  ///< the shortest part of the password that is replaced at the end of the text
    bool is_line;    ///< only the first line is shown
    bool is_foreign; ///< it may be omitted
};

std::size_t text_filter::size_of_secret(std::string_view text, std::size_t least) const noexcept {
    auto longest = std::size_t{0};
    for (const auto how : {writing::plain, writing::percent, writing::backslash}) {
        auto size = std::size_t{0};
        auto matched = std::size_t{0};
        auto ends_within = false;
        while (matched < password_.size()) {
            const auto next = size_of_byte(text.substr(size), password_[matched], how);
            ends_within = !next;
            if (!next || *next == 0)
                break;
            size += *next;
            ++matched;
        }
        if (matched == password_.size())
            longest = std::max(longest, size);
        else if (ends_within && matched >= least)
            longest = text.size();
    }
    return longest;
}

void text_filter::append(problem_text& out, std::string_view text, std::size_t room,
                         const kind& of) const noexcept {
    const auto begin = out.size();
    const auto end = begin + std::min(room, out.room());
    text = text.substr(0, text.find(arguments_begin));
    const auto last = text.find_last_not_of("\r\n ");
    const auto shown = last == std::string_view::npos ? 0 : last + 1;
    const auto is_short = password_.size() < least_password;
    auto room_for_ellipsis = begin; // the last place at which it fits
    for (std::size_t at = 0; at < shown;) {
        const auto c = text[at];
        const auto secret = password_.empty() ? 0 : size_of_secret(text.substr(at), of.least_part);
        if (secret != 0 && is_short && of.is_foreign) {
            out.cut(begin);
            (void)out.append(left_out.substr(0, end - begin));
            return;
        }
        if (secret == 0 && of.is_line && (c == '\r' || c == '\n'))
            break;
        const auto hex = escaped(c);
        const auto part = secret != 0 && !is_short ? stars
                          : c >= ' ' && c <= '~'   ? text.substr(at, 1)
                                                   : std::string_view{hex.data(), hex.size()};
        if (out.size() + part.size() > end) {
            out.cut(room_for_ellipsis);
            (void)out.append(ellipsis);
            break;
        }
        (void)out.append(part);
        if (out.size() + ellipsis.size() <= end)
            room_for_ellipsis = out.size();
        at += secret != 0 && !is_short ? secret : 1;
    }
}

void text_filter::append_own(problem_text& out, std::string_view text,
                             std::size_t room) const noexcept {
    append(out, text, room, {.least_part = least_password, .is_line = false, .is_foreign = false});
}

void text_filter::append_words(problem_text& out, std::string_view text,
                               std::size_t room) const noexcept {
    append(out, text, room, {.least_part = least_password, .is_line = false, .is_foreign = true});
}

void text_filter::append_received(problem_text& out, std::string_view bytes,
                                  std::size_t room) const noexcept {
    const auto begin = std::min(bytes.find_first_not_of("\r\n"), bytes.size());
    append(out, bytes.substr(begin), room, {.least_part = 1, .is_line = true, .is_foreign = true});
}

} // namespace colimit::detail
