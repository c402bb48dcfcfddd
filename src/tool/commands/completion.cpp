// SPDX-License-Identifier: BSL-1.0
//
// colimit completion: scripts for shells, made of the table of commands.

#include <tool/commands/table.hpp>
#include <tool/frame/completion.hpp>

namespace tool {
namespace {

struct completion_options {
    std::string shell;

    void declare(CLI::App& app) {
        app.add_option("SHELL", shell, "The shell")
            ->required()
            ->check(CLI::IsMember({"bash", "zsh"}));
    }
    int run(output& out) const {
        out.document(shell == "bash" ? bash_completion(all_commands())
                                     : zsh_completion(all_commands()));
        return exit_allowed;
    }
};

} // namespace

command completion_command() {
    return {.name = "completion",
            .summary = "Print the completion script for a shell",
            .text = {"Packages install the scripts; without one, a line in the shell's start file "
                     "is sufficient."},
            .examples = {{"completion bash", "for bash: source <(colimit completion bash)"},
                         {"completion zsh", "for zsh: source <(colimit completion zsh)"}},
            .declare = declaration_of<completion_options>()};
}

} // namespace tool
