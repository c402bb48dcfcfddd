// SPDX-License-Identifier: BSL-1.0
//
// The table of verbs: the properties by which code distinguishes them.
//
// Some verbs are others, so that no store and no table needs to know them:
//
//   - `once` is a block, for a time that depends on no rule: its policy has no rules.
//   - `count_distinct` is a peek of cost 0, whose balance is the number of members. So the two
//     cannot differ, in any store and under any version of a policy. Failure modes do not apply to
//     it: they would report a limit, or what one process has counted.
//   - `charge_members` is a charge per member, in one batch if they fit, so other rules are charged
//     for each member. The price is that other calls may come between two of them, which makes no
//     difference to a sketch.
//   - `probably_seen` is the peek of a filter: in the batches of `seen`, in the order of the calls.
//     It writes nothing, also after the clock was set back, when `seen` moves a bitmap to the
//     present.

#pragma once

#include <colimit/detail/call_request.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace colimit::core {

struct verb_traits {
    detail::verb verb;
    bool only_asks = false;       ///< changes nothing
    bool tests_amount = false;    ///< depends on whether `at_least` fits, and returns no quota
    bool takes_grant = false;     ///< charges what it is granted
    bool is_granted = false;      ///< may be granted tokens, which the script and its twin count
    bool charges_always = false;  ///< charges even if the cost does not fit
    bool gives_back = false;      ///< returns quota
    bool moves_quota = false;     ///< moves quota from or to its caller; others affect all callers
    bool may_have_id = false;     ///< may be made again with the same id, and is charged once
    bool has_holder = false;      ///< of a slot of a `concurrent` rule
    bool counts_member = false;   ///< counts a member, if its cost is not 0
    bool has_duration = false;    ///< its cost is a duration
    bool outlasts_limits = false; ///< its effect may outlast the recovery of the rules from limits
};

inline constexpr auto verbs = [] {
    using enum detail::verb;
    return std::to_array<verb_traits>({
        {.verb = allow,
         .tests_amount = true,
         .takes_grant = true,
         .is_granted = true,
         .moves_quota = true,
         .may_have_id = true,
         .counts_member = true},
        {.verb = peek,
         .only_asks = true,
         .tests_amount = true,
         .is_granted = true,
         .moves_quota = true,
         .counts_member = true},
        {.verb = charge,
         .charges_always = true,
         .moves_quota = true,
         .may_have_id = true,
         .counts_member = true},
        {.verb = refund, .gives_back = true, .moves_quota = true, .may_have_id = true},
        {.verb = reset, .gives_back = true},
        {.verb = block, .has_duration = true, .outlasts_limits = true},
        {.verb = reserve, .is_granted = true, .moves_quota = true, .counts_member = true},
        {.verb = unreserve, .gives_back = true},
        {.verb = once, .is_granted = true, .moves_quota = true, .has_duration = true},
        {.verb = acquire,
         .tests_amount = true,
         .takes_grant = true,
         .is_granted = true,
         .moves_quota = true,
         .has_holder = true},
        {.verb = renew, .is_granted = true, .moves_quota = true, .has_holder = true},
        {.verb = release, .gives_back = true, .moves_quota = true, .has_holder = true},
        {.verb = inspect, .only_asks = true},
    });
}();

[[nodiscard]] constexpr const verb_traits& traits_of(detail::verb v) noexcept {
    BOOST_ASSERT(static_cast<std::size_t>(v) < verbs.size());
    return verbs[static_cast<std::size_t>(v)];
}

static_assert(verbs.size() == static_cast<std::size_t>(detail::verb::inspect) + 1,
              "one entry per verb; `inspect` stays the last one");
static_assert(std::ranges::all_of(verbs, [](const auto& v) { return &v == &traits_of(v.verb); }),
              "the entries have the order of the verbs");

} // namespace colimit::core
