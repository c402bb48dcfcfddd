// SPDX-License-Identifier: BSL-1.0
//
// Histories in which C++ and Lua differed once, or would with one wrong number, and which chance
// finds only in tens of millions of operations. Every run begins with them.

#ifndef COLIMIT_TEST_DIFFERENTIAL_KNOWN_HISTORIES_HPP
#define COLIMIT_TEST_DIFFERENTIAL_KNOWN_HISTORIES_HPP

#include "history.hpp"

#include <vector>

namespace colimit::differential {

[[nodiscard]] std::vector<history> known_histories();

} // namespace colimit::differential

#endif
