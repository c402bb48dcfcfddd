// SPDX-License-Identifier: BSL-1.0
//
// Parses rules in text form: from left to right, once, without recursion. Errors have the position,
// the text found there and the expected one.

#include <colimit/limits.hpp>
#include <colimit/rule_text.hpp>
#include <core/algorithms.hpp>
#include <core/compiled_policy.hpp>
#include <rule_text/cursor.hpp>
#include <rule_text/times.hpp>

#include <optional>
#include <ranges>
#include <string>

namespace colimit {
namespace {

using text::cursor;
using text::is_word_character;
using text::same_word;

/// The words after the period, each once and in any order.
struct refinements {
    std::optional<algorithm> kind;
    std::optional<std::chrono::minutes> utc_offset;
    std::size_t utc_at = 0;
    std::optional<std::int64_t> capacity;
    std::optional<refill> how;
    std::optional<std::int64_t> initial;
    std::optional<bool> from_first;
    std::optional<bool> count_denied;
    std::optional<bool> shadow;
    std::optional<std::string_view> name;
};

[[nodiscard]] std::string_view read_name(cursor& text) {
    const std::string expected = "a name of 1 to 64 characters of [A-Za-z0-9_.-]";
    const auto start = text.at();
    const auto name = text.take_all(core::is_name_character);
    if (name.empty() || (!text.at_end() && !text.at_blank() && !text.at(';')))
        text.unexpected(start, expected);
    if (name.size() > limits::max_name_length)
        text.refuse(start, "expected " + expected + ", found " + std::to_string(name.size()) +
                               " characters");
    return name;
}

[[nodiscard]] algorithm read_algorithm(const cursor& text, std::size_t start,
                                       std::string_view word) {
    for (const auto& known : core::algorithms)
        if (same_word(word, known.name))
            return known.algorithm;
    const auto names = core::algorithms | std::views::transform(&core::algorithm_traits::name);
    text.unexpected(start, "an algorithm (" + text::listed(names) +
                               "), utc, burst, stepwise, aligned, initially, from_first, "
                               "count_denied, shadow, named or ';'");
}

/// Parses a refinement and its arguments.
class refinement_reader {
  public:
    refinement_reader(cursor& text, refinements& r) noexcept
        : text_(text), start_(text.at()), word_(text.take_all(is_word_character)), r_(r) {}

    void read() {
        if (is("utc"))
            read_utc();
        else if (is("burst"))
            set_once(r_.capacity, amount("a capacity, a whole number"), "burst");
        else if (is("stepwise"))
            set_once(r_.how, refill::stepwise, "stepwise or aligned");
        else if (is("aligned"))
            set_once(r_.how, refill::aligned, "stepwise or aligned");
        else if (is("initially"))
            set_once(r_.initial, amount("a number of tokens, a whole number"), "initially");
        else if (is("from_first"))
            set_once(r_.from_first, true, "from_first");
        else if (is("count_denied"))
            set_once(r_.count_denied, true, "count_denied");
        else if (is("shadow"))
            set_once(r_.shadow, true, "shadow");
        else if (is("named"))
            set_once(r_.name, name(), "the name");
        else
            set_once(r_.kind, read_algorithm(text_, start_, word_), "the algorithm");
    }

  private:
    [[nodiscard]] bool is(std::string_view known) const noexcept { return same_word(word_, known); }

    [[nodiscard]] std::int64_t amount(const std::string& expected) {
        text_.skip_blanks();
        return text::read_amount(text_, expected);
    }

    [[nodiscard]] std::string_view name() {
        text_.skip_blanks();
        return read_name(text_);
    }

    void read_utc() {
        set_once(r_.utc_offset, text::read_utc_offset(text_, start_), "utc");
        r_.utc_at = start_;
    }

    template<class Value>
    void set_once(std::optional<Value>& member, Value value, std::string_view what) const {
        if (member)
            text_.refuse(start_, std::string{what} + " is given twice");
        member = value;
    }

