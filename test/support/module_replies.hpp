// SPDX-License-Identifier: BSL-1.0
//
// Replies of servers with and without the module to the question for it.

#pragma once

#include <core/wire_version.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::test {

[[nodiscard]] inline std::string module_reply(std::int64_t wire_version = core::wire_version) {
    return "*3\r\n$7\r\ncolimit\r\n:" + std::to_string(wire_version) + "\r\n$5\r\n1.2.3\r\n";
}

inline constexpr std::string_view unknown_command =
    "-ERR unknown command 'COLIMIT.CHECK', with args beginning with: '0' \r\n";
inline constexpr std::string_view module_denied =
    "-NOPERM User app has no permissions to run the 'colimit.check' command\r\n";

} // namespace colimit::test
