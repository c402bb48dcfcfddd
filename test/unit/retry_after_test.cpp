// SPDX-License-Identifier: BSL-1.0
//
// `retry_after` of random policies is exact: at that time the call would be allowed, and a
// microsecond earlier it would not, whatever has denied it. Some policies have only shadow rules,
// some prevent duplicates, and keys are blocked.

#include <colimit/policy.hpp>
#include <core/evaluate.hpp>
#include <core/verb_traits.hpp>
#include <policy/policy_data.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(retry_after)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using core::call_request;
using core::verb;
using std::chrono::microseconds;
using test::rng;

[[nodiscard]] rule any_rule(rng& d) {
    const auto count = d.between(1, 10);
    const auto period = microseconds{d.between(1, 20) * 250'000};
    const auto burst = d.between(1, 12);
    const auto initial = [&](const rule& r) {
        return d.percent(30) ? r.initially(d.between(0, r.capacity())) : r;
    };
    switch (d.below(7)) {
    case 0:
        return initial(gcra(count, period).burst(burst));
    case 1:
        return initial(token_bucket(burst, count, period).stepwise());
    case 2:
        return initial(token_bucket(burst, count, period).aligned());
    case 3:
        return fixed_window(count, period);
    case 4:
        return fixed_window(count, period).from_first();
    case 5:
        return sliding_window(count, period);
    default:
        return calendar(count * 10, calendar_unit::day);
    }
}

[[nodiscard]] policy any_policy(rng& d) {
    static constexpr int shadows[] = {0, 30, 100};
    const auto shadow = shadows[d.below(3)];
    auto rules = std::vector<rule>{};
    for (auto left = 1 + d.below(3); left > 0; --left)
        rules.push_back(any_rule(d)
                            .named("r" + std::to_string(left))
                            .shadow(d.percent(static_cast<std::uint64_t>(shadow))));
    auto made = policy{"p", std::span<const rule>{rules}};
    if (d.percent(40))
        made = made.prevent_duplicate(microseconds{d.between(1, 4'000'000)});
    return d.percent(5) ? made.shadow() : made;
}

[[nodiscard]] call_request any_request(rng& d, std::int64_t now) {
    static constexpr verb verbs[] = {verb::allow, verb::allow,  verb::allow,
                                     verb::peek,  verb::charge, verb::refund};
    if (d.percent(5))
        return {.verb = verb::block, .cost = d.between(1, 5'000'000), .now = now};
    const auto cost = d.between(0, 6);
    const auto v = verbs[d.below(std::size(verbs))];
    const auto at_least = d.percent(70) ? cost : d.between(0, cost);
    return {.verb = v, .cost = cost, .at_least = at_least, .now = now};
}

struct key {
    const policy& of;
    core::key_state state{};

    decision make(const call_request& request) {
        auto made = decision{};
        const auto& rules = detail::access::data(of)->compiled;
        const auto found = state;
        const auto effect = core::evaluate(rules, state, request, made);
        if (effect == core::effect::nothing)
            state = found;
        if (effect == core::effect::erase)
            state = {};
        return made;
    }
    [[nodiscard]] decision peek(call_request request, std::int64_t now) const {
        auto copy = *this;
        request.verb = verb::peek;
        request.now = now;
        return copy.make(request);
    }
};

/// Returns whether only buckets with `initially` deny the call, for which the key is new again.
[[nodiscard]] bool is_new_again(const policy& p, const decision& later) {
    for (std::size_t i = 0; i < later.rules.size(); ++i)
        if (!p[i].is_shadow() && !p[i].has_initial() && later.rules[i].retry_after > 0us)
            return false;
    return later.reason == denial_reason::rule && p[later.limiting_rule].has_initial();
}

/// Makes a call, and again when its denial says, until it is granted.
[[nodiscard]] bool is_granted_in_the_end(key one, call_request request, std::int64_t at) {
    request.verb = verb::allow;
    for (auto tries = 0; tries < 4; ++tries) {
        request.now = at;
        const auto made = one.make(request);
        if (made.allowed())
            return true;
        at += made.retry_after.count();
    }
    return false;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_call_is_allowed_after_it_and_not_before) {
    auto denied = std::vector<int>(3); // by reason
    auto new_again = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        auto d = rng{seed};
        const auto p = any_policy(d);
        auto one = key{p};
        auto now = std::int64_t{1'700'000'000'000'000};
        for (auto i = 0; i < 100; ++i) {
            now += d.percent(30) ? 0 : d.between(0, d.percent(20) ? 8'000'000 : 300'000);
            const auto request = any_request(d, now);
            const auto found = one;
            const auto made = one.make(request);
            const auto& traits = core::traits_of(request.verb);
            if (!traits.tests_amount || made.outcome != outcome::denied)
                continue;
            const auto at = now + made.retry_after.count();
            const auto after = one.peek(request, at);
            if (!after.allowed() && is_new_again(p, after)) {
                // rule.hpp: no later time would be right, but the denial then leads to a grant.
                for (const auto later : {1us, microseconds{1s}, microseconds{24h * 30}})
                    BOOST_TEST_REQUIRE(!one.peek(request, at + later.count()).allowed(),
                                       "seed " << seed << ", call " << i);
                BOOST_TEST_REQUIRE(is_granted_in_the_end(one, request, at),
                                   "seed " << seed << ", call " << i);
                ++new_again;
                continue;
            }
            ++denied[static_cast<std::size_t>(made.reason)];
            BOOST_TEST_REQUIRE(after.allowed(), "seed " << seed << ", call " << i);
            BOOST_TEST_REQUIRE(!found.peek(request, at - 1).allowed(),
                               "seed " << seed << ", call " << i);
            const auto by_rule = made.reason == denial_reason::rule;
            BOOST_TEST_REQUIRE((!by_rule || !p[made.limiting_rule].is_shadow()));
        }
    }
    for (const auto count : denied)
        BOOST_TEST(count > 300);
    BOOST_TEST(new_again > 0);
}

BOOST_AUTO_TEST_CASE(shadow_rules_alone_deny_nothing) {
    const auto p =
        policy{"p", fixed_window(5, 1h).shadow()}.prevent_duplicate(std::chrono::seconds{1});
    const auto now = std::int64_t{3'600'000'001};
    auto one = key{p};
    (void)one.make({.verb = verb::allow, .cost = 5, .at_least = 5, .now = now});
    const auto duplicate =
        one.make({.verb = verb::allow, .cost = 1, .at_least = 1, .now = now + 1});
    BOOST_TEST((duplicate.reason == denial_reason::duplicate));
    BOOST_TEST(duplicate.retry_after.count() == 999'999);
    BOOST_TEST(duplicate.limit == 0);
    (void)one.make({.verb = verb::block, .cost = 5'000'000, .now = now + 2});
    const auto blocked = one.make({.verb = verb::allow, .cost = 1, .at_least = 1, .now = now + 3});
    BOOST_TEST((blocked.reason == denial_reason::block));
    BOOST_TEST(blocked.retry_after.count() == 4'999'999);
}

BOOST_AUTO_TEST_SUITE_END()
