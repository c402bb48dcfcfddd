// SPDX-License-Identifier: BSL-1.0
//
// Documents that a command reads: files, standard input, and pipes such as that of `<(command)`.
// The library reads regular files only, as it must not wait for a writer.

#pragma once

#include <stdexcept>
#include <string>

namespace tool {

/// The name of standard input, instead of that of a file.
inline constexpr auto standard_input = "-";

/// `what()` is one sentence that names the file.
struct unreadable_input : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Reads a document of at most `limits::max_json_bytes`.
/// @throws unreadable_input
[[nodiscard]] std::string read_input(const std::string& path);

} // namespace tool
