// SPDX-License-Identifier: BSL-1.0
//
// The names of the algorithms in rule texts and JSON.

#ifndef COLIMIT_RULE_TEXT_WORDS_HPP
#define COLIMIT_RULE_TEXT_WORDS_HPP

#include <core/algorithms.hpp>
#include <rule_text/cursor.hpp>

#include <optional>
#include <ranges>
#include <string>
#include <string_view>

namespace colimit::text {

[[nodiscard]] inline std::optional<algorithm> algorithm_of(std::string_view word) noexcept {
    for (const auto& known : core::algorithms)
        if (same_word(word, known.name))
            return known.algorithm;
    return std::nullopt;
}

[[nodiscard]] inline std::string listed_algorithms() {
    return listed(core::algorithms | std::views::transform(&core::algorithm_traits::name));
}

} // namespace colimit::text

#endif
