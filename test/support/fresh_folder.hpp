// SPDX-License-Identifier: BSL-1.0
//
// A temporary folder, which the destructor removes with its contents. Members are destroyed in
// reverse order, so a class declares the folder before the program that uses it.

#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace colimit::test {

class fresh_folder {
  public:
    fresh_folder() {
        if (::mkdtemp(path_.data()) == nullptr)
            throw std::runtime_error{"cannot make a folder like " + path_};
    }
    ~fresh_folder() {
        auto ignored = std::error_code{};
        std::filesystem::remove_all(path_, ignored);
    }
    fresh_folder(const fresh_folder&) = delete;
    fresh_folder& operator=(const fresh_folder&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

  private:
    std::string path_ = (std::filesystem::temp_directory_path() / "colimit-test-XXXXXX").string();
};

} // namespace colimit::test
