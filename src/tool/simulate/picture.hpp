// SPDX-License-Identifier: BSL-1.0
//
// The comparison as one picture: a column for each kind of traffic, a row for each rule. It follows
// the reader's preference for light or dark.

#pragma once

#include <tool/simulate/run.hpp>

#include <string>

namespace tool::simulate {

/// Returns an SVG.
[[nodiscard]] std::string picture(const comparison& all);

} // namespace tool::simulate
