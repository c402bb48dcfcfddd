// SPDX-License-Identifier: BSL-1.0
//
// A command of the tool: a part of commands/, which has the options as a struct and returns a
// `command` of them, and one line in commands/table.cpp. The help is made of these, and the man
// page of the help; the completion is written by hand, in src/tool/completion.bash.

#pragma once

#include <tool/frame/output.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

/// Exit codes of commands.
inline constexpr int exit_allowed = 0; ///< also: done
inline constexpr int exit_denied = 1;
inline constexpr int exit_error = 2; ///< one sentence on standard error says why
/// After a signal: 128 and its number.
inline constexpr int exit_signal = 128;

/// Thrown by a command that a signal has ended.
struct interrupted : std::runtime_error {
    interrupted(int number, const std::string& what) : std::runtime_error(what), signal(number) {}
    int signal;
};

struct example {
    std::string command; ///< without `colimit`: `check alice --rule 5/s`
    std::string meaning; ///< one line
};

/// Returns a validator of decimal numbers with a fraction. CLI::Range accepts `nan` and `0x1`.
[[nodiscard]] CLI::Validator number_between(double least, double most);
/// Returns a validator of whole numbers in decimal digits. CLI11 reads `010` as 8.
[[nodiscard]] CLI::Validator whole_number(std::int64_t least, std::int64_t most);

/// Returns a validator of texts: an empty one is a variable of a shell that is not set, and no
/// option at all would be something else.
[[nodiscard]] CLI::Validator not_empty();
/// Refuses an option that is given, and has no effect beside another one.
/// @throws std::runtime_error `--scan: only without a policy`
void refuse_given(const CLI::Option* option, const std::string& why);

/// Parsed options, and what the command does with them. Returns the exit code.
using action = std::function<int(output&)>;

struct command {
    std::string name;
    std::string summary;           ///< one line, without a full stop
    std::vector<std::string> text; ///< paragraphs of the help
    std::vector<example> examples;
    std::string json; ///< what `--json` prints, as lines of a help: an example
    /// Declares the options in `app`. The action is called after they are parsed.
    std::function<action(CLI::App& app)> declare;
};

/// Returns the declaration of a command whose options are a struct with
/// `void declare(CLI::App&)` and `int run(output&)`.
template<class Options>
std::function<action(CLI::App&)> declaration_of() {
    return [](CLI::App& app) -> action {
        auto options = std::make_shared<Options>();
        options->declare(app);
        return [options](output& out) { return options->run(out); };
    };
}

} // namespace tool
