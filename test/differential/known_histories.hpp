// SPDX-License-Identifier: BSL-1.0
//
// Histories in which C++ and Lua differed once, or would with one wrong number, and which chance
// finds only in tens of millions of operations. Every run begins with them.

#pragma once

#include "history.hpp"

#include <vector>

namespace colimit::differential {

[[nodiscard]] std::vector<history> known_histories();

} // namespace colimit::differential
