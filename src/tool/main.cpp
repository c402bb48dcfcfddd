// SPDX-License-Identifier: BSL-1.0
//
// colimit: the command-line tool. Reading order: frame/command.hpp (what a command is),
// commands/verbs.cpp (some of them), commands/table.cpp (all of them), frame/program.cpp (from
// arguments to an exit code), frame/help.cpp.

#include <tool/commands/table.hpp>
#include <tool/frame/program.hpp>

int main(int argc, char** argv) {
    return tool::run_program(argc, argv, tool::all_commands());
}
