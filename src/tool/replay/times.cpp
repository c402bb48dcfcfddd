// SPDX-License-Identifier: BSL-1.0
//
// A pattern says where a text has digits; then they are numbers of a date.

#include <base/bytes.hpp>
#include <tool/replay/times.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>

namespace tool::replay {

namespace {

using namespace std::chrono;

constexpr std::string_view log_pattern = "dd/Mon/yyyy:hh:mm:ss +zzzz";
constexpr std::string_view iso_pattern = "yyyy-mm-dd?hh:mm:ss";

/// 10^11 seconds are 3,000 years, and 10^11 milliseconds three.
constexpr std::int64_t least_ms = 100'000'000'000;

using colimit::detail::is_digit;

/// Returns whether the text has digits, letters and separators where the pattern has them.
bool has_shape(std::string_view text, std::string_view pattern) noexcept {
    const auto matches = [](char c, char p) {
        if (p == '+')
            return c == '+' || c == '-';
        if (p == '?')
            return c == 'T' || c == 't' || c == ' ';
        if (p == 'M' || p == 'o' || p == 'n')
            return true; // the month's name is looked up later
        return p >= 'a' && p <= 'z' ? is_digit(c) : c == p;
    };
    return std::ranges::equal(text, pattern, matches);
}

/// Returns the number with these digits.
int number(std::string_view digits) noexcept {
    int value = 0;
    for (const char c : digits)
        value = value * 10 + (c - '0');
    return value;
}

/// Returns 1 to 12, or 0 if the name is not valid.
unsigned month_number(std::string_view name) noexcept {
    constexpr std::array<std::string_view, 12> names{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const auto* const found = std::ranges::find(names, name);
    return found == names.end() ? 0 : static_cast<unsigned>(found - names.begin()) + 1;
}

time_reading checked(colimit::time_point time) noexcept {
    // The range of a limiter's clock.
    if (time < sys_days{year{1970} / 1 / 1} || time >= sys_days{year{2112} / 1 / 1})
        return {{}, "the year is not between 1970 and 2111"};
    return {time, {}};
}

/// Returns a time in UTC of a date and `hh:mm:ss`.
time_reading local_time(const year_month_day& date, std::string_view clock) noexcept {
    if (!date.ok())
        return {{}, "there is no such day"};
    const auto hour = number(clock.substr(0, 2));
    const auto minute = number(clock.substr(3, 2));
    const auto second = number(clock.substr(6, 2));
    if (hour > 23 || minute > 59 || second > 60) // 60: a leap second
        return {{}, "there is no such time of day"};
    return {sys_days{date} + hours{hour} + minutes{minute} + seconds{second}, {}};
}

/// Returns the offset `+hhmm` or `-hhmm`; nullopt if it is not valid.
std::optional<minutes> offset(char sign, std::string_view hh, std::string_view mm) noexcept {
    const auto hour = number(hh);
    const auto minute = number(mm);
    if (hour > 14 || minute > 59)
        return std::nullopt;
    const auto east = hours{hour} + minutes{minute};
    return sign == '+' ? east : -east;
}

time_reading in_zone(time_reading local, std::optional<minutes> east) noexcept {
    if (!local.problem.empty())
        return local;
    if (!east)
        return {{}, "there is no such time zone"};
    return checked(local.time - *east);
}

/// Removes the zone from the end of a text. A time without one is in UTC.
std::optional<minutes> take_zone(std::string_view& text) noexcept {
    if (text.ends_with('Z') || text.ends_with('z')) {
        text.remove_suffix(1);
        return minutes{0};
    }
    for (const std::string_view pattern : {"+hh:mm", "+hhmm", "+hh"}) {
        if (text.size() < pattern.size())
            continue;
        const auto zone = text.substr(text.size() - pattern.size());
        if (!has_shape(zone, pattern))
            continue;
        text.remove_suffix(zone.size());
        const auto minute = zone.size() == 3 ? std::string_view{} : zone.substr(zone.size() - 2);
        return offset(zone[0], zone.substr(1, 2), minute);
    }
    return minutes{0};
}

/// Removes the fraction of a second from the end of a text, `.25`; microseconds.
microseconds take_fraction(std::string_view& text) noexcept {
    const auto point = text.find_last_of(".,");
    if (point == std::string_view::npos)
        return microseconds{0};
    const auto digits = text.substr(point + 1);
    if (digits.empty() || digits.size() > 9 || !std::ranges::all_of(digits, is_digit))
        return microseconds{0};
    text = text.substr(0, point);
    std::int64_t us = 0;
    for (std::size_t i = 0; i < 6; ++i)
        us = us * 10 + (i < digits.size() ? digits[i] - '0' : 0);
    return microseconds{us};
}

time_reading read_iso_time(std::string_view text) noexcept {
    const auto east = take_zone(text);
    const auto fraction = take_fraction(text);
    if (!has_shape(text, iso_pattern))
        return {{}, "the time is not of a known form"};
    const year_month_day date{year{number(text.substr(0, 4))},
                              month{static_cast<unsigned>(number(text.substr(5, 2)))},
                              day{static_cast<unsigned>(number(text.substr(8, 2)))}};
    auto local = local_time(date, text.substr(11));
    local.time += fraction;
    return in_zone(local, east);
}

/// Parses a number since 1970; its size says its unit.
time_reading read_epoch_time(std::string_view text) noexcept {
    const auto fraction = take_fraction(text);
    std::int64_t count = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (ec != std::errc{} || end != text.data() + text.size())
        return {{}, "the time is not of a known form"};
    if (count < least_ms)
        return checked(colimit::time_point{seconds{count} + fraction});
    if (count < 1000 * least_ms)
        return checked(colimit::time_point{milliseconds{count} + fraction / 1000});
    if (count < 1'000'000 * least_ms)
        return checked(colimit::time_point{microseconds{count}});
    return checked(colimit::time_point{duration_cast<microseconds>(nanoseconds{count})});
}

/// Parses `1.43185710325e9`, as some programs write all large numbers.
time_reading read_scientific_time(std::string_view text) noexcept {
    auto value = 0.0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    std::array<char, 64> digits{};
    if (ec != std::errc{} || end != text.data() + text.size() || value >= 1e19)
        return {{}, "the time is not of a known form"};
    const auto [last, problem] = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                               std::chars_format::fixed, 6);
    return read_epoch_time({digits.data(), last});
}

} // namespace

time_reading read_log_time(std::string_view text) noexcept {
    if (!has_shape(text, log_pattern))
        return {{}, "the time is not of the form [dd/Mon/yyyy:hh:mm:ss +hhmm]"};
    const year_month_day date{year{number(text.substr(7, 4))},
                              month{month_number(text.substr(3, 3))},
                              day{static_cast<unsigned>(number(text.substr(0, 2)))}};
    return in_zone(local_time(date, text.substr(12, 8)),
                   offset(text[21], text.substr(22, 2), text.substr(24, 2)));
}

time_reading read_any_time(std::string_view text) noexcept {
    if (has_shape(text, log_pattern))
        return read_log_time(text);
    const auto is_number = !text.empty() && is_digit(text[0]) &&
                           text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
    if (is_number && text.find_first_of("eE") != std::string_view::npos)
        return read_scientific_time(text);
    const auto is_plain = is_number && text.find_first_of("+-") == std::string_view::npos;
    return is_plain ? read_epoch_time(text) : read_iso_time(text);
}

} // namespace tool::replay
