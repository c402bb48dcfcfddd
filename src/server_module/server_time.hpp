// SPDX-License-Identifier: BSL-1.0
//
// The clock of the server. It has a file of its own, which tests replace by a clock that they set.

#pragma once

#include <cstdint>

namespace colimit::server_module {

/// Returns the time since 1970 in microseconds. Not every server has a function for that in the
/// module interface: one for milliseconds is all that Redis 6.2 has.
[[nodiscard]] std::int64_t server_time() noexcept;

} // namespace colimit::server_module
