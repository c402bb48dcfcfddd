// SPDX-License-Identifier: BSL-1.0
//
// colimit man: the man page, made of the table of commands.

#include <tool/commands/table.hpp>
#include <tool/frame/man_page.hpp>

namespace tool {
namespace {

struct man_options {
    void declare(CLI::App& /*app*/) {}
    int run(output& out) {
        out.document(man_page(all_commands()));
        return exit_allowed;
    }
};

} // namespace

command man_command() {
    return {.name = "man",
            .summary = "Print the man page, in roff",
            .text = {},
            .examples = {{"man | man -l -", "shows it"}},
            .declare = declaration_of<man_options>()};
}

} // namespace tool
