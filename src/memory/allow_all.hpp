// SPDX-License-Identifier: BSL-1.0
//
// Several keys at once in the in-process store: all or nothing.

#ifndef COLIMIT_MEMORY_ALLOW_ALL_HPP
#define COLIMIT_MEMORY_ALLOW_ALL_HPP

#include <colimit/check_item.hpp>
#include <memory/store.hpp>

#include <cstdint>
#include <span>

namespace colimit::memory {

/// Writes each check's answer into its result; answers the one that says most. No two checks are
/// about one state.
[[nodiscard]] decision answer_together(store& s, std::span<check_item> checks, std::int64_t now);

} // namespace colimit::memory

#endif
