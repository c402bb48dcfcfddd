// SPDX-License-Identifier: BSL-1.0
//
// The records as one picture over time, a row for each server. It follows the reader's preference
// for light or dark.

#pragma once

#include <tool/overload/server.hpp>

#include <string>
#include <vector>

namespace tool::overload {

/// Returns an SVG.
[[nodiscard]] std::string picture(const scenario& all, const std::vector<record>& records);

} // namespace tool::overload