    cursor& text_;
    std::size_t start_;
    std::string_view word_;
    refinements& r_;
};

/// Returns the algorithm, which a period and utc also determine; they must not contradict it.
[[nodiscard]] algorithm algorithm_of(const cursor& text, const text::period& period,
                                     const refinements& r) {
    const auto calendar = r.utc_offset || !period.us;
    const auto kind = r.kind.value_or(calendar ? algorithm::calendar : algorithm::gcra);
    const std::string word{to_string(kind)};
    if (core::traits_of(kind).has(core::feature::calendar)) {
        if (!period.unit)
            text.refuse(period.at, "a calendar rule is per day, week, month or year");
        return kind;
    }
    if (!period.us)
        text.refuse(period.at, "a " + std::string{to_string(*period.unit)} +
                                   " is for calendar rules; " + word +
                                   " needs a period such as 7d");
    if (r.utc_offset)
        text.refuse(r.utc_at, "utc is for calendar rules, not for " + word);
    return kind;
}

/// Returns the rule of a count with a fraction, 0.5 per second, as one of whole numbers, 1 per two
/// seconds. Its burst is the count, rounded up.
[[nodiscard]] rule make_fractional(const cursor& text, const text::rule_count& count,
                                   algorithm kind, std::int64_t period, bool is_continuous) {
    if (!is_bucket(kind) || !is_continuous)
        text.refuse(count.at, "a fraction is for buckets that are refilled continuously; " +
                                  std::string{to_string(kind)} + " needs a whole number" +
                                  (is_bucket(kind) ? " with stepwise or aligned" : ""));
    if (period > limits::max_recovery.count() / count.denominator)
        text.refuse(count.at,
                    "the fraction cannot be counted exactly: " + std::to_string(count.numerator) +
                        " per " + std::to_string(count.denominator) +
                        " periods take longer than 100 years");
    return {kind, count.numerator, period * count.denominator, count.rounded_up()};
}

[[nodiscard]] rule make_rule(const cursor& text, const text::rule_count& count,
                             const text::period& period, const refinements& r) {
    const auto kind = algorithm_of(text, period, r);
    const auto whole = count.numerator;
    auto made = count.denominator != 1
                    ? make_fractional(text, count, kind, period.us.value_or(0), !r.how)
                : kind == algorithm::calendar
                    ? calendar(whole, *period.unit, r.utc_offset.value_or(std::chrono::minutes{0}))
                    : rule{kind, whole, *period.us, whole};
    if (r.capacity)
        made = made.burst(*r.capacity);
    if (r.how)
        made = *r.how == refill::stepwise ? made.stepwise() : made.aligned();
    if (r.initial)
        made = made.initially(*r.initial);
    if (r.from_first)
        made = made.from_first();
    if (r.count_denied)
        made = made.count_denied();
    if (r.name)
        made = made.named(*r.name);
    return made.shadow(r.shadow.value_or(false));
}

[[nodiscard]] rule read_rule(cursor& text) {
    const auto count = text::read_rule_count(text);
    text.skip_blanks();
    if (const auto start = text.at();
        !text.take('/') && !same_word(text.take_all(is_word_character), "per"))
        text.unexpected(start, "'/' or 'per'");
    text.skip_blanks();
    const auto period = text::read_period(text);
    auto refined = refinements{};
    for (text.skip_blanks(); !text.at_end() && !text.at(';'); text.skip_blanks())
        refinement_reader{text, refined}.read();
    return make_rule(text, count, period, refined);
}

} // namespace

std::vector<rule> parse_rules(std::string_view text) {
    auto rest = cursor{"rule text", text};
    if (text.size() > limits::max_rule_text_bytes)
        rest.refuse(limits::max_rule_text_bytes,
                    "text too long (got " + std::to_string(text.size()) +
                        " characters, expected at most " +
                        std::to_string(limits::max_rule_text_bytes) + ")");
    std::vector<rule> rules;
    rest.skip_blanks();
    do {
        if (rules.size() == limits::max_rules_per_policy)
            rest.refuse(rest.at(), "too many rules (at most 8)");
        rules.push_back(read_rule(rest));
        (void)rest.take(';');
        rest.skip_blanks();
    } while (!rest.at_end());
    return rules;
}

} // namespace colimit
