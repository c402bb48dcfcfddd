// SPDX-License-Identifier: BSL-1.0
//
// The result of the replay as one object, for programs.

#pragma once

#include <tool/replay/report.hpp>

#include <boost/json/object.hpp>

#include <cstddef>

namespace tool::replay {

/// Returns the members of the object that `replay` prints with --json.
/// @param top clients to list
[[nodiscard]] boost::json::object report_object(const subject& what, const history& log,
                                                const statistics& found, std::size_t top);

} // namespace tool::replay
