// SPDX-License-Identifier: BSL-1.0
//
// Places in the future: what `wait` reserves, and gives back when it is cancelled.

#include <support/key_history.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

BOOST_AUTO_TEST_SUITE(reservations)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using test::key_history;

constexpr auto second = std::int64_t{1'000'000};
constexpr auto start = std::int64_t{1'700'000'000} * second;
constexpr auto patient = 3'600 * second;

[[nodiscard]] key_history key_of(const policy& p) {
    return {p, start};
}

} // namespace

BOOST_AUTO_TEST_CASE(who_fits_has_his_turn_now) {
    auto k = key_of(gcra(2, 1s));
    const auto d = k.reserve(2, patient);
    BOOST_TEST(d.allowed());
    BOOST_TEST(d.granted == 2);
    BOOST_TEST(d.retry_after.count() == 0);
    BOOST_TEST(d.remaining == 0);
}

BOOST_AUTO_TEST_CASE(turns_come_one_after_the_other) {
    auto k = key_of(gcra(2, 1s).burst(1));
    auto turns = std::vector<std::int64_t>{};
    for (int i = 0; i < 4; ++i)
        turns.push_back(k.reserve(1, patient).retry_after.count());
    BOOST_TEST((turns == std::vector<std::int64_t>{0, second / 2, second, 3 * second / 2}));
    k.now += second / 4;
    BOOST_TEST(k.reserve(1, patient).retry_after.count() == 2 * second - second / 4);
}

BOOST_AUTO_TEST_CASE(a_turn_is_when_allow_would_have_granted_it_to_one_who_waited) {
    for (const auto cost : {1, 2, 3}) {
        auto k = key_of(gcra(3, 1s));
        k.allow(3);
        auto waited = k;
        const auto d = k.reserve(cost, patient);
        BOOST_TEST(d.granted == cost);
        waited.now += d.retry_after.count() - 1;
        auto early = waited;
        BOOST_TEST(!early.allow(cost).allowed());
        waited.now += 1;
        BOOST_TEST(waited.allow(cost).allowed());
        k.now = waited.now;
        BOOST_TEST((k.peek(0).rules == waited.peek(0).rules));
    }
}

BOOST_AUTO_TEST_CASE(who_would_wait_too_long_is_refused_at_once_and_charged_nothing) {
    auto k = key_of(gcra(1, 1s));
    k.allow();
    const auto d = k.reserve(1, second - 1);
    BOOST_TEST((d.outcome == outcome::denied));
    BOOST_TEST(d.granted == 0);
    BOOST_TEST(d.retry_after.count() == second);
    BOOST_TEST((k.last_effect == core::effect::nothing));
    const auto in_time = k.reserve(1, second);
    BOOST_TEST(in_time.allowed());
    BOOST_TEST(in_time.retry_after.count() == second);
}

BOOST_AUTO_TEST_CASE(a_cost_above_the_capacity_has_no_turn) {
    auto k = key_of(gcra(2, 1s));
    BOOST_TEST((k.reserve(3, patient).outcome == outcome::never));
    BOOST_TEST((k.last_effect == core::effect::nothing));
}

BOOST_AUTO_TEST_CASE(who_reserves_stands_before_who_asks_later) {
    auto k = key_of(gcra(1, 1s));
    k.allow();
    k.reserve(1, patient);
    k.now += second; // the reserved turn
    BOOST_TEST(k.allow().retry_after.count() == second);
}

BOOST_AUTO_TEST_CASE(every_rule_is_charged_as_at_the_turn) {
    // The slow rule makes all calls wait; the fast one has recovered by then, and has a debt of one
    // token at that time, not now.
    auto k = key_of(policy{"p", gcra(1, 10s).named("slow"), gcra(2, 1s).named("fast")});
    k.allow();
    const auto d = k.reserve(1, patient);
    BOOST_TEST(d.retry_after.count() == 10 * second);
    BOOST_TEST(d.rules[1].reset_after.count() == 10 * second + second / 2);
    k.now += 10 * second;
    BOOST_TEST(k.peek(0).rules[0].balance == 0);
    BOOST_TEST(k.peek(0).rules[1].balance == 1);
}

BOOST_AUTO_TEST_CASE(a_shadow_rule_makes_nobody_wait) {
    auto k = key_of(policy{"p", gcra(1, 10s).named("new").shadow(), gcra(5, 1s)});
    k.reserve(1, patient);
    BOOST_TEST(k.reserve(1, patient).retry_after.count() == 0);
}

BOOST_AUTO_TEST_CASE(a_cancelled_place_is_given_back) {
    auto k = key_of(gcra(1, 1s));
    k.allow();
    const auto d = k.reserve(1, patient);
    k.now += second / 3;
    k.unreserve(1, d);
    BOOST_TEST((k.last_effect == core::effect::store));
    BOOST_TEST(k.reserve(1, patient).retry_after.count() == second - second / 3);
}

BOOST_AUTO_TEST_CASE(a_place_before_a_later_one_lapses) {
    auto k = key_of(gcra(1, 1s));
    k.allow();
    const auto first = k.reserve(1, patient);
    const auto later = k.reserve(1, patient);
    k.unreserve(1, first);
    BOOST_TEST((k.last_effect == core::effect::nothing));
    k.unreserve(1, later);
    BOOST_TEST((k.last_effect == core::effect::store));
    k.unreserve(1, first);
    BOOST_TEST((k.last_effect == core::effect::store));
    BOOST_TEST(k.reserve(1, patient).retry_after.count() == second);
}

BOOST_AUTO_TEST_CASE(a_place_is_found_again_at_any_time_and_in_any_unit) {
    for (const auto& r : {gcra(7, 1s), gcra(104'729, 24h).burst(1), gcra(3, 7s).burst(2)}) {
        auto k = key_of(policy{"p", r});
        k.now += 123'457;
        k.charge(r.capacity());
        const auto balance = k.peek(0).rules[0].balance;
        const auto d = k.reserve(1, patient);
        k.now += d.retry_after.count() / 2;
        k.unreserve(1, d);
        BOOST_TEST((k.last_effect == core::effect::store));
        BOOST_TEST(k.peek(0).rules[0].balance >= balance);
    }
}

BOOST_AUTO_TEST_CASE(who_is_blocked_or_repeats_himself_gets_no_place) {
    auto k = key_of(gcra(1, 1s));
    k.block(second);
    BOOST_TEST((k.reserve(1, patient).reason == denial_reason::block));
    BOOST_TEST((k.last_effect == core::effect::nothing));
    k = key_of(policy{"p", gcra(5, 1s)}.prevent_duplicate(5s));
    BOOST_TEST(k.reserve(1, patient).allowed());
    BOOST_TEST((k.reserve(1, patient).reason == denial_reason::duplicate));
}

BOOST_AUTO_TEST_SUITE_END()
