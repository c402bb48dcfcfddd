// SPDX-License-Identifier: BSL-1.0
//
// The percentiles of a measurement, from the histogram of the tool.

#pragma once

#include <support/scenario.hpp>
#include <tool/load/histogram.hpp>

namespace colimit::benchmark {

using tool::load::histogram;

inline void add_percentiles(measurement& m, const histogram& latencies) noexcept {
    m.p50_us = latencies.percentile_us(0.5);
    m.p99_us = latencies.percentile_us(0.99);
    m.p999_us = latencies.percentile_us(0.999);
    m.max_us = latencies.max_us();
}

} // namespace colimit::benchmark
