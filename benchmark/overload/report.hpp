// SPDX-License-Identifier: BSL-1.0
//
// The records as text and as a picture.

#pragma once

#include <overload/server.hpp>

#include <string>
#include <vector>

namespace colimit::benchmark::overload {

/// Returns a block for each phase, with a line for each server.
[[nodiscard]] std::string table(const scenario& all, const std::vector<record>& records);

/// Returns an SVG over time, with a row for each server.
[[nodiscard]] std::string picture(const scenario& all, const std::vector<record>& records);

} // namespace colimit::benchmark::overload
