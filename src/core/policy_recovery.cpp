// SPDX-License-Identifier: BSL-1.0
//
// For how long, and how much of it, what a plan's rules store matters.

#include <core/compiled_policy.hpp>
#include <core/rule_kind.hpp>

#include <algorithm>

namespace colimit::core {

std::int64_t log_period(const compiled_policy& rules) noexcept {
    auto longest = std::int64_t{0};
    for (const auto& l : rules.rules())
        if (is_log(l))
            longest = std::max(longest, l.period);
    return longest;
}

std::int64_t log_capacity(const compiled_policy& rules) noexcept {
    auto largest = std::int64_t{0};
    for (const auto& l : rules.rules())
        if (is_log(l))
            largest = std::max(largest, l.capacity);
    return 2 * largest + 16;
}

} // namespace colimit::core
