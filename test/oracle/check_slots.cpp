// SPDX-License-Identifier: BSL-1.0
//
// Slots: at each grant, how many believe to have a slot.

#include "checker.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace colimit::oracle {

/// A holder that stops to believe at the time of a grant makes room for it.
std::int64_t crowded_grants(std::int64_t places, const std::vector<holding>& all) {
    auto changes = std::vector<std::pair<std::int64_t, int>>{};
    for (const auto& h : all)
        if (h.believed > h.granted) {
            changes.emplace_back(h.granted, 1);
            changes.emplace_back(h.believed, -1);
        }
    std::ranges::sort(changes);
    auto holders = std::int64_t{0};
    auto found = std::int64_t{0};
    for (const auto& [time, change] : changes) {
        holders += change;
        found += change > 0 && holders > places ? 1 : 0;
    }
    return found;
}

/// Grants of one moment may be in any order.
std::int64_t wrong_tokens(std::vector<holding> all) {
    std::ranges::sort(all, {}, [](const holding& h) { return std::tuple{h.token, h.granted}; });
    auto found = std::int64_t{0};
    auto latest = std::numeric_limits<std::int64_t>::min();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto is_used = i > 0 && all[i].token == all[i - 1].token;
        found += is_used || all[i].granted < latest ? 1 : 0;
        latest = std::max(latest, all[i].granted);
    }
    return found;
}

} // namespace colimit::oracle
