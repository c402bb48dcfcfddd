// SPDX-License-Identifier: BSL-1.0
//
// Calls are granted in order, and once one does not fit, the next one does not either: so the
// number that fits is a quotient. Not if a grant may leave less room than it takes, as the debt of
// another version of the policy counts too.

#include <core/allow_times.hpp>

#include <boost/assert.hpp>

#include <algorithm>

namespace colimit::core {

std::int64_t allow_times(const compiled_policy& rules, key_state& state,
                         const call_request& request, std::int64_t times) noexcept {
    BOOST_ASSERT(request.verb == verb::allow && request.at_least == request.cost &&
                 request.cost > 0 && times > 0 && rules.state_count == rules.size);
    auto result = decision{};
    auto one = request;
    one.verb = verb::peek;
    const auto is_exact = request.cost <= limits::max_exact_integer / times;
    if (is_exact) {
        one.cost = request.cost * times;
        (void)evaluate(rules, state, one, result);
    }
    one = request;
    const auto has_surplus = [](const rule_state& s) { return s.capacity < 0; };
    if (!is_exact ||
        std::any_of(state.states.begin(), state.states.begin() + rules.size, has_surplus)) {
        auto granted = std::int64_t{0};
        for (; times != 0; --times) {
            (void)evaluate(rules, state, one, result);
            granted += result.allowed() ? 1 : 0;
        }
        return granted;
    }
    const auto served = result.allowed() ? std::min(times, result.granted / request.cost) : 0;
    if (served != 0)
        one.cost = one.at_least = served * request.cost;
    (void)evaluate(rules, state, one, result);
    return served;
}

} // namespace colimit::core
