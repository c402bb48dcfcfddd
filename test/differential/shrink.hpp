// SPDX-License-Identifier: BSL-1.0
//
// From a history that shows a difference to the smallest one that still does.

#pragma once

#include "history.hpp"

#include <functional>

namespace colimit::differential {

/// Attempts to make a counter-example smaller.
inline constexpr int most_attempts = 3000;

/// Leaves out steps, calls and rules as long as `fails` says that what remains fails.
[[nodiscard]] history shrink(history h, const std::function<bool(const history&)>& fails);

} // namespace colimit::differential
