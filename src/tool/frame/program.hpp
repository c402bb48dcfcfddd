// SPDX-License-Identifier: BSL-1.0
//
// The program: finds the command, parses its options, runs it, and turns every error into one
// sentence and an exit code.

#pragma once

#include <tool/frame/command.hpp>

#include <span>

namespace tool {

/// Runs the command that the arguments name. Returns the exit code.
[[nodiscard]] int run_program(int argc, const char* const* argv, std::span<const command> commands);

} // namespace tool
