// SPDX-License-Identifier: BSL-1.0
//
// Written by hand where C++20 would have std::format, which GCC 12 does not have.

#include <tool/frame/format.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace tool {

using namespace std::chrono;

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

std::string without_password(std::string_view address) {
    const auto host = address.rfind('@');
    const auto scheme = address.find("://");
    if (host == std::string_view::npos || scheme == std::string_view::npos)
        return escaped(address);
    return escaped(address.substr(0, scheme + 3)) + "...@" + escaped(address.substr(host + 1));
}

} // namespace tool
