// SPDX-License-Identifier: BSL-1.0
//
// popen(3).

#include <support/subprocess.hpp>

#include <array>
#include <cstdio>
#include <stdexcept>

namespace colimit::benchmark {

outcome_of_command run_command(const std::string& command) {
    auto* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr)
        throw std::runtime_error{"cannot run " + command};
    auto result = outcome_of_command{};
    auto chunk = std::array<char, 1024>{};
    for (auto n = std::size_t{1}; n != 0; result.output.append(chunk.data(), n))
        n = std::fread(chunk.data(), 1, chunk.size(), pipe);
    result.status = pclose(pipe);
    return result;
}

} // namespace colimit::benchmark
