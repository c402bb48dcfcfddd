// SPDX-License-Identifier: BSL-1.0
//
// Stands in for libFuzzer where there is none: runs a fuzz target once on every file named on the
// command line, directories with all that is below them. So each input that ever broke something
// stays an ordinary test, with any compiler.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

// The name and type are libFuzzer's.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

void replay_file(const fs::path& path) {
    std::ifstream file{path, std::ios::binary};
    const std::string bytes{std::istreambuf_iterator<char>{file}, {}};
    if (!file) {
        throw std::runtime_error{"cannot read " + path.string()};
    }
    // A copy of exactly this size, so that a sanitizer sees a read past the end.
    const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
    std::cerr << path.string() << '\n'; // the last one printed is the one that crashed
    if (LLVMFuzzerTestOneInput(input.data(), input.size()) != 0) {
        throw std::runtime_error{"the target refused " + path.string()};
    }
}

std::size_t replay_all(const fs::path& path) {
    if (!fs::is_directory(path)) {
        replay_file(path);
        return 1;
    }
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator{path}) {
        if (entry.is_regular_file()) {
            replay_file(entry.path());
            ++count;
        }
    }
    return count;
}

} // namespace

int main(int argc, char** argv) {
    try {
        std::size_t count = 0;
        for (int i = 1; i < argc; ++i) {
            count += replay_all(argv[i]);
        }
        std::cout << count << " inputs replayed\n";
        if (count == 0) {
            std::cerr << "nothing to replay: give files, or a directory that has some\n";
            return 1;
        }
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
