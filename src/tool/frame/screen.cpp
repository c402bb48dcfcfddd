// SPDX-License-Identifier: BSL-1.0
//
// Charts have the characters of the locale.

#include <tool/frame/command.hpp>
#include <tool/frame/format.hpp>
#include <tool/frame/input.hpp>
#include <tool/frame/output.hpp>
#include <tool/frame/screen.hpp>

#include <langinfo.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace tool {

void screen_options::declare(CLI::App& app) {
    app.add_option("--width", width, "Columns (default: those of the terminal, or 80)")
        ->type_name("N")
        ->check(whole_number(20, 1000));
    app.add_flag("--ascii", is_ascii, "Draw with ASCII only");
}

void screen_options::refuse_beside(const output& out) const {
    if (out.is_json() && (width != 0 || is_ascii))
        throw std::runtime_error{std::string{width != 0 ? "--width" : "--ascii"} +
                                 ": not with --json, which has no table"};
}

std::size_t screen_options::columns() const noexcept {
    return width != 0 ? width : output::width();
}

bool screen_options::is_unicode() const {
    return !is_ascii && std::string_view{nl_langinfo(CODESET)} == "UTF-8";
}

void declare_picture(CLI::App& app, std::string& path, const std::string& meaning) {
    const auto is_file = [](const std::string& text) {
        return std::string{text == standard_input ? "standard output has the table (got -, "
                                                    "expected the name of a file)"
                                                  : ""};
    };
    app.add_option("--svg", path, meaning)->type_name("FILE")->check(not_empty())->check(is_file);
}

void require_other_file(const std::string& picture, std::initializer_list<std::string> inputs) {
    std::error_code ec;
    if (!std::filesystem::is_regular_file(picture, ec))
        return;
    for (const auto& input : inputs)
        if (std::filesystem::equivalent(picture, input == standard_input ? "/dev/stdin" : input,
                                        ec))
            throw std::runtime_error{"--svg: the picture would overwrite what is read (got " +
                                     escaped(picture) + ", expected another file)"};
}

void write_file(const std::string& path, std::string_view text) {
    std::ofstream file{path, std::ios::binary};
    file << text << std::flush;
    if (!file)
        throw std::runtime_error{"cannot write " + escaped(path)};
}

} // namespace tool
