// SPDX-License-Identifier: BSL-1.0
//
// A random history for servers without scripts: sliding logs only, and a clock that goes on. In a
// batch each key has one call, as the events of a denied call count until they have been removed.

#pragma once

#include "history.hpp"

#include <cstdint>

namespace colimit::differential {

/// A history of about 100 calls, and a peek at each key in the end.
[[nodiscard]] history random_log_history(std::uint64_t seed);

} // namespace colimit::differential
