// SPDX-License-Identifier: BSL-1.0
//
// The table of commands.

#include <tool/commands/table.hpp>

#include <vector>

namespace tool {

std::span<const command> all_commands() {
    static const std::vector<command> commands{
        check_command(),         peek_command(),   charge_command(),   refund_command(),
        reset_command(),         block_command(),  inspect_command(),  top_command(),
        lint_command(),          replay_command(), simulate_command(), load_command(),
        print_library_command(),
    };
    return commands;
}

} // namespace tool
