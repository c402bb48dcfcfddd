// SPDX-License-Identifier: BSL-1.0
//
// The normal form of paths: a path is a sequence of segments, each a text of any bytes, and every
// sequence has exactly one normal form. Most paths have it already.
//
// All characters are decoded and not only unreserved ones, as RFC 3986 permits, since servers
// compare decoded segments. What would change the sequence itself stays encoded: `/`, `%`, `?` and
// `#`.

#include <http/path.hpp>

#include <base/bytes.hpp>
#include <colimit/routes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace colimit::http {
namespace {

/// Characters that stand for themselves within a segment. A table, as each of a request is looked
/// up.
constexpr auto plain = [] {
    auto table = std::array<bool, 256>{};
    for (auto c = std::size_t{'!'}; c <= '~'; ++c)
        table[c] = std::string_view{"/%?#"}.find(static_cast<char>(c)) == std::string_view::npos;
    return table;
}();

[[nodiscard]] bool is_plain(char c) noexcept {
    return plain[static_cast<unsigned char>(c)];
}

/// Returns whether a segment of plain characters stands for itself.
[[nodiscard]] bool is_name(std::string_view segment) noexcept {
    return !segment.empty() && segment != "." && segment != "..";
}

/// Returns the value of a hexadecimal digit, or 16.
[[nodiscard]] unsigned hex_value(char c) noexcept {
    return static_cast<unsigned>(
        std::min(detail::hex_digits.find(detail::lower(c)), std::size_t{16}));
}

void append_escaped(std::string& out, char c) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    const auto code = static_cast<unsigned char>(c);
    out += {'%', digits[code >> 4U], digits[code & 15U]};
}

[[nodiscard]] std::string normal_segment(std::string_view segment, std::string_view kept) {
    auto out = std::string{};
    while (!segment.empty()) {
        const auto escaped = escaped_byte(segment);
        const auto c = escaped.value_or(segment.front());
        segment.remove_prefix(escaped ? 3 : 1);
        if (is_plain(c) && (!escaped || kept.find(c) == std::string_view::npos))
            out += c;
        else
            append_escaped(out, c);
    }
    return out;
}

/// Returns where the path of a target begins that may be in absolute form.
[[nodiscard]] std::size_t path_begin(std::string_view target) noexcept {
    constexpr std::string_view mark = "://";
    if (target.starts_with('/'))
        return 0;
    const auto at = target.find(mark);
    const auto is_scheme = [](char c) {
        return (detail::lower(c) >= 'a' && detail::lower(c) <= 'z') || detail::is_digit(c) ||
               c == '+' || c == '-' || c == '.';
    };
    if (at == std::string_view::npos || !std::ranges::all_of(target.substr(0, at), is_scheme))
        return 0;
    return std::min(target.find_first_of("/?#", at + mark.size()), target.size());
}

} // namespace

target_parts split_target(std::string_view target) noexcept {
    target.remove_prefix(path_begin(target));
    target = target.substr(0, target.find('#'));
    const auto path = target.substr(0, target.find('?'));
    return {path, target.substr(std::min(path.size() + 1, target.size()))};
}

std::optional<char> escaped_byte(std::string_view text) noexcept {
    if (text.size() < 3 || text[0] != '%')
        return std::nullopt;
    const auto high = hex_value(text[1]);
    const auto low = hex_value(text[2]);
    if (high > 15 || low > 15)
        return std::nullopt;
    return static_cast<char>(high * 16 + low);
}

bool is_normal(std::string_view path) noexcept {
    if (path == "/")
        return true;
    if (!path.starts_with('/'))
        return false;
    auto begin = std::size_t{1};
    for (auto i = begin; i < path.size(); ++i) {
        if (is_plain(path[i]))
            continue;
        if (path[i] != '/' || !is_name(path.substr(begin, i - begin)))
            return false;
        begin = i + 1;
    }
    return is_name(path.substr(begin));
}

std::string normalised(std::string_view path, std::string_view kept) {
    auto out = std::string{};
    while (!path.empty()) {
        const auto end = std::min(path.find('/'), path.size());
        const auto segment = normal_segment(path.substr(0, end), kept);
        path.remove_prefix(std::min(end + 1, path.size()));
        if (segment == "..")
            out.resize(out.empty() ? 0 : out.rfind('/'));
        else if (is_name(segment))
            (out += '/') += segment;
    }
    return out.empty() ? "/" : out;
}

std::string normal_path(std::string_view target) {
    return normalised(split_target(target).path);
}

} // namespace colimit::http
