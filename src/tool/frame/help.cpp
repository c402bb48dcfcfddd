// SPDX-License-Identifier: BSL-1.0
//
// The formatter neither breaks lines nor keeps the indentation of what follows the options (since
// CLI11 2.5), so texts have their line breaks before, and examples are appended.

#include <tool/frame/help.hpp>

#include <sstream>
#include <string_view>

namespace tool {
namespace {

constexpr std::size_t column = 26; ///< of the descriptions of options

constexpr auto program_summary =
    "Operates the limits of colimit: what a key has left, why it is denied, and what a limit would "
    "do.";
constexpr auto exit_codes = "Exit codes:\n"
                            "  0                       allowed, or done\n"
                            "  1                       denied, or findings\n"
                            "  2                       an error: one sentence on standard error\n"
                            "  128 + N                 ended by signal N\n"
                            "\n"
                            "Environment:\n"
                            "  COLIMIT_SERVER          The address of the server, if --server is\n"
                            "                          not given. Not for load and replay.\n";

/// Returns a text with line breaks: at most `width` columns, all of them after `indent` columns.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
    std::string out;
    auto at = indent;
    auto words = std::istringstream{std::string{text}};
    for (std::string word; words >> word;) {
        if (!out.empty() && at + 1 + word.size() > width) {
            out += '\n';
            at = indent;
        } else if (!out.empty()) {
            out += ' ';
            ++at;
        }
        out += word;
        at += word.size();
    }
    return out;
}

/// Options with their value and, in the description, its words and the default.
class help_format : public CLI::Formatter {
  public:
    explicit help_format(std::size_t width) : width_(width) {
        column_width(column);
        label("Positionals", "Arguments");
        label("Subcommands", "Commands");
        label("SUBCOMMAND", "COMMAND");
    }

    std::string make_option_opts(const CLI::Option* option) const override {
        if (option->get_positional() || option->get_items_expected_max() == 0)
            return "";
        const auto type = option->get_type_name(); // `MODE:{script,function}`
        return " " + type.substr(0, type.find(':'));
    }

    std::string make_option_desc(const CLI::Option* option) const override {
        auto text = option->get_description();
        const auto type = option->get_type_name();
        if (const auto list = type.find(":{"); list != std::string::npos)
            text += ": " + CLI::detail::find_and_replace(
                               type.substr(list + 2, type.find('}') - list - 2), ",", ", ");
        if (const auto usual = option->get_default_str(); !usual.empty())
            text += " (default: " + usual + ")";
        return wrapped(text, width_, column);
    }

  private:
    std::size_t width_;
};

} // namespace

std::unique_ptr<CLI::App> make_parser(const command& c, bool& is_json, action& run) {
    auto app = std::make_unique<CLI::App>(c.summary, "colimit " + c.name);
    app->set_help_flag("--help", "Print this help");
    run = c.declare(*app);
    app->add_flag("--json", is_json, "Write JSON, one object per line");
    return app;
}

std::string help_of(const command& c, std::size_t width) {
    action unused;
    auto is_json = false;
    const auto app = make_parser(c, is_json, unused);
    auto text = c.summary + ".\n";
    for (const auto& paragraph : c.text)
        text += '\n' + wrapped(paragraph, width, 0) + '\n';
    app->description(text);
    app->formatter(std::make_shared<help_format>(width));

    text = app->help() + "Examples:\n";
    for (const auto& e : c.examples)
        text += "  colimit " + e.command + "\n      " + e.meaning + '\n';
    text += "\nJSON, here divided, with one element of each array:\n";
    auto lines = std::istringstream{c.json};
    for (std::string line; std::getline(lines, line);)
        text += "  " + line + '\n';
    return text;
}

std::string help_of(std::span<const command> commands, std::size_t width) {
    CLI::App app{wrapped(program_summary, width, 0) + '\n', "colimit"};
    app.set_help_flag(
        "--help",
        wrapped("Print this help; colimit help COMMAND, or COMMAND --help, has that of a command",
                width, column));
    app.set_version_flag("--version", COLIMIT_VERSION, "Print the version");
    app.require_subcommand(1);
    for (const auto& c : commands)
        app.add_subcommand(c.name, wrapped(c.summary, width, column))->group("Commands");
    app.formatter(std::make_shared<help_format>(width));
    return app.help() + exit_codes;
}

} // namespace tool
