// SPDX-License-Identifier: BSL-1.0
//
// A suite, run.

#pragma once

#include "store.hpp"
#include "suite.hpp"

#include <string>
#include <vector>

namespace colimit::conformance {

/// Returns the differences, one line each; none if the suite passed. Throws `left_out`.
/// @param key_prefix tells the suite's keys from those of others
[[nodiscard]] std::vector<std::string> run(const suite& s, store& where,
                                           const std::string& key_prefix);

} // namespace colimit::conformance
