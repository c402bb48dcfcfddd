// SPDX-License-Identifier: BSL-1.0
//
// Parses from left to right, and stops at the quote that begins the request.

#include "replay/access_log.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace replay {

namespace {

using namespace std::chrono;

/// Longer than any host name that DNS allows.
constexpr std::size_t longest_client = 255;

constexpr std::string_view time_pattern = "dd/Mon/yyyy:hh:mm:ss +hhmm";

struct time_reading {
    sys_seconds time;
    std::string_view problem;
};

bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

/// Returns whether a character is part of addresses and host names: letters, digits, and as in
/// `fe80::1%eth0`, `a-b.example`.
bool is_client_character(char c) noexcept {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view{".:-_%"}.find(c) != std::string_view::npos;
}

std::string_view client_problem(std::string_view client) noexcept {
    if (client.empty())
        return "does not start with a client address";
    if (client.size() > longest_client)
        return "the client address is longer than 255 characters";
    if (!std::ranges::all_of(client, is_client_character))
        return "does not start with an address or a host name";
    // Otherwise all clients of a virtual host would be one client.
    const auto port = client.find(':') + 1;
    if (port != 0 && port != client.size() && std::ranges::all_of(client.substr(port), is_digit))
        return "starts with HOST:PORT, where the address of the client should be";
    return {};
}

/// Returns whether the text has digits, letters and separators where the pattern has them.
bool has_time_shape(std::string_view text) noexcept {
    const auto matches = [](char c, char p) {
        if (p == '+')
            return c == '+' || c == '-';
        if (p == 'M' || p == 'o' || p == 'n')
            return true; // the month's name is looked up later
        return p >= 'a' && p <= 'z' ? is_digit(c) : c == p;
    };
    return std::ranges::equal(text, time_pattern, matches);
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

time_reading read_time(std::string_view text) noexcept {
    if (!has_time_shape(text))
        return {{}, "the time is not of the form [dd/Mon/yyyy:hh:mm:ss +hhmm]"};
    const year_month_day date{year{number(text.substr(7, 4))},
                              month{month_number(text.substr(3, 3))},
                              day{static_cast<unsigned>(number(text.substr(0, 2)))}};
    if (!date.ok())
        return {{}, "there is no such day"};
    const auto hour = number(text.substr(12, 2));
    const auto minute = number(text.substr(15, 2));
    const auto second = number(text.substr(18, 2));
    if (hour > 23 || minute > 59 || second > 60) // 60: a leap second
        return {{}, "there is no such time of day"};
    const auto zone_hour = number(text.substr(22, 2));
    const auto zone_minute = number(text.substr(24, 2));
    if (zone_hour > 14 || zone_minute > 59)
        return {{}, "there is no such time zone"};

    const auto local = sys_days{date} + hours{hour} + minutes{minute} + seconds{second};
    const auto east = hours{zone_hour} + minutes{zone_minute};
    const auto time = text[21] == '+' ? local - east : local + east;
    // The range of a limiter's clock.
    if (time < sys_days{year{1970} / 1 / 1} || time >= sys_days{year{2112} / 1 / 1})
        return {{}, "the year is not between 1970 and 2111"};
    return {time, {}};
}

} // namespace

log_reading read_log_line(std::string_view text) noexcept {
    const auto space = text.find(' ');
    const auto client = text.substr(0, space);
    if (const auto problem = client_problem(client); !problem.empty())
        return {{}, problem};

    // A user name may contain anything except an unescaped quote, even a time in brackets; so the
    // time is the one before the quote.
    constexpr std::string_view end = "] \"";
    constexpr auto length = time_pattern.size();
    for (auto at = text.find(" [", space); at != std::string_view::npos;
         at = text.find(" [", at + 1)) {
        const auto rest = text.substr(at + 2);
        if (rest.size() < length || rest.substr(length, end.size()) != end)
            continue;
        const auto [time, problem] = read_time(rest.substr(0, length));
        if (!problem.empty())
            return {{}, problem};
        return {log_line{client, time}, {}};
    }
    return {{}, "has no [dd/Mon/yyyy:hh:mm:ss +hhmm] in front of a quoted request"};
}

} // namespace replay
