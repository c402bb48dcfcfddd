// SPDX-License-Identifier: BSL-1.0
//
// The names of the algorithms in rule texts and JSON.

#ifndef COLIMIT_RULE_TEXT_WORDS_HPP
#define COLIMIT_RULE_TEXT_WORDS_HPP

#include <colimit/rule.hpp>
#include <rule_text/cursor.hpp>

#include <array>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>

namespace colimit::text {

inline constexpr std::array algorithms{
    algorithm::gcra,           algorithm::cell,         algorithm::token_bucket,
    algorithm::leaky_bucket,   algorithm::fixed_window, algorithm::calendar,
    algorithm::sliding_window, algorithm::sliding_log,  algorithm::distinct};

[[nodiscard]] inline std::optional<algorithm> algorithm_of(std::string_view word) noexcept {
    for (const auto kind : algorithms)
        if (same_word(word, colimit::to_string(kind)))
            return kind;
    return std::nullopt;
}

[[nodiscard]] inline std::string listed_algorithms() {
    return listed(algorithms |
                  std::views::transform([](algorithm a) { return colimit::to_string(a); }));
}

} // namespace colimit::text

#endif
