// SPDX-License-Identifier: BSL-1.0
//
// Numbers of sorted sets, as commands have them.

#pragma once

#include <base/bytes.hpp>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::server_module {

/// Limits a number: a sorted set of another program may have any scores.
[[nodiscard]] inline std::int64_t whole(double number, std::int64_t most) noexcept {
    if (number >= 0 && number <= static_cast<double>(most))
        return static_cast<std::int64_t>(std::floor(number));
    return number > 0 ? most : 0;
}

[[nodiscard]] inline double score_in(std::string_view text) noexcept {
    auto score = 0.0;
    std::from_chars(text.data(), text.data() + text.size(), score);
    return score;
}

/// Returns a bound of a range that excludes the time.
[[nodiscard]] inline std::string after(std::int64_t time) {
    return std::string{"("}.append(detail::decimal{time});
}

} // namespace colimit::server_module
