// SPDX-License-Identifier: BSL-1.0
//
// An id is reported as seen if either generation reports it.

#include <policy/filter_state.hpp>

#include <algorithm>
#include <cmath>

namespace colimit::detail {

filter_status status_of(const core::bloom_shape& shape,
                        const std::array<std::int64_t, 2>& set) noexcept {
    const auto current = core::load_of(shape, set[0]);
    const auto previous = core::load_of(shape, set[1]);
    return {.current = {.fill = current.fill, .ids = std::llround(current.ids)},
            .previous = {.fill = previous.fill, .ids = std::llround(previous.ids)},
            .error_rate = 1 - (1 - current.error_rate) * (1 - previous.error_rate),
            .hash_functions = static_cast<int>(shape.words),
            .capacity = shape.capacity,
            .is_over_capacity =
                std::max(current.ids, previous.ids) > static_cast<double>(shape.capacity)};
}

} // namespace colimit::detail
