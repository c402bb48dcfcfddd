// SPDX-License-Identifier: BSL-1.0
//
// What the checker of slots notices.

#include <oracle/checker.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

BOOST_AUTO_TEST_SUITE(oracle_slots)

namespace {

using namespace colimit::oracle;

/// One microsecond after another: at how many grants are there too many?
[[nodiscard]] std::int64_t crowded_step_by_step(std::int64_t places,
                                                const std::vector<holding>& all) {
    auto found = std::int64_t{0};
    for (auto now = std::int64_t{0}; now < 100; ++now) {
        auto before = std::int64_t{0};
        auto granted = std::int64_t{0};
        for (const auto& h : all) {
            before += h.granted < now && now < h.believed ? 1 : 0;
            granted += h.granted == now && now < h.believed ? 1 : 0;
        }
        found += std::clamp(before + granted - places, std::int64_t{0}, granted);
    }
    return found;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_slot_has_one_holder_at_a_time) {
    const auto in_turn = std::vector<holding>{{10, 20, 1}, {20, 30, 2}, {31, 31, 3}, {31, 40, 4}};
    BOOST_TEST(crowded_grants(1, in_turn) == 0);
    auto one_early = in_turn;
    one_early[1].granted = 19;
    BOOST_TEST(crowded_grants(1, one_early) == 1);
    BOOST_TEST(crowded_grants(2, one_early) == 0);
}

BOOST_AUTO_TEST_CASE(all_moments_are_looked_at) {
    auto random = colimit::test::rng{7};
    auto crowded = 0;
    for (auto n = 0; n < 500; ++n) {
        auto all = std::vector<holding>{};
        for (auto left = random.between(0, 12); left > 0; --left) {
            const auto granted = random.between(0, 90);
            all.push_back({granted, granted + random.between(0, 30), 0});
        }
        const auto places = random.between(1, 4);
        const auto found = crowded_grants(places, all);
        BOOST_TEST(found == crowded_step_by_step(places, all));
        crowded += found > 0 ? 1 : 0;
    }
    BOOST_TEST(crowded > 100);
    BOOST_TEST(crowded < 400);
}

BOOST_AUTO_TEST_CASE(tokens_grow_with_the_time_of_the_grant) {
    BOOST_TEST(wrong_tokens({{30, 0, 9}, {10, 0, 3}, {20, 0, 7}}) == 0);
    BOOST_TEST(wrong_tokens({{30, 0, 5}, {10, 0, 3}, {20, 0, 7}}) == 1);
    BOOST_TEST(wrong_tokens({{10, 0, 3}, {20, 0, 3}}) == 1);
    BOOST_TEST(wrong_tokens({{10, 0, 3}, {10, 0, 3}}) == 1);
    // Two grants in one batch have one time.
    BOOST_TEST(wrong_tokens({{10, 0, 4}, {10, 0, 3}}) == 0);
}

BOOST_AUTO_TEST_CASE(each_key_under_each_limit_is_judged_by_its_own_slots) {
    const auto slot = [](std::int64_t granted, std::int64_t token, std::uint8_t limit) {
        return record{.time = granted, .end = granted + 10, .total = token, .limit = limit};
    };
    static_assert(slot_limits[0].tokens == 1 && slot_limits[1].tokens == 2);
    auto all = std::vector{slot(10, 1, 1), slot(11, 2, 1), slot(12, 1, 0)};
    BOOST_TEST(judge(mode::slots, all, {}, {}).is_well());
    all.push_back(slot(13, 2, 0));
    BOOST_TEST(judge(mode::slots, all, {}, {}).crowded == 1);
    all.back() = slot(30, 1, 0);
    const auto j = judge(mode::slots, all, {}, {});
    BOOST_TEST(j.crowded == 0);
    BOOST_TEST(j.wrong_tokens == 1);
    BOOST_TEST(!j.is_well());
}

BOOST_AUTO_TEST_SUITE_END()
