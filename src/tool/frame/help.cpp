// SPDX-License-Identifier: BSL-1.0
//
// The options of a command as its parser has them, and help texts made of them.

#include <tool/frame/help.hpp>

#include <sstream>

namespace tool {
namespace {

constexpr std::size_t column = 26; ///< of the descriptions of options

/// Divides `MODE:{script,function}`, as the parser names a value, into the name and the choices.
void divide_type(std::string_view type, option_text& into) {
    const auto colon = type.find(':');
    into.value = type.substr(0, colon);
    if (colon == std::string_view::npos || !type.substr(colon + 1).starts_with('{'))
        return;
    auto list = std::istringstream{std::string{type.substr(colon + 2)}};
    for (std::string choice; std::getline(list, choice, ',');)
        into.choices.push_back(choice.substr(0, choice.find('}')));
}

[[nodiscard]] option_text describe(const CLI::Option& option) {
    option_text text;
    text.is_argument = option.get_positional();
    text.is_required = option.get_required();
    text.description = option.get_description();
    text.usual = option.get_default_str();
    for (const auto& name : option.get_snames())
        text.names.push_back("-" + name);
    for (const auto& name : option.get_lnames())
        text.names.push_back("--" + name);
    if (text.is_argument)
        text.names = {option.get_name(true)};
    if (option.get_items_expected_max() != 0)
        divide_type(option.get_type_name(), text);
    return text;
}

[[nodiscard]] std::string title(const option_text& o) {
    std::string names;
    for (const auto& name : o.names)
        names.append(names.empty() ? "" : ", ").append(name);
    return o.is_argument || o.value.empty() ? names : names + " " + o.value;
}

/// Returns two columns.
[[nodiscard]] std::string entry(std::string_view left, std::string_view right, std::size_t width) {
    auto line = "  " + std::string{left};
    if (line.size() + 1 >= column)
        line += '\n' + std::string(column, ' ');
    else
        line.resize(column, ' ');
    return line + wrapped(right, width, column) + '\n';
}

[[nodiscard]] std::string list_options(const command_text& c, bool arguments, std::size_t width) {
    std::string text;
    for (const auto& o : c.options)
        if (o.is_argument == arguments)
            text += entry(title(o), option_details(o), width);
    return text;
}

[[nodiscard]] std::string list_examples(const command& c, std::size_t width) {
    std::string text;
    for (const auto& e : c.examples)
        text += "  colimit " + e.command + "\n      " + wrapped(e.meaning, width, 6) + '\n';
    return text;
}

void add_section(std::string& text, std::string_view name, const std::string& content) {
    if (!content.empty())
        text.append("\n").append(name).append(":\n").append(content);
}

} // namespace

std::string option_details(const option_text& o) {
    auto text = o.description;
    for (const auto& choice : o.choices)
        text.append(&choice == &o.choices.front() ? ": " : ", ").append(choice);
    return o.usual.empty() ? text : text + " (default: " + o.usual + ")";
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
    std::string out;
    auto at = indent;
    auto words = std::istringstream{std::string{text}};
    for (std::string word; words >> word;) {
        if (!out.empty() && at + 1 + word.size() > width) {
            out += '\n' + std::string(indent, ' ');
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

std::unique_ptr<CLI::App> make_parser(const command& c, bool& is_json, action& run) {
    auto app = std::make_unique<CLI::App>(c.summary, "colimit " + c.name);
    app->set_help_flag("--help", "Print this help");
    run = c.declare(*app);
    if (c.has_json)
        app->add_flag("--json", is_json, "Write JSON, one object per line");
    return app;
}

command_text describe(const command& c) {
    action unused;
    auto is_json = false;
    const auto parser = make_parser(c, is_json, unused);
    command_text text{"colimit " + c.name + " [OPTIONS]", {}};
    for (const auto is_argument : {true, false})
        for (const auto* const option : parser->get_options())
            if (option->get_positional() == is_argument)
                text.options.push_back(describe(*option));
    for (const auto& o : text.options)
        if (o.is_argument)
            text.usage += o.is_required ? " " + o.names.front() : " [" + o.names.front() + "]";
    return text;
}

std::string help_of(const command& c, std::size_t width) {
    const auto described = describe(c);
    auto text = c.summary + ".\n";
    for (const auto& paragraph : c.text)
        text += '\n' + wrapped(paragraph, width, 0) + '\n';
    add_section(text, "Usage", "  " + described.usage + '\n');
    add_section(text, "Arguments", list_options(described, true, width));
    add_section(text, "Options", list_options(described, false, width));
    add_section(text, "Examples", list_examples(c, width));
    return text;
}

std::string help_of(std::span<const command> commands, std::size_t width) {
    auto text = wrapped(program_summary, width, 0) + '\n';
    add_section(text, "Usage", "  colimit COMMAND [OPTIONS]\n");
    std::string list;
    for (const auto& c : commands)
        list += entry(c.name, c.summary, width);
    add_section(text, "Commands", list);
    add_section(
        text, "Options",
        entry("--help", "Print this help; colimit COMMAND --help has that of a command", width) +
            entry("--version", "Print the version", width));
    std::string codes;
    for (const auto& [code, meaning] : exit_codes)
        codes += entry(code, meaning, width);
    add_section(text, "Exit codes", codes);
    return text;
}

} // namespace tool
