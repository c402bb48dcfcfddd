// SPDX-License-Identifier: BSL-1.0
//
// Checks of the options of an adaptive limit.

#pragma once

#include <colimit/adaptive_limit.hpp>

namespace colimit::adaptive {

/// Checks the options of the chosen algorithm.
/// @throws colimit::error with `errc::invalid_argument`: the option, its value and the allowed ones
void check(const adaptive_options& options);

} // namespace colimit::adaptive
