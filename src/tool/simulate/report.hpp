// SPDX-License-Identifier: BSL-1.0
//
// The comparison as text for a terminal, and as a picture.

#pragma once

#include <tool/simulate/run.hpp>

#include <cstddef>
#include <string>

namespace tool::simulate {

/// Returns a block for each kind of traffic, with a line for each rule.
/// @param unicode whether the terminal has more than ASCII
[[nodiscard]] std::string table(const comparison& all, std::size_t columns, bool unicode);

/// Returns an SVG with a column for each kind of traffic, and a row for each rule.
[[nodiscard]] std::string picture(const comparison& all);

} // namespace tool::simulate
