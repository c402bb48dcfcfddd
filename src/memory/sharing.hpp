// SPDX-License-Identifier: BSL-1.0
//
// What a call may do to a key that lives in a shared state.

#ifndef COLIMIT_MEMORY_SHARING_HPP
#define COLIMIT_MEMORY_SHARING_HPP

#include <core/evaluate.hpp>
#include <core/rule_kind.hpp>
#include <core/verb_traits.hpp>

#include <algorithm>
#include <cstdint>
#include <span>

namespace colimit::memory {

/// What is there belongs to others too: who would give something back gets the answer of a peek.
[[nodiscard]] inline core::call_request as_sharer(const core::call_request& request) noexcept {
    if (!core::traits_of(request.verb).gives_back)
        return request;
    return {.verb = core::verb::peek, .cost = 0, .at_least = 0, .now = request.now};
}

[[nodiscard]] inline bool charges(const core::call_request& request,
                                  const decision& answer) noexcept {
    return answer.granted > 0 || core::traits_of(request.verb).charges_always;
}

/// Whether a new key with something to store gets a place of its own: not for a refusal of a shared
/// state, which would copy it to everybody who asks.
[[nodiscard]] inline bool takes_place(const core::call_request& request, bool shares,
                                      const decision& answer) noexcept {
    return !shares || charges(request, answer) || request.verb == core::verb::block;
}

/// What counts from its first use does so, when it is shared, from the charge of whoever came last:
/// each of them might be let through before its time otherwise.
inline void start_anew(const core::compiled_policy& rules, std::span<core::rule_state> states,
                       std::int64_t now) noexcept {
    for (std::uint32_t i = 0; i < rules.slots; ++i)
        if (core::starts_at_use(rules.limits[i].kind))
            states[i].t = std::max(states[i].t, now + rules.limits[i].period);
}

} // namespace colimit::memory

#endif
