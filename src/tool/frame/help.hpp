// SPDX-License-Identifier: BSL-1.0
//
// Parsers of commands, and helps by CLI11's formatter. src/packaging/man_page makes the man page of
// them.

#pragma once

#include <tool/frame/command.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace tool {

/// Makes the parser of a command, on its own: so no argument of it is taken for another command.
/// @param is_json is set by the parser
[[nodiscard]] std::unique_ptr<CLI::App> make_parser(const command& c, bool& is_json, action& run);

/// Returns the help of a command, at most `width` columns wide.
[[nodiscard]] std::string help_of(const command& c, std::size_t width);
/// Returns the help of the program.
[[nodiscard]] std::string help_of(std::span<const command> commands, std::size_t width);

} // namespace tool
