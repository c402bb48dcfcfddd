// SPDX-License-Identifier: BSL-1.0
//
// Reads rules as people write them: from left to right, once, without recursion. Whatever it
// refuses, it says at which character, what stands there and what may stand there.

#include <colimit/error.hpp>
#include <colimit/limits.hpp>
#include <colimit/text.hpp>
#include <core/plan.hpp>
#include <time_units.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <ranges>
#include <string>

namespace colimit {
namespace {

constexpr std::array algorithms{algorithm::gcra, algorithm::cell, algorithm::token_bucket,
                                algorithm::leaky_bucket};

/// What other versions have, so that a text of theirs gets a clear answer.
constexpr std::array<std::string_view, 5> foreign_algorithms{"fixed_window", "sliding_window",
                                                             "sliding_log", "distinct", "calendar"};
constexpr std::array<std::string_view, 3> calendar_units{"week", "month", "year"};

/// As much of a strange text as a message shows.
constexpr std::size_t shown_bytes = 24;

[[nodiscard]] constexpr bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

[[nodiscard]] constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] constexpr bool is_word_character(char c) noexcept {
    return (lower(c) >= 'a' && lower(c) <= 'z') || is_digit(c) || c == '_';
}

[[nodiscard]] constexpr bool is_blank(char c) noexcept {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// `known` is in lower case.
[[nodiscard]] bool same_word(std::string_view word, std::string_view known) noexcept {
    return std::ranges::equal(word, known, {}, lower);
}

[[nodiscard]] bool same_word_or_plural(std::string_view word, std::string_view known) noexcept {
    return same_word(word, known) || (!word.empty() && lower(word.back()) == 's' &&
                                      same_word(word.substr(0, word.size() - 1), known));
}

/// The user's bytes as a message can hold them: no quotes, control characters or broken UTF-8.
[[nodiscard]] std::string quoted(std::string_view bytes) {
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

template<class Names>
[[nodiscard]] std::string listed(const Names& names) {
    std::string out;
    for (const auto name : names)
        out.append(out.empty() ? "" : ", ").append(name);
    return out;
}

[[nodiscard]] std::string listed_units() {
    return listed(time_units | std::views::reverse | std::views::transform(&time_unit::name));
}

[[nodiscard]] std::string listed_algorithms() {
    return listed(algorithms |
                  std::views::transform([](algorithm a) { return colimit::to_string(a); }));
}

[[noreturn]] void refuse(std::size_t at, const std::string& reason) {
    throw error{errc::invalid_policy,
                "rule text, character " + std::to_string(at + 1) + ": " + reason};
}

/// The text and how far it has been read.
class cursor {
  public:
    explicit cursor(std::string_view text) noexcept : text_(text) {}

    [[nodiscard]] std::size_t at() const noexcept { return at_; }
    [[nodiscard]] bool at_end() const noexcept { return at_ == text_.size(); }
    [[nodiscard]] bool at_digit() const noexcept { return !at_end() && is_digit(text_[at_]); }
    [[nodiscard]] bool at_blank() const noexcept { return !at_end() && is_blank(text_[at_]); }
    [[nodiscard]] bool at(char c) const noexcept { return !at_end() && text_[at_] == c; }

    void skip_blanks() noexcept {
        while (at_blank())
            ++at_;
    }

    [[nodiscard]] bool take(char c) noexcept {
        const auto found = at(c);
        at_ += found ? 1 : 0;
        return found;
    }

    /// Takes the characters of one kind that stand here; perhaps none.
    template<class Kind>
    [[nodiscard]] std::string_view take_all(Kind is_one) noexcept {
        const auto rest = text_.substr(at_);
        const auto end = std::ranges::find_if_not(rest, is_one);
        const auto taken = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
        at_ += taken.size();
        return taken;
    }

    /// Refuses what stands at `from`: all of it up to a blank or a separator.
    [[noreturn]] void unexpected(std::size_t from, const std::string& expected) const {
        const auto rest = text_.substr(from);
        const auto end =
            std::ranges::find_if(rest, [](char c) { return is_blank(c) || c == '/' || c == ';'; });
        const auto size = std::max(std::size_t{1}, static_cast<std::size_t>(end - rest.begin()));
        refuse(from, "expected " + expected + ", found " +
                         (rest.empty() ? "the end" : quoted(rest.substr(0, size))));
    }

  private:
    std::string_view text_;
    std::size_t at_ = 0;
};

/// A number that stands here, without sign, fraction or separators.
[[nodiscard]] std::int64_t read_number(cursor& text, const std::string& what) {
    const auto start = text.at();
    const auto digits = text.take_all(is_digit);
    if (digits.empty())
        text.unexpected(start, what);
    auto value = std::int64_t{0};
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failed != std::errc{})
        refuse(start, "the number is larger than " +
                          std::to_string(std::numeric_limits<std::int64_t>::max()));
    return value;
}

/// A number that nothing is glued to: `10named` is no number.
[[nodiscard]] std::int64_t read_amount(cursor& text, const std::string& what) {
    const auto start = text.at();
    const auto value = read_number(text, what);
    if (!text.at_end() && !text.at_blank() && !text.at('/') && !text.at(';'))
        text.unexpected(start, what);
    return value;
}

[[nodiscard]] std::int64_t read_unit(cursor& text) {
    const auto start = text.at();
    const auto word = text.take_all(is_word_character);
    for (const auto& unit : time_units)
        if (same_word(word, unit.name) || same_word_or_plural(word, unit.abbreviation) ||
            same_word_or_plural(word, unit.word))
            return unit.microseconds;
    for (const auto unit : calendar_units)
        if (same_word_or_plural(word, unit))
            refuse(start, "this version has no calendar rules such as per " + std::string{unit} +
                              "; the units of time are " + listed_units());
    text.unexpected(start, "a unit of time (" + listed_units() + ")");
}

/// `s`, `10s`, `10 seconds`; in microseconds.
[[nodiscard]] std::int64_t read_period(cursor& text) {
    const auto start = text.at();
    const auto n = text.at_digit() ? read_number(text, "a number") : 1;
    text.skip_blanks();
    const auto unit = read_unit(text);
    if (n > std::numeric_limits<std::int64_t>::max() / unit)
        refuse(start, "the period is longer than 64 bits of microseconds can say");
    return n * unit;
}

/// The words after the period, each once and in any order.
struct refinements {
    std::optional<algorithm> kind;
    std::optional<std::int64_t> capacity;
    std::optional<std::string_view> name;
    std::optional<bool> shadow;
};

template<class Value>
void set_once(std::optional<Value>& member, Value value, std::size_t at, std::string_view what) {
    if (member)
        refuse(at, std::string{what} + " is given twice");
    member = value;
}

[[nodiscard]] std::string_view read_name(cursor& text) {
    const std::string expected = "a name of 1 to 64 characters of [A-Za-z0-9_.-]";
    const auto start = text.at();
    const auto name = text.take_all(core::is_name_character);
    if (name.empty() || (!text.at_end() && !text.at_blank() && !text.at(';')))
        text.unexpected(start, expected);
    if (name.size() > limits::name_length)
        refuse(start,
               "expected " + expected + ", found " + std::to_string(name.size()) + " characters");
    return name;
}

[[nodiscard]] algorithm read_algorithm(const cursor& text, std::size_t start,
                                       std::string_view word) {
    for (const auto kind : algorithms)
        if (same_word(word, colimit::to_string(kind)))
            return kind;
    for (const auto name : foreign_algorithms)
        if (same_word(word, name))
            refuse(start, "this version has no " + std::string{name} +
                              " rules; the algorithms are " + listed_algorithms());
    if (same_word(word.substr(0, 3), "utc"))
        refuse(start, "this version has no calendar rules, which utc belongs to");
    text.unexpected(start,
                    "burst, named, shadow, an algorithm (" + listed_algorithms() + ") or ';'");
}

void read_refinement(cursor& text, refinements& r) {
    const auto start = text.at();
    const auto word = text.take_all(is_word_character);
    if (same_word(word, "burst")) {
        text.skip_blanks();
        const auto capacity = read_amount(text, "a capacity, a whole number");
        set_once(r.capacity, capacity, start, "burst");
    } else if (same_word(word, "named")) {
        text.skip_blanks();
        set_once(r.name, read_name(text), start, "the name");
    } else if (same_word(word, "shadow")) {
        set_once(r.shadow, true, start, "shadow");
    } else {
        set_once(r.kind, read_algorithm(text, start, word), start, "the algorithm");
    }
}

[[nodiscard]] rule read_rule(cursor& text) {
    const auto count = read_amount(text, "a count, a whole number");
    text.skip_blanks();
    if (const auto start = text.at();
        !text.take('/') && !same_word(text.take_all(is_word_character), "per"))
        text.unexpected(start, "'/' or 'per'");
    text.skip_blanks();
    const auto period = read_period(text);
    auto refined = refinements{};
    for (text.skip_blanks(); !text.at_end() && !text.at(';'); text.skip_blanks())
        read_refinement(text, refined);

    auto r = rule{refined.kind.value_or(algorithm::gcra), count, period,
                  refined.capacity.value_or(count)};
    if (refined.name)
        r = r.named(*refined.name);
    return r.shadow(refined.shadow.value_or(false));
}

} // namespace

std::vector<rule> parse_rules(std::string_view text) {
    if (text.size() > limits::rule_text_bytes)
        refuse(limits::rule_text_bytes,
               "the text is too long: " + std::to_string(limits::rule_text_bytes) +
                   " characters are allowed, it has " + std::to_string(text.size()));
    auto rest = cursor{text};
    std::vector<rule> rules;
    rest.skip_blanks();
    do {
        if (rules.size() == limits::rules_per_policy)
            refuse(rest.at(), "a ninth rule; a policy has at most 8");
        rules.push_back(read_rule(rest));
        (void)rest.take(';');
        rest.skip_blanks();
    } while (!rest.at_end());
    return rules;
}

} // namespace colimit
