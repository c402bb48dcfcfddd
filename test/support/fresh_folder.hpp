// SPDX-License-Identifier: BSL-1.0
//
// Temporary folders.

#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace colimit::test {

/// Makes a folder below that for temporary files and returns its path.
[[nodiscard]] inline std::string fresh_folder() {
    auto path = (std::filesystem::temp_directory_path() / "colimit-test-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr)
        throw std::runtime_error{"cannot make a folder like " + path};
    return path;
}

} // namespace colimit::test
