// SPDX-License-Identifier: BSL-1.0
//
// The man page, generated from the commands.

#pragma once

#include <tool/frame/command.hpp>

#include <span>
#include <string>

namespace tool {

/// Returns colimit(1) in the man macros of roff.
[[nodiscard]] std::string man_page(std::span<const command> commands);

} // namespace tool
