// SPDX-License-Identifier: BSL-1.0
//
// Each command is parsed by a parser of its own, as a key may have the name of another command.

#include <tool/frame/format.hpp>
#include <tool/frame/help.hpp>
#include <tool/frame/program.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <clocale>
#include <csignal>
#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace tool {
namespace {

/// A name of the library, and that of the option.
using names = std::pair<std::string_view, std::string_view>;

/// A name that begins with another one comes first.
constexpr auto anywhere =
    std::to_array<names>({{"config::tls.ca_file", "--ca-file"},
                          {"config::tls.cert_file", "--cert-file"},
                          {"config::tls.key_file", "--key-file"},
                          {"config::tls.server_name", "--server-name"},
                          {"but cert_file", "but --cert-file"},
                          {"but key_file", "but --key-file"},
                          {"config::advanced.server_module", "--server-module"},
                          {"config::server", "--server"},
                          {"config::prefix", "--prefix"},
                          {"config::advanced.hash_tags", "--hash-tags"},
                          {"config::advanced.mode", "--mode"},
                          {"config::timeout", "--timeout"},
                          {"config::advanced.connect_timeout", "--timeout"},
                          {"config::advanced.max_in_flight", "--callers"},
                          {"execution_mode::multi", "--mode multi"},
                          {"execution_mode::function", "--mode function"},
                          {"check_options::member", "--member"},
                          {"another at_least", "another --at-least"},
                          {"storage::shared_hash", "packed storage"}});

constexpr auto at_beginning = std::to_array<names>({{"cost:", "--cost:"},
                                                    {"at_least:", "--at-least:"},
                                                    {"member:", "--member:"},
                                                    {"request:", "--request:"},
                                                    {"duration", "--for"},
                                                    {"server address", "--server"}});

/// Returns a message of the library with the names of options. Names at the beginning of a message
/// are those of arguments; elsewhere they are words of a text.
[[nodiscard]] std::string with_option_names(std::string_view message) {
    auto text = std::string{message};
    for (const auto& [name, option] : at_beginning)
        if (message.starts_with(name))
            text.replace(0, name.size(), option);
    for (const auto& [name, option] : anywhere)
        for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at))
            text.replace(at, name.size(), option);
    return text;
}

int complain(const std::string& where, std::string_view what, int code = exit_error) {
    std::cerr << where << ": " << shown(what) << '\n';
    return code;
}

/// Runs a function that may throw, and returns its exit code.
template<class Function>
int guarded(const std::string& name, Function function) {
    try {
        return function();
    } catch (const CLI::ParseError& e) {
        return complain(name, without_addresses(e.what()) + "; --help says more");
    } catch (const interrupted& e) {
        return complain(name, e.what(), exit_signal + e.signal);
    } catch (const std::exception& e) {
        return complain(name, with_option_names(e.what()));
    }
}

int run_command(const command& c, std::vector<std::string> arguments) {
    auto is_json = false;
    action run;
    const auto parser = make_parser(c, is_json, run);
    std::ranges::reverse(arguments); // as the parser wants them
    try {
        parser->parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
        output{c.name, false}.text(help_of(c, output::width()));
        return exit_allowed;
    }
    output out{c.name, is_json};
    return run(out);
}

const command& command_named(std::span<const command> commands, const std::string& name) {
    const auto found = std::ranges::find(commands, name, &command::name);
    if (found == commands.end())
        throw std::runtime_error{"there is no command '" + without_addresses(escaped(name)) +
                                 "'; colimit --help lists them"};
    return *found;
}

/// Refuses what comes after the first words of a line.
void allow_only(std::size_t count, const std::vector<std::string>& arguments) {
    if (arguments.size() > count)
        throw std::runtime_error{arguments.front() + ": unexpected argument (got '" +
                                 without_addresses(escaped(arguments[count])) + "')"};
}

int run_program(const std::vector<std::string>& arguments, std::span<const command> commands) {
    if (arguments.empty())
        throw std::runtime_error{"a command is required; colimit --help lists them"};
    const auto& name = arguments.front();
    if (name == "--help" || name == "help") {
        allow_only(2, arguments);
        const auto width = output::width();
        output{"", false}.text(arguments.size() == 1
                                   ? help_of(commands, width)
                                   : help_of(command_named(commands, arguments[1]), width));
        return exit_allowed;
    }
    if (name == "--version") {
        allow_only(1, arguments);
        output{"", false}.text("colimit " COLIMIT_VERSION "\n");
        return exit_allowed;
    }
    const auto& found = command_named(commands, name);
    return guarded("colimit " + name,
                   [&] { return run_command(found, {arguments.begin() + 1, arguments.end()}); });
}

} // namespace

CLI::Validator number_between(double least, double most) {
    return {[=](const std::string& text) {
                double number = 0;
                const auto first = std::size_t{text.starts_with('-') ? 1U : 0U};
                const auto is_decimal =
                    text.find_first_not_of("0123456789.", first) == std::string::npos &&
                    CLI::detail::lexical_cast(text, number);
                if (is_decimal && number >= least && number <= most)
                    return std::string{};
                auto problem = std::ostringstream{};
                problem << (is_decimal ? "out of range (got " : "not a decimal number (got ")
                        << escaped(text) << ", expected " << least << " to " << most << ')';
                return problem.str();
            },
            ""};
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
    return {[=](const std::string& text) {
                auto number = std::int64_t{};
                const auto [end, problem] =
                    std::from_chars(text.data(), text.data() + text.size(), number);
                const auto is_decimal = problem == std::errc{} && text == std::to_string(number);
                if (is_decimal && number >= least && number <= most)
                    return std::string{};
                const auto is_number = is_decimal || problem == std::errc::result_out_of_range;
                return (is_number ? "out of range (got " : "not a whole number (got ") +
                       escaped(text) + ", expected " + std::to_string(least) + " to " +
                       std::to_string(most) + (is_number ? ")" : ", without leading zeros)");
            },
            ""};
}

CLI::Validator not_empty() {
    return {[](const std::string& text) { return std::string{text.empty() ? "empty" : ""}; }, ""};
}

void refuse_given(const CLI::Option* option, const std::string& why) {
    if (option->count() != 0)
        throw std::runtime_error{option->get_name() + ": " + why};
}

int run_program(int argc, const char* const* argv, std::span<const command> commands) {
    std::setlocale(LC_CTYPE, "");  // for `shown`; numbers and times do not depend on it
    std::signal(SIGPIPE, SIG_IGN); // a closed pipe is an error of the write that meets it
    return guarded("colimit", [&] {
        return run_program(std::vector<std::string>(argv + std::min(argc, 1), argv + argc),
                           commands);
    });
}

} // namespace tool
