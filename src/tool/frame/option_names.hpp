// SPDX-License-Identifier: BSL-1.0
//
// Messages of the library name members of its options, which a user of the tool does not have.

#pragma once

#include <string>
#include <string_view>

namespace tool {

/// Returns a message of the library with the tool's options instead of its members: `--prefix`
/// instead of `config::prefix`.
[[nodiscard]] std::string with_option_names(std::string_view message);

} // namespace tool
