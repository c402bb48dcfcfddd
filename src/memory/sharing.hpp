// SPDX-License-Identifier: BSL-1.0
//
// What a call may do to a key that lives in a shared state.

#ifndef COLIMIT_MEMORY_SHARING_HPP
#define COLIMIT_MEMORY_SHARING_HPP

#include <core/evaluate.hpp>

namespace colimit::memory {

/// What is there belongs to others too: who would give something back gets the answer of a peek.
[[nodiscard]] inline core::question as_sharer(const core::question& asked) noexcept {
    using core::verb;
    if (asked.verb != verb::refund && asked.verb != verb::reset && asked.verb != verb::unreserve)
        return asked;
    return {.verb = verb::peek, .cost = 0, .at_least = 0, .now = asked.now};
}

/// Whether a new key with something to store gets a place of its own: not for a refusal of a shared
/// state, which would copy it to everybody who asks.
[[nodiscard]] inline bool takes_place(const core::question& asked, bool shares,
                                      const decision& answer) noexcept {
    using core::verb;
    return !shares || answer.granted > 0 || asked.verb == verb::charge || asked.verb == verb::block;
}

} // namespace colimit::memory

#endif
