// SPDX-License-Identifier: BSL-1.0
//
// Entries come and go.

#include <memory/index.hpp>

#include <algorithm>

namespace colimit::memory {

void index::insert(const hash::digest& id, std::uint32_t cell) noexcept {
    for (auto place = home(id);; place = next(place)) {
        auto& b = buckets_[place];
        const auto free = std::ranges::find(b.entries, 0U);
        if (free != b.entries.end()) {
            *free = mark(id) | (cell + 1);
            return;
        }
        ++b.passed;
    }
}

void index::erase(const hash::digest& id, std::uint32_t cell) noexcept {
    for (auto place = home(id);; place = next(place)) {
        auto& b = buckets_[place];
        const auto found = std::ranges::find(b.entries, mark(id) | (cell + 1));
        if (found != b.entries.end()) {
            const auto last = std::ranges::find(found, b.entries.end(), 0U) - 1;
            *found = *last;
            *last = 0;
            return;
        }
        --b.passed;
    }
}

} // namespace colimit::memory
