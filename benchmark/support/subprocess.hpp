// SPDX-License-Identifier: BSL-1.0
//
// Another program's work, by way of the shell.

#ifndef COLIMIT_BENCHMARK_SUPPORT_SUBPROCESS_HPP
#define COLIMIT_BENCHMARK_SUPPORT_SUBPROCESS_HPP

#include <string>

namespace colimit::benchmark {

struct outcome_of_command {
    std::string output;
    int status = 0; ///< 0 where it ended well
};

/// Runs it to its end. @throws std::runtime_error when it cannot be started
[[nodiscard]] outcome_of_command run_command(const std::string& command);

} // namespace colimit::benchmark

#endif
