// SPDX-License-Identifier: BSL-1.0
//
// The state of a filter, from the bits that were counted in a part of it.
//
// It is an estimate from a sample: `filter_status` counts 64 KiB in each of up to 16 blocks, in
// batches of `seen`. The server reads these 2 MiB in 1.2 ms, where a filter for a thousand million
// ids has 3 GB. Ids fall on all lines alike, so any fixed lines are a random sample, and every
// process reports the same numbers. The ids follow from the clear bits, and the error rate from the
// ids by the formula that determined the size (core/bloom.cpp).

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
