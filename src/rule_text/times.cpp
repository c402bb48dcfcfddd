// SPDX-License-Identifier: BSL-1.0
//
// Parses and formats periods, durations and offsets from UTC.

#include <rule_text/times.hpp>

#include <array>
#include <limits>
#include <ranges>

namespace colimit::text {
namespace {

/// duration_text writes the first name; all of them are read.
struct time_unit {
    std::string_view name;
    /// Longer names; each may end with an `s`.
    std::string_view abbreviation;
    std::string_view word;
    std::int64_t microseconds;
};

/// From the longest to the shortest, so that the first one that fits gives the shortest text.
constexpr std::array<time_unit, 6> time_units{{{"d", "day", "day", 86'400'000'000},
                                               {"h", "hr", "hour", 3'600'000'000},
                                               {"m", "min", "minute", 60'000'000},
                                               {"s", "sec", "second", 1'000'000},
                                               {"ms", "msec", "millisecond", 1'000},
                                               {"us", "usec", "microsecond", 1}}};

/// A day is a unit of time: `5/day` alone is not a calendar rule.
constexpr std::array calendar_units{calendar_unit::week, calendar_unit::month, calendar_unit::year};
constexpr std::int64_t one_day = time_units[0].microseconds;

[[nodiscard]] std::string listed_units() {
    return listed(time_units | std::views::reverse | std::views::transform(&time_unit::name));
}

[[nodiscard]] std::optional<std::int64_t> time_unit_of(std::string_view word) noexcept {
    for (const auto& unit : time_units)
        if (same_word(word, unit.name) || same_word_or_plural(word, unit.abbreviation) ||
            same_word_or_plural(word, unit.word))
            return unit.microseconds;
    return std::nullopt;
}

[[nodiscard]] std::optional<calendar_unit> calendar_unit_of(std::string_view word) noexcept {
    for (const auto unit : calendar_units)
        if (same_word_or_plural(word, colimit::to_string(unit)))
            return unit;
    return std::nullopt;
}

/// The parts of `10 seconds`; without a number the count is 1.
struct count_of_units {
    std::size_t at;
    std::int64_t n;
    std::size_t word_at;
    std::string_view word;
};

[[nodiscard]] count_of_units read_count(cursor& text) {
    const auto start = text.at();
    const auto n = text.at_digit() ? read_number(text, "a number") : 1;
    text.skip_blanks();
    const auto word_at = text.at();
    return {start, n, word_at, text.take_all(is_word_character)};
}

[[nodiscard]] std::int64_t scaled(const cursor& text, const count_of_units& read,
                                  std::int64_t unit) {
    if (read.n > std::numeric_limits<std::int64_t>::max() / unit)
        text.refuse(read.at, "the period does not fit in 64 bits of microseconds");
    return read.n * unit;
}

constexpr auto offset_expected = "an offset such as utc, utc+8 or utc-05:30";

/// Two digits at most, enough for any offset; the policy checks the range.
[[nodiscard]] std::int64_t read_two_digits(cursor& text, std::size_t start, std::size_t at_least) {
    const auto digits = text.take_all(is_digit);
    if (digits.size() < at_least || digits.size() > 2)
        text.unexpected(start, offset_expected);
    auto value = std::int64_t{0};
    for (const auto c : digits)
        value = value * 10 + (c - '0');
    return value;
}

} // namespace

period read_period(cursor& text) {
    const auto read = read_count(text);
    if (const auto unit = time_unit_of(read.word)) {
        const auto us = scaled(text, read, *unit);
        return {read.at, us, us == one_day ? std::optional{calendar_unit::day} : std::nullopt};
    }
    const auto calendar = calendar_unit_of(read.word);
    if (!calendar)
        text.unexpected(read.word_at, "a unit of time (" + listed_units() + ", week, month, year)");
    if (read.n != 1)
        text.refuse(read.at, "a calendar rule counts in single weeks, months or years, not in " +
                                 std::to_string(read.n) + " of them");
    return {read.at, std::nullopt, calendar};
}

std::chrono::minutes read_utc_offset(cursor& text, std::size_t start) {
    const auto is_ahead = text.take('+');
    auto offset = std::int64_t{0};
    if (is_ahead || text.take('-')) {
        offset = read_two_digits(text, start, 1) * 60;
        if (text.take(':')) {
            const auto minutes = read_two_digits(text, start, 2);
            if (minutes >= 60)
                text.unexpected(start, offset_expected);
            offset += minutes;
        }
    }
    if (!text.at_end() && !text.at_blank() && !text.at(';'))
        text.unexpected(start, offset_expected);
    return std::chrono::minutes{is_ahead ? offset : -offset};
}

std::int64_t parse_duration(std::string_view text) {
    auto rest = cursor{"duration", text};
    const auto read = read_count(rest);
    const auto unit = time_unit_of(read.word);
    if (!unit)
        rest.unexpected(read.word_at, "a unit of time (" + listed_units() + ")");
    const auto us = scaled(rest, read, *unit);
    if (!rest.at_end())
        rest.unexpected(rest.at(), "the end");
    return us;
}

std::chrono::minutes parse_utc_offset(std::string_view text) {
    auto rest = cursor{"offset", text};
    const auto word = rest.take_all(is_word_character);
    if (!same_word(word, "utc") && !(word.empty() && (rest.at('+') || rest.at('-'))))
        rest.unexpected(0, "an offset such as +05:30, -3 or utc");
    const auto offset = read_utc_offset(rest, 0);
    if (!rest.at_end())
        rest.unexpected(rest.at(), "the end");
    return offset;
}

std::string duration_text(std::int64_t us) {
    for (const auto& unit : time_units)
        if (us % unit.microseconds == 0)
            return std::to_string(us / unit.microseconds) + std::string{unit.name};
    return {};
}

std::string utc_offset_text(std::chrono::minutes offset) {
    const auto minutes = offset.count();
    if (minutes == 0)
        return "utc";
    // Correct also for the smallest integer, whose negation overflows.
    const auto hours = minutes / 60 < 0 ? -(minutes / 60) : minutes / 60;
    const auto rest = minutes % 60 < 0 ? -(minutes % 60) : minutes % 60;
    auto text = (minutes < 0 ? "utc-" : "utc+") + std::to_string(hours);
    if (rest != 0)
        text += (rest < 10 ? ":0" : ":") + std::to_string(rest);
    return text;
}

} // namespace colimit::text
