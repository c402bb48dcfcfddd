// SPDX-License-Identifier: BSL-1.0
//
// The records as text for a terminal: a block for each phase, a line for each server.

#pragma once

#include <tool/overload/server.hpp>

#include <string>
#include <vector>

namespace tool::overload {

/// The limits of a server in one phase; 0 without a limit.
struct limit_range {
    std::int64_t least = 0;
    std::int64_t most = 0;
};
[[nodiscard]] limit_range limits(const scenario& all, const record& server, std::size_t phase);

[[nodiscard]] std::string table(const scenario& all, const std::vector<record>& records);

} // namespace tool::overload
