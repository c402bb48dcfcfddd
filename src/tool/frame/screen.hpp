// SPDX-License-Identifier: BSL-1.0
//
// Charts in a terminal, and pictures in files.

#pragma once

#include <tool/frame/output.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tool {

/// The options that say what a terminal can show.
struct screen_options {
    std::size_t width = 0;
    bool is_ascii = false;

    void declare(CLI::App& app);
    /// @throws std::runtime_error if one of them is given, and the output is JSON
    void refuse_beside(const output& out) const;

    /// Returns the columns to use: those of the option, of the terminal, or 80.
    [[nodiscard]] std::size_t columns() const noexcept;
    /// Returns whether the locale has more than ASCII, and the option allows it.
    [[nodiscard]] bool is_unicode() const;
};

/// Declares `--svg`.
void declare_picture(CLI::App& app, std::string& path, const std::string& meaning);
/// @param inputs the files that the command reads; - is standard input
/// @throws std::runtime_error if the picture would overwrite one of them
void require_other_file(const std::string& picture, std::initializer_list<std::string> inputs);
/// Writes a file. @throws std::runtime_error with one sentence
void write_file(const std::string& path, std::string_view text);

} // namespace tool
