// SPDX-License-Identifier: BSL-1.0
//
// States that another version of the policy has stored: converted to the tick, shown up to the
// rule's capacity, and changed without losing what the other version still counts.

#include <core/versions.hpp>
#include <support/key_history.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(versions)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using core::ceil_share;
using test::key_history;

__extension__ using wide = __int128;

constexpr auto second = std::int64_t{1'000'000};
constexpr auto start = std::int64_t{1'699'999'200} * second; // an hour begins

[[nodiscard]] key_history key_of(const rule& r) {
    auto k = key_history{policy{"p", r.named("r")}, start};
    k.forget_flags_between_calls = true;
    return k;
}

/// The same key, for the next calls under another rule.
void use(key_history& k, const rule& r) {
    k.policy = policy{"p", r.named("r")};
}

[[nodiscard]] const core::rule_state& state_of(const key_history& k) {
    return k.state.states[0];
}

constexpr auto low = gcra(10, 1min);
constexpr auto high = gcra(20, 1min);

} // namespace

BOOST_AUTO_TEST_CASE(a_share_is_exact_up_to_26_bits_and_hardly_above_it_beyond) {
    auto random = std::mt19937_64{1};
    const auto up_to = [&](std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>{0, most}(random);
    };
    for (int i = 0; i < 100'000; ++i) {
        const auto bits = up_to(52);
        const auto from = 1 + up_to((std::int64_t{1} << bits) - 1);
        const auto to = 1 + up_to((std::int64_t{1} << up_to(52)) - 1);
        const auto part = i % 4 == 0 ? from - 1 : up_to(from - 1);
        const auto product = wide{part} * to;
        const auto exact = static_cast<std::int64_t>((product + from - 1) / from);
        const auto got = ceil_share(part, from, to);
        BOOST_TEST_REQUIRE(got >= exact);
        BOOST_TEST_REQUIRE(got <= exact + (from <= (1 << 26) ? 0 : to / (1 << 25) + 1));
        BOOST_TEST_REQUIRE(got <= to);
    }
}

