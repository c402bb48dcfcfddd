// SPDX-License-Identifier: BSL-1.0
//
// A run as a picture: the ratio of each scenario to the reference, and below that latencies under
// load.

#pragma once

#include <support/report.hpp>

#include <iosfwd>

namespace colimit::benchmark {

void write_chart(std::ostream& out, const report& r);

} // namespace colimit::benchmark
