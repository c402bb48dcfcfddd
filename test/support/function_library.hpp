// SPDX-License-Identifier: BSL-1.0
//
// The library for execution_mode::function, as this build would install it.

#pragma once

#include <support/raw_client.hpp>

#include <string>

namespace colimit::test {

/// Returns its text.
[[nodiscard]] std::string function_library_text();

/// Loads it, as an administrator does.
void load_function_library(raw_client& server);

} // namespace colimit::test
