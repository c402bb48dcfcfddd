// SPDX-License-Identifier: BSL-1.0
//
// The function library that the build makes of lua/, embedded by embed_library.cmake.

#pragma once

#include <string>

namespace tool {

[[nodiscard]] std::string library_text();

} // namespace tool
