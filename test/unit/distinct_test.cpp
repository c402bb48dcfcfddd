// SPDX-License-Identifier: BSL-1.0
//
// The arithmetic on the facts of a sketch: the number of members, and the number with the one of
// the call.

#include <colimit/policy.hpp>
#include <core/evaluate.hpp>
#include <policy/policy_data.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>

BOOST_AUTO_TEST_SUITE(distinct_members)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using core::verb;

constexpr auto second = std::int64_t{1'000'000};
constexpr auto start = std::int64_t{1'700'000'000} * second; // a multiple of 10 s

/// A key with so many members, under a limit of 3 every 10 s.
struct counted {
    core::key_state state{};
    core::effect last_effect{};
    policy rules{"p", distinct(3, 10s)};

    explicit counted(std::int64_t members) {
        state.exists = true;
        state.states[0] = {.t = start + 10 * second, .debt = members, .num = 1, .capacity = 1};
    }

    /// @param members if the one that asks is counted
    decision ask(verb v, std::int64_t cost, std::int64_t members, std::int64_t at_least = 1) {
        auto answer = decision{};
        state.states[0].num = members;
        last_effect = core::evaluate(
            detail::access::data(rules)->compiled, state,
            {.verb = v, .cost = cost, .at_least = at_least, .now = start + second}, answer);
        return answer;
    }
    [[nodiscard]] std::int64_t members() const { return state.states[0].debt; }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_new_member_is_counted_once_whatever_it_costs) {
    for (const auto cost : {1, 2, 3}) {
        auto k = counted{2};
        const auto d = k.ask(verb::allow, cost, 3, cost);
        BOOST_TEST(d.granted == cost);
        BOOST_TEST(d.remaining == 0);
        BOOST_TEST(d.rules[0].retry_after.count() == 0);
        BOOST_TEST(d.reset_after.count() == 9 * second);
        BOOST_TEST(k.members() == 3);
        BOOST_TEST((k.last_effect == core::effect::store));
    }
}

BOOST_AUTO_TEST_CASE(a_member_too_many_waits_for_the_next_window) {
    auto k = counted{3};
    for (const auto cost : {1, 2, 3}) {
        const auto d = k.ask(verb::allow, cost, 4);
        BOOST_TEST((d.outcome == outcome::denied));
        BOOST_TEST(d.granted == 0);
        BOOST_TEST(d.retry_after.count() == 9 * second);
        BOOST_TEST(k.members() == 3);
        BOOST_TEST((k.last_effect == core::effect::nothing));
    }
    BOOST_TEST((k.ask(verb::allow, 4, 4, 4).outcome == outcome::never));
}

BOOST_AUTO_TEST_CASE(one_that_was_counted_is_let_in_at_the_limit) {
    auto k = counted{3};
    BOOST_TEST(k.ask(verb::allow, 1, 3).allowed());
    BOOST_TEST(k.ask(verb::peek, 2, 3).granted == 2);
    BOOST_TEST(k.members() == 3);
}

BOOST_AUTO_TEST_CASE(who_asks_for_nothing_is_let_in_unless_there_are_too_many) {
    auto k = counted{3};
    const auto d = k.ask(verb::allow, 0, 3, 0);
    BOOST_TEST(d.allowed());
    BOOST_TEST(d.retry_after.count() == 0);
    BOOST_TEST((k.last_effect == core::effect::nothing));
    k = counted{4};
    BOOST_TEST(!k.ask(verb::allow, 0, 4, 0).allowed());
    BOOST_TEST(k.ask(verb::peek, 0, 4, 0).rules[0].balance == -1);
}

BOOST_AUTO_TEST_CASE(a_charge_counts_even_one_too_many) {
    auto k = counted{3};
    const auto d = k.ask(verb::charge, 5, 4, 5);
    BOOST_TEST(k.members() == 4);
    BOOST_TEST(d.rules[0].balance == -1);
    BOOST_TEST(d.retry_after.count() == 9 * second);
    BOOST_TEST(k.ask(verb::refund, 5, 4, 5).rules[0].balance == -1); // no member is given back
}

BOOST_AUTO_TEST_SUITE_END()
