// SPDX-License-Identifier: BSL-1.0
//
// Runs another program through the shell.

#pragma once

#include <string>

namespace colimit::benchmark {

struct outcome_of_command {
    std::string output;
    int status = 0; ///< 0 if it succeeded
};

/// Runs it to its end. @throws std::runtime_error if it cannot be started
[[nodiscard]] outcome_of_command run_command(const std::string& command);

} // namespace colimit::benchmark
