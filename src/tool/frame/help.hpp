// SPDX-License-Identifier: BSL-1.0
//
// What there is to say about a command, as values: the one source of its help, its completion and
// its part of the man page.

#pragma once

#include <tool/frame/command.hpp>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

/// An option or an argument.
struct option_text {
    std::vector<std::string> names; ///< `--rule`; for an argument `KEY`
    std::string value;              ///< `TEXT`; empty for flags and arguments
    std::string description;
    std::string usual; ///< the default value, if the description does not say it
    bool is_argument = false;
    bool is_required = false;
    std::vector<std::string> choices; ///< all values, if they are few words
};

/// Everything about a command.
struct command_text {
    std::string usage; ///< `colimit check [OPTIONS] KEY`
    std::vector<option_text> options;
};

/// Makes the parser of a command, on its own: so no argument of it is taken for another command.
/// @param is_json is set by the parser
[[nodiscard]] std::unique_ptr<CLI::App> make_parser(const command& c, bool& is_json, action& run);

[[nodiscard]] command_text describe(const command& c);

/// Returns the description of an option with its choices and its default.
[[nodiscard]] std::string option_details(const option_text& o);

inline constexpr std::string_view program_summary =
    "Operates the limits of colimit: what a key has left, why it is denied, and what a limit would "
    "do.";
inline constexpr auto exit_codes = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"0", "allowed, or done"},
     {"1", "denied, or findings"},
     {"2", "an error: one sentence on standard error"},
     {"128 + N", "ended by signal N"}});

/// Returns the help of a command, at most `width` columns wide.
[[nodiscard]] std::string help_of(const command& c, std::size_t width);
/// Returns the help of the program.
[[nodiscard]] std::string help_of(std::span<const command> commands, std::size_t width);

/// Returns paragraphs with line breaks: at most `width` columns, the first line after `first`
/// columns, and the others indented by `indent`.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

} // namespace tool
