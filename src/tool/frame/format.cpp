// SPDX-License-Identifier: BSL-1.0
//
// Written by hand where C++20 would have std::format, which GCC 12 does not have.

#include <tool/frame/format.hpp>

#include <langinfo.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cwchar>
#include <utility>

namespace tool {

using namespace std::chrono;

namespace {

/// Returns the size of the UTF-8 sequence that begins with this byte; 0 if none does.
[[nodiscard]] std::size_t sequence_size(unsigned char first) noexcept {
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first < 0xe0)
        return 2;
    if (first >= 0xe0 && first < 0xf0)
        return 3;
    return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/// Returns whether the second byte of a sequence rules out surrogates, overlong forms and numbers
/// above those of Unicode.
[[nodiscard]] bool may_follow(unsigned char first, unsigned char second) noexcept {
    switch (first) {
    case 0xe0:
        return second >= 0xa0;
    case 0xed:
        return second < 0xa0;
    case 0xf0:
        return second >= 0x90;
    case 0xf4:
        return second < 0x90;
    default:
        return true;
    }
}

/// Returns the code point of a valid sequence.
[[nodiscard]] wchar_t code_point(std::string_view sequence) noexcept {
    constexpr std::array<unsigned, 5> masks{0, 0x7f, 0x1f, 0x0f, 0x07};
    auto code = static_cast<unsigned char>(sequence[0]) & masks[sequence.size()];
    for (const char c : sequence.substr(1))
        code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3fU);
    return static_cast<wchar_t>(code);
}

[[nodiscard]] bool is_utf8_locale() noexcept {
    return std::string_view{nl_langinfo(CODESET)} == "UTF-8"; // NOLINT(concurrency-mt-unsafe)
}

} // namespace

std::string grouped(std::size_t number) {
    auto text = std::to_string(number);
    for (auto at = text.size(); at > 3; at -= 3)
        text.insert(at - 3, 1, ',');
    return text;
}

std::string counted(std::size_t number, std::string_view noun) {
    return grouped(number) + ' ' + std::string{noun} + (number == 1 ? "" : "s");
}

std::string percentage(std::size_t part, std::size_t whole) {
    std::array<char, 32> text{};
    auto share = whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
    if (part != 0 && part != whole)
        share = std::clamp(share, 0.01, 99.99);
    std::snprintf(text.data(), text.size(), "%.2f %%", share);
    return text.data();
}

std::string utc(sys_seconds time) {
    const auto midnight = floor<days>(time);
    const year_month_day date{midnight};
    const hh_mm_ss clock{time - midnight};
    std::array<char, 32> text{};
    std::snprintf(
        text.data(), text.size(), "%04d-%02u-%02u %02d:%02d:%02d", int{date.year()},
        unsigned{date.month()}, unsigned{date.day()}, static_cast<int>(clock.hours().count()),
        static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()));
    return text.data();
}

std::string duration(seconds time) {
    constexpr std::array<std::pair<seconds, std::string_view>, 4> units{
        {{days{1}, " d"}, {hours{1}, " h"}, {minutes{1}, " min"}, {seconds{1}, " s"}}};
    std::string text;
    auto parts = 0;
    for (const auto& [unit, name] : units) {
        const auto count = time / unit;
        if (parts == 2 || (parts == 0 && count == 0 && unit != seconds{1}))
            continue;
        ++parts;
        if (parts == 2 && count == 0)
            continue;
        text += (text.empty() ? "" : " ") + std::to_string(count);
        text += name;
        time %= unit;
    }
    return text;
}

std::string escaped(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f) {
            text += c;
            continue;
        }
        text += "\\x";
        text += digits[byte >> 4U];
        text += digits[byte & 15U];
    }
    return text;
}

std::size_t utf8_size(std::string_view bytes) noexcept {
    if (bytes.empty())
        return 0;
    const auto first = static_cast<unsigned char>(bytes[0]);
    const auto size = sequence_size(first);
    if (size == 0 || bytes.size() < size)
        return 0;
    for (std::size_t k = 1; k < size; ++k) {
        const auto next = static_cast<unsigned char>(bytes[k]);
        if ((next & 0xc0U) != 0x80 || (k == 1 && !may_follow(first, next)))
            return 0;
    }
    return size;
}

std::string shown(std::string_view bytes) {
    if (!is_utf8_locale())
        return escaped(bytes);
    std::string text;
    while (!bytes.empty()) {
        const auto size = utf8_size(bytes);
        const auto one = bytes.substr(0, std::max(size, std::size_t{1}));
        text += size > 1 && ::wcwidth(code_point(one)) > 0 ? std::string{one} : escaped(one);
        bytes.remove_prefix(one.size());
    }
    return text;
}

std::size_t columns_of(std::string_view text) {
    std::size_t columns = 0;
    while (!text.empty()) {
        const auto one = text.substr(0, std::max(utf8_size(text), std::size_t{1}));
        columns +=
            one.size() > 1 ? static_cast<std::size_t>(std::max(::wcwidth(code_point(one)), 0)) : 1;
        text.remove_prefix(one.size());
    }
    return columns;
}

std::string without_password(std::string_view address) {
    const auto host = address.rfind('@');
    const auto scheme = address.find("://");
    if (host == std::string_view::npos || scheme == std::string_view::npos)
        return escaped(address);
    return escaped(address.substr(0, scheme + 3)) + "...@" + escaped(address.substr(host + 1));
}

std::string without_port(std::string_view host) {
    const auto name = host.substr(0, host.find(':'));
    const auto is_name = !host.starts_with('[') && name != "localhost" &&
                         name.find_first_not_of("0123456789.") != std::string_view::npos;
    return std::string{is_name ? name : host};
}

std::string without_secrets(std::string_view address) {
    const auto scheme = address.find("://");
    if (scheme == std::string_view::npos || address.find('@') != std::string_view::npos)
        return without_password(address);
    const auto begin = scheme + 3;
    const auto end = std::min(address.find('/', begin), address.size());
    auto text = std::string{address.substr(0, begin)};
    for (auto at = begin; at < end;) {
        const auto next = std::min(address.find(',', at), end);
        text.append(at == begin ? "" : ",").append(without_port(address.substr(at, next - at)));
        at = next + 1;
    }
    if (text.size() == end) // else the rest may be the end of a password, too
        text.append(address.substr(end));
    return escaped(text);
}

namespace {

/// Returns where the scheme of an address ends in a word, or npos if it has none.
[[nodiscard]] std::size_t end_of_scheme(std::string_view word) {
    for (const std::string_view mark : {"://", "unix:"})
        if (const auto at = word.find(mark); at != std::string_view::npos)
            return at + mark.size();
    return std::string_view::npos;
}

} // namespace

std::string without_addresses(std::string_view arguments) {
    constexpr auto none = std::string_view::npos;
    std::string text;
    while (!arguments.empty()) {
        auto end = std::min(arguments.find(' '), arguments.size());
        const auto scheme = end_of_scheme(arguments.substr(0, end));
        // A password may have blanks, so it ends at the last @ before another address.
        const auto host =
            scheme == none ? none : arguments.substr(0, arguments.find("://", scheme)).rfind('@');
        if (host != none && host >= scheme) {
            end = std::min(arguments.find(' ', host), arguments.size());
            text.append(arguments.substr(0, scheme)).append("...");
            text.append(arguments.substr(host, end - host));
        } else {
            const auto word = arguments.substr(0, end);
            text += scheme == none ? std::string{word} : without_secrets(word);
        }
        text += arguments.substr(end, 1);
        arguments.remove_prefix(std::min(end + 1, arguments.size()));
    }
    return text;
}

} // namespace tool
