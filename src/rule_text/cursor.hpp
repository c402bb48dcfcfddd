// SPDX-License-Identifier: BSL-1.0
//
// A text and the current position, which only moves to the right. Errors have the position, the
// text found there and the expected one.

#pragma once

#include <base/bytes.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::text {

using detail::is_digit;
using detail::lower;

[[nodiscard]] constexpr bool is_word_character(char c) noexcept {
    return (lower(c) >= 'a' && lower(c) <= 'z') || is_digit(c) || c == '_';
}

[[nodiscard]] constexpr bool is_blank(char c) noexcept {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// Compares without regard to case; `known` is in lower case.
[[nodiscard]] inline bool same_word(std::string_view word, std::string_view known) noexcept {
    BOOST_ASSERT(std::ranges::equal(known, known, {}, lower));
    return std::ranges::equal(word, known, {}, lower);
}

[[nodiscard]] inline bool same_word_or_plural(std::string_view word,
                                              std::string_view known) noexcept {
    return same_word(word, known) || (!word.empty() && lower(word.back()) == 's' &&
                                      same_word(word.substr(0, word.size() - 1), known));
}

/// Returns a list such as `gcra, cell, token_bucket`.
template<class Names>
[[nodiscard]] std::string listed(const Names& names) {
    std::string out;
    for (const auto name : names)
        out.append(out.empty() ? "" : ", ").append(name);
    return out;
}

/// Returns the bytes in a form that is safe in messages: in quotes, truncated after 24, printable
/// ASCII only.
[[nodiscard]] std::string quoted(std::string_view bytes);

class cursor {
  public:
    /// @param what the kind of text, for messages: `rule text`
    cursor(std::string_view what, std::string_view text) noexcept : what_(what), text_(text) {}

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
        const auto there = at(c);
        at_ += there ? 1 : 0;
        return there;
    }

    template<class Predicate>
    [[nodiscard]] std::string_view take_all(Predicate is_one) noexcept {
        const auto rest = text_.substr(at_);
        const auto end = std::ranges::find_if_not(rest, is_one);
        const auto taken = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
        at_ += taken.size();
        return taken;
    }

    /// Throws errc::invalid_policy.
    [[noreturn]] void refuse(std::size_t from, const std::string& reason) const;
    /// Throws an error about the text at `from`, up to a blank or a separator.
    [[noreturn]] void unexpected(std::size_t from, const std::string& expected) const;

  private:
    std::string_view what_;
    std::string_view text_;
    std::size_t at_ = 0;
};

/// Parses a number at the current position, without sign, fraction or separators.
[[nodiscard]] std::int64_t read_number(cursor& text, const std::string& expected);

/// Parses a number that ends with a blank or separator: `10named` is not a valid number.
[[nodiscard]] std::int64_t read_amount(cursor& text, const std::string& expected);

/// The count of a rule: a reduced fraction, such as 1/2 for `0.5`.
struct rule_count {
    std::size_t at; ///< its position
    std::int64_t numerator;
    std::int64_t denominator = 1;

    [[nodiscard]] std::int64_t rounded_up() const noexcept {
        return numerator / denominator + (numerator % denominator != 0 ? 1 : 0);
    }
};

/// Parses a whole number, or one with a decimal fraction.
[[nodiscard]] rule_count read_rule_count(cursor& text);

} // namespace colimit::text
