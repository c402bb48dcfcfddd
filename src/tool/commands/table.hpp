// SPDX-License-Identifier: BSL-1.0
//
// All commands of the tool, which the other files here declare.

#pragma once

#include <tool/frame/command.hpp>

#include <span>

namespace tool {

[[nodiscard]] command check_command();
[[nodiscard]] command peek_command();
[[nodiscard]] command charge_command();
[[nodiscard]] command refund_command();
[[nodiscard]] command reset_command();
[[nodiscard]] command block_command();
[[nodiscard]] command inspect_command();
[[nodiscard]] command top_command();
[[nodiscard]] command lint_command();
[[nodiscard]] command replay_command();
[[nodiscard]] command simulate_command();
[[nodiscard]] command load_command();
[[nodiscard]] command print_library_command();

/// Returns the commands in the order of the help.
[[nodiscard]] std::span<const command> all_commands();

} // namespace tool
