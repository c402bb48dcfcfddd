// SPDX-License-Identifier: BSL-1.0
//
// The clock of the server. It is a file of its own, so that tests can set it.

#pragma once

#include <cstdint>

namespace colimit::server_module {

/// Returns the time since 1970 in microseconds, which no function of the module interface tells on
/// all servers.
[[nodiscard]] std::int64_t server_time() noexcept;

} // namespace colimit::server_module
