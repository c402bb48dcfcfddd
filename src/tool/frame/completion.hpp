// SPDX-License-Identifier: BSL-1.0
//
// Completion for shells, generated from the commands.

#pragma once

#include <tool/frame/command.hpp>

#include <span>
#include <string>

namespace tool {

[[nodiscard]] std::string bash_completion(std::span<const command> commands);
[[nodiscard]] std::string zsh_completion(std::span<const command> commands);

} // namespace tool
