// SPDX-License-Identifier: BSL-1.0
//
// The filter compares each position of a text with the password in each of its encodings.

#include <base/bytes.hpp>
#include <limiter/problem_text.hpp>

#include <algorithm>

namespace colimit::detail {
namespace {

/// Shorter passwords occur in ordinary words, and replacing them there would reveal them.
constexpr std::size_t least_password = 4;

/// The text after this repeats the arguments of the command: a password or the names of keys.
constexpr std::string_view arguments_begin = "with args beginning with";
constexpr std::string_view ellipsis = "...";
constexpr std::string_view left_out =
    "(omitted: it contains the password, which is too short to be replaced)";

enum class writing : std::uint8_t { plain, percent, backslash };

/// A character of a password, and how many bytes of a text encode it: 0 if the text ends within it.
struct character {
    char c;
    std::size_t size;
};

/// @param like the expected character, as which any other one may have been written
[[nodiscard]] character read_character(std::string_view text, writing how, char like) noexcept {
    const auto mark = how == writing::percent ? '%' : '\\';
    if (text.empty() || how == writing::plain || text.front() != mark)
        return text.empty() ? character{} : character{text.front(), 1};
    if (how == writing::backslash && text.size() > 1 && text[1] != 'x') {
        const auto at = std::string_view{"nrtab"}.find(text[1]);
        return {at == std::string_view::npos || text[1] == like ? text[1] : "\n\r\t\a\b"[at], 2};
    }
    const std::size_t digits = how == writing::percent ? 1 : 2;
    if (text.size() < digits + 2)
        return {};
    const auto high = hex_digits.find(lower(text[digits]));
    const auto low = hex_digits.find(lower(text[digits + 1]));
    if (high == std::string_view::npos || low == std::string_view::npos)
        return {mark, 1};
    return {static_cast<char>(high << 4U | low), digits + 2};
}

} // namespace

std::size_t text_filter::size_of_secret(std::string_view text, std::size_t least) const noexcept {
    auto longest = std::size_t{0};
    for (const auto how : {writing::plain, writing::percent, writing::backslash}) {
        auto size = std::size_t{0};
        for (std::size_t matched = 0; matched < password_.size(); ++matched) {
            const auto next = read_character(text.substr(size), how, password_[matched]);
            if (next.size == 0) {
                size = matched >= least ? text.size() : 0;
                break;
            }
            size = next.c == password_[matched] ? size + next.size : 0;
            if (size == 0)
                break;
        }
        longest = std::max(longest, size);
    }
    return longest;
}

void text_filter::append(problem_text& out, std::string_view text, origin of,
                         std::size_t reserve) const noexcept {
    const auto begin = out.size();
    const auto end = std::max(begin, out.max_size() - std::min(reserve, out.max_size()));
    const auto is_line = of == origin::received;
    if (is_line)
        text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
    text = text.substr(0, text.find(arguments_begin));
    const auto unseen = text.size() - (text.find_last_not_of("\r\n ") + 1);
    const auto is_short = password_.size() < least_password;
    auto room_for_ellipsis = begin; // the last place at which it fits
    while (text.size() > unseen) {
        const auto c = text.front();
        const auto secret = size_of_secret(text, is_line ? 1 : least_password);
        if (secret != 0 && is_short && of != origin::own) {
            out.resize(begin);
            append_whole(out, left_out.substr(0, end - begin));
            return;
        }
        if (secret == 0 && is_line && (c == '\r' || c == '\n'))
            return;
        const auto byte = static_cast<unsigned char>(c);
        const char hex[]{'\\', 'x', hex_digits[byte >> 4U], hex_digits[byte & 15U]};
        const auto is_hidden = secret != 0 && !is_short;
        const auto part = is_hidden              ? std::string_view{"***"}
                          : c >= ' ' && c <= '~' ? text.substr(0, 1)
                                                 : std::string_view{hex, sizeof hex};
        if (out.size() + part.size() > end) {
            out.resize(room_for_ellipsis);
            append_whole(out, ellipsis);
            return;
        }
        append_whole(out, part);
        if (out.size() + ellipsis.size() <= end)
            room_for_ellipsis = out.size();
        text.remove_prefix(is_hidden ? secret : 1);
    }
}

} // namespace colimit::detail
