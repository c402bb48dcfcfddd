// SPDX-License-Identifier: BSL-1.0
//
// The state of a filter, from the bits that were counted in a part of it.

#pragma once

#include <colimit/bloom_filter.hpp>
#include <core/bloom.hpp>

#include <array>
#include <cstdint>

namespace colimit::detail {

/// @param set the bits that are set in the sample, in the current and the previous generation
[[nodiscard]] filter_status status_of(const core::bloom_shape& shape,
                                      const std::array<std::int64_t, 2>& set) noexcept;

} // namespace colimit::detail
