// SPDX-License-Identifier: BSL-1.0
//
// The library is a file of the build folder.

#include <redis/protocol/script.hpp>
#include <support/function_library.hpp>

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace colimit::test {

std::string function_library_text() {
    auto file = std::ifstream{COLIMIT_TEST_LIBRARY, std::ios::binary};
    auto text = std::string{std::istreambuf_iterator<char>{file}, {}};
    if (text.empty())
        throw std::runtime_error{"cannot read " COLIMIT_TEST_LIBRARY};
    return text;
}

void load_function_library(raw_client& server) {
    const auto name = server.must({"FUNCTION", "LOAD", "REPLACE", function_library_text()}).text;
    if (name != redis::function_library)
        throw std::runtime_error{"the file is the library " + name};
}

} // namespace colimit::test
