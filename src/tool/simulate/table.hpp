// SPDX-License-Identifier: BSL-1.0
//
// The comparison as text for a terminal: a block for each kind of traffic, a line for each rule.

#pragma once

#include <tool/simulate/run.hpp>

#include <cstddef>
#include <string>

namespace tool::simulate {

/// @param unicode whether the terminal has more than ASCII
[[nodiscard]] std::string table(const comparison& all, std::size_t columns, bool unicode);

} // namespace tool::simulate
