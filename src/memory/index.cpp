// SPDX-License-Identifier: BSL-1.0
//
// Entries come and go.

#include <memory/index.hpp>

#include <boost/assert.hpp>

#include <algorithm>

namespace colimit::memory {

void index::insert(const hash::digest& id, std::uint32_t cell) noexcept {
    BOOST_ASSERT(cell < cell_mask_);
    BOOST_ASSERT(find(id, [cell](std::uint32_t other) { return other == cell; }) == no_cell);
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
        BOOST_ASSERT(b.passed != 0);
        --b.passed;
    }
}

} // namespace colimit::memory
