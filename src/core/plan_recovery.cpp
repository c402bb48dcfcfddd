// SPDX-License-Identifier: BSL-1.0
//
// For how long, and how much of it, what a plan's rules store matters.

#include <core/plan.hpp>

#include <algorithm>

namespace colimit::core {

std::int64_t log_period(const plan& rules) noexcept {
    auto longest = std::int64_t{0};
    for (const auto& l : rules.rules())
        if (l.kind == kind::log)
            longest = std::max(longest, l.period);
    return longest;
}

std::int64_t log_capacity(const plan& rules) noexcept {
    auto largest = std::int64_t{0};
    for (const auto& l : rules.rules())
        if (l.kind == kind::log)
            largest = std::max(largest, l.capacity);
    return 2 * largest + 16;
}

std::int64_t full_recovery(const limit& l) noexcept {
    switch (l.kind) {
    case kind::bucket:
        return ((l.full - 1) / l.den + 1) * l.unit;
    case kind::stepwise:
    case kind::aligned:
        return ((l.full - 1) / l.count + 1) * l.period;
    case kind::counter:
        return 2 * l.period * l.unit;
    default:
        return l.period;
    }
}

} // namespace colimit::core