BOOST_AUTO_TEST_CASE(the_largest_debt_saturates_where_charge_does) {
    for (const auto& r : {low, gcra(1'000'000, 1s), gcra(1, 24h)}) {
        auto k = key_of(r);
        const auto& l = k.plan().rules()[0];
        for (const auto num : {std::int64_t{1}, std::int64_t{7}, core::steps_mark,
                               core::steps_mark + 1, limits::max_exact_integer}) {
            k.state.exists = true;
            k.state.states[0] = {
                .t = start, .debt = limits::max_exact_integer, .num = num, .capacity = 0};
            const auto d = k.peek(0);
            BOOST_TEST(d.reset_after.count() > 0);
            BOOST_TEST((d.reset_after <= limits::max_repayment));
            BOOST_TEST(d.rules[0].balance >= (l.debt_limit - l.debt_max) / l.num - 1);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_grant_keeps_what_is_above_the_capacity_for_the_other_version) {
    auto k = key_of(high);
    k.allow(20);
    use(k, low);
    BOOST_TEST(!k.allow().allowed());
    BOOST_TEST((k.last_effect == core::effect::nothing));
    BOOST_TEST(k.peek(1).retry_after.count() == 6 * second);
    k.now += 6 * second;
    BOOST_TEST(k.allow().allowed());
    // 20 - 1 + 1 tokens are owed: the capacity says that they are not this version's own.
    BOOST_TEST(state_of(k).debt == 20 * k.plan().rules()[0].num);
    BOOST_TEST(state_of(k).capacity == 20);
    BOOST_TEST(k.peek(1).retry_after.count() == 6 * second);
    use(k, high);
    BOOST_TEST(k.peek(0).remaining == 0);
    BOOST_TEST(k.peek(1).retry_after.count() == 3 * second);
}

BOOST_AUTO_TEST_CASE(what_fits_the_capacity_again_has_the_rules_own_numbers) {
    auto k = key_of(high);
    k.allow(12);
    use(k, low);
    k.now += 18 * second;
    BOOST_TEST(k.allow(1).allowed()); // 12 - 3 + 1
    BOOST_TEST(state_of(k).capacity == 10);
    BOOST_TEST(k.peek(0).remaining == 0);
}

BOOST_AUTO_TEST_CASE(conversions_to_and_fro_cost_no_tokens) {
    auto k = key_of(gcra(19, 1min));
    for (int i = 0; i < 10; ++i) {
        use(k, i % 2 == 0 ? gcra(19, 1min) : gcra(20, 1min));
        BOOST_TEST(k.allow().allowed());
    }
    BOOST_TEST(k.peek(0).remaining == 10);
}

BOOST_AUTO_TEST_CASE(a_place_reserved_above_the_capacity_is_whole_for_each_version) {
    auto k = key_of(low);
    k.allow(10);
    BOOST_TEST(k.reserve(10, 60 * second).allowed());
    BOOST_TEST(k.reserve(10, 120 * second).allowed());
    BOOST_TEST(state_of(k).capacity == 0);
    use(k, high);
    BOOST_TEST(k.peek(0).rules[0].balance == -10);
    BOOST_TEST(!k.allow().allowed());
    use(k, low);
    BOOST_TEST(k.peek(0).rules[0].balance == -20);
}

BOOST_AUTO_TEST_CASE(a_place_is_for_after_all_that_the_other_version_has_left) {
    auto k = key_of(high);
    k.allow(20);
    use(k, low);
    BOOST_TEST(!k.reserve(1, 65 * second).allowed());
    BOOST_TEST((k.last_effect == core::effect::nothing));
    const auto place = k.reserve(1, 66 * second);
    BOOST_TEST(place.allowed());
    BOOST_TEST(place.retry_after.count() == 66 * second);
}

BOOST_AUTO_TEST_CASE(charge_and_refund_change_the_whole) {
    auto k = key_of(high);
    k.allow(20);
    use(k, low);
    k.refund(4);
    use(k, high);
    BOOST_TEST(k.peek(0).remaining == 4);
    use(k, low);
    BOOST_TEST(k.charge(1).rules[0].balance == -7); // more than fits: the whole is owed
    use(k, high);
    BOOST_TEST(k.peek(0).remaining == 3);
}

BOOST_AUTO_TEST_CASE(steps_of_another_period_are_repaid_after_a_whole_period_of_the_rule) {
    const auto often = token_bucket(10, 10, 10s).stepwise();
    const auto rarely = token_bucket(10, 10, 60s).stepwise();
    auto k = key_of(often);
    k.allow(10); // the next boundary is after 10 s
    use(k, rarely);
    k.now += 10 * second;
    BOOST_TEST(!k.allow().allowed());
    BOOST_TEST((k.last_effect == core::effect::nothing));
    BOOST_TEST(k.peek(1).retry_after.count() == 50 * second);
    k.now += 50 * second;
    BOOST_TEST(k.allow(10).allowed());
}

BOOST_AUTO_TEST_CASE(a_grant_with_a_shorter_gap_keeps_the_longer_one_of_the_other_version) {
    const auto p = policy{"p", gcra(100, 1s)};
    auto k = key_history{p.prevent_duplicate(60s), start};
    k.forget_flags_between_calls = true;
    k.allow();
    k.policy = p.prevent_duplicate(1s);
    k.now += second;
    BOOST_TEST(k.allow().allowed());
    BOOST_TEST(k.peek(1).retry_after.count() == second);
    k.policy = p.prevent_duplicate(60s);
    BOOST_TEST(k.peek(1).retry_after.count() == 59 * second);
}

/// P16, by the time of the decision: a place that `wait` reserves is up to `patience` ahead of it.
BOOST_AUTO_TEST_CASE(P16_what_wait_reserves_counts_for_both_versions) {
    for (unsigned seed = 1; seed <= 200; ++seed) {
        auto random = std::mt19937_64{seed};
        const auto up_to = [&](std::int64_t most) {
            return std::uniform_int_distribution<std::int64_t>{0, most}(random);
        };
        struct numbers {
            std::int64_t capacity;
            std::int64_t count;
            std::int64_t period;
        };
        constexpr std::int64_t periods[] = {1, 10, 60};
        const auto next = [&] {
            return numbers{1 + up_to(20), 1 + up_to(20), periods[up_to(2)] * second};
        };
        const numbers versions[] = {next(), next()};
        const auto patience = up_to(20 * second);
        const auto most = [&](std::int64_t length) {
            auto rate = std::int64_t{0};
            for (const auto& n : versions)
                rate = std::max(rate, core::ceil_div(n.count * (length + patience), n.period));
            return std::max(versions[0].capacity, versions[1].capacity) + rate;
        };
        auto k = key_of(low);
        auto granted = std::vector<std::pair<std::int64_t, std::int64_t>>{};
        for (int i = 0; i < 150; ++i) {
            k.now += up_to(3) == 0 ? up_to(5 * second) : up_to(second / 10);
            const auto& n = versions[up_to(1)];
            use(k, token_bucket(n.capacity, n.count, std::chrono::microseconds{n.period}));
            const auto cost = 1 + up_to(2);
            const auto d = up_to(1) == 0 ? k.reserve(cost, patience) : k.allow(cost);
            granted.emplace_back(k.now, d.granted);
            auto sum = std::int64_t{0};
            for (auto one = granted.rbegin(); one != granted.rend(); ++one) {
                sum += one->second;
                BOOST_TEST_REQUIRE(sum <= most(k.now - one->first), "seed " << seed);
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
