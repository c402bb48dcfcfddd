// SPDX-License-Identifier: BSL-1.0
//
// What each verb does, for all that treat some of them alike.

#ifndef COLIMIT_CORE_VERB_TRAITS_HPP
#define COLIMIT_CORE_VERB_TRAITS_HPP

#include <colimit/detail/call_request.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace colimit::core {

struct verb_traits {
    detail::verb verb;
    /// Changes nothing.
    bool only_asks = false;
    /// Depends on whether `at_least` fits, and gives nothing back.
    bool tests_amount = false;
    /// May be granted something, which the script and its twin count.
    bool is_granted = false;
    /// Charges, whether it fits or not.
    bool charges_always = false;
    /// Gives quota back.
    bool gives_back = false;
    /// Moves quota from or to its caller. The others are about the key, for all callers.
    bool moves_quota = false;
    /// Counts a member, if its cost is not 0.
    bool counts_member = false;
    /// Its cost is a duration.
    bool has_duration = false;
    /// What it leaves may last for longer than the rules take to recover from their limits.
    bool outlasts_limits = false;
};

inline constexpr auto verbs = [] {
    using enum detail::verb;
    return std::to_array<verb_traits>({
        {.verb = allow,
         .tests_amount = true,
         .is_granted = true,
         .moves_quota = true,
         .counts_member = true},
        {.verb = peek,
         .only_asks = true,
         .tests_amount = true,
         .is_granted = true,
         .moves_quota = true,
         .counts_member = true},
        {.verb = charge, .charges_always = true, .moves_quota = true, .counts_member = true},
        {.verb = refund, .gives_back = true, .moves_quota = true},
        {.verb = reset, .gives_back = true},
        {.verb = block, .has_duration = true, .outlasts_limits = true},
        {.verb = reserve, .is_granted = true, .moves_quota = true, .outlasts_limits = true},
        {.verb = unreserve, .gives_back = true},
        {.verb = once, .is_granted = true, .moves_quota = true, .has_duration = true},
    });
}();

[[nodiscard]] constexpr const verb_traits& traits_of(detail::verb v) noexcept {
    BOOST_ASSERT(static_cast<std::size_t>(v) < verbs.size());
    return verbs[static_cast<std::size_t>(v)];
}

static_assert(verbs.size() == static_cast<std::size_t>(detail::verb::once) + 1,
              "one entry per verb; `once` stays the last one");
static_assert(std::ranges::all_of(verbs, [](const auto& v) { return &v == &traits_of(v.verb); }),
              "in the order of the verbs");

} // namespace colimit::core

#endif
