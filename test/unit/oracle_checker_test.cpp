// SPDX-License-Identifier: BSL-1.0
//
// The checker of the oracle: what it must notice although state was lost, and what it must not
// blame on a limiter.

#include <oracle/checker.hpp>
#include <oracle/first_decisions.hpp>
#include <support/unit_test.hpp>

#include <cstdint>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(oracle_checker)

namespace {

using namespace colimit::oracle;

/// 100 tokens per 100 ms.
constexpr auto log_limit = std::uint8_t{0};
static_assert(limits[log_limit].kind == kind::log);

[[nodiscard]] constexpr std::int64_t ms(std::int64_t n) {
    return n * 1'000;
}

struct calls {
    /// @param total after this grant
    calls& grant(std::int64_t at, std::uint16_t tokens, std::int64_t total) {
        all.push_back({.time = at,
                       .total = total,
                       .granted = tokens,
                       .limit = log_limit,
                       .verdict = verdict::granted,
                       .cost = tokens});
        return *this;
    }
    calls& add(std::int64_t at, verdict v, std::uint16_t cost) {
        all.push_back({.time = at, .limit = log_limit, .verdict = v, .cost = cost});
        return *this;
    }
    /// @param executed what the last server has counted
    [[nodiscard]] judgement judged(std::int64_t executed,
                                   const std::vector<loss>& losses = {}) const {
        auto counted = totals{};
        counted[log_limit][0] = executed;
        return judge(all, losses, counted);
    }

    std::vector<record> all;
};

void check(const judgement& j, std::int64_t over_admitted, std::int64_t double_counted) {
    BOOST_TEST(j.over_admitted == over_admitted);
    auto found = std::int64_t{0};
    for (const auto& f : j.findings)
        found += f.beyond_limit + f.beyond_count;
    BOOST_TEST(found == over_admitted); // each is said with its place
    BOOST_TEST(j.double_counted == double_counted);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_window_has_its_limit) {
    check(calls{}.grant(ms(1), 60, 60).grant(ms(50), 40, 100).grant(ms(101), 60, 160).judged(160),
          0, 0);
    check(calls{}.grant(ms(1), 60, 60).grant(ms(50), 43, 103).judged(103), 3, 0);
}

BOOST_AUTO_TEST_CASE(a_loss_allows_one_more_capacity_and_no_more) {
    const auto killed = std::vector<loss>{{.begin = ms(20), .end = ms(20)}};
    auto c = calls{};
    c.grant(ms(10), 100, 100).grant(ms(30), 100, 150); // half of the state was lost
    check(c.judged(150, killed), 0, 0);
    check(c.judged(150), 150, 0);
    check(c.grant(ms(40), 7, 157).judged(157, killed), 7, 0);
}

BOOST_AUTO_TEST_CASE(a_loss_of_other_keys_allows_nothing) {
    auto others = key_set{}.set();
    others.reset(index(log_limit, 0));
    const auto killed = std::vector<loss>{{.begin = ms(20), .end = ms(20), .keys = others}};
    check(calls{}.grant(ms(10), 100, 100).grant(ms(30), 5, 105).judged(105, killed), 5, 0);
}

BOOST_AUTO_TEST_CASE(while_two_servers_grant_each_may_grant_the_limit) {
    const auto apart = std::vector<loss>{{.begin = ms(20), .end = ms(60)}};
    auto c = calls{};
    c.grant(ms(10), 100, 100).grant(ms(30), 100, 100);
    check(c.judged(200, apart), 0, 0);
    // Then what one of them granted is forgotten.
    c.grant(ms(61), 100, 200);
    check(c.judged(200, apart), 0, 0);
    check(calls{c}.grant(ms(62), 1, 201).judged(201, apart), 1, 0);
    check(c.grant(ms(40), 9, 109).judged(209, apart), 9, 0);
}

BOOST_AUTO_TEST_CASE(a_call_that_was_made_twice_is_not_hidden_by_a_loss) {
    const auto killed = std::vector<loss>{{.begin = ms(500), .end = ms(500)}};
    auto c = calls{};
    c.grant(ms(10), 1, 1).grant(ms(20), 1, 3); // a second token was counted
    c.grant(ms(600), 1, 2);                    // and two have been lost
    check(c.judged(2, killed), 0, 1);
    check(calls{c}.add(ms(25), verdict::unknown, 1).judged(2, killed), 0, 0);
    check(calls{c}.add(ms(25), verdict::failed, 1).judged(2, killed), 0, 1);
    // A call that was made much later has nothing to do with it.
    check(calls{c}.add(ms(60'000), verdict::unknown, 1).judged(2, killed), 0, 1);
}

BOOST_AUTO_TEST_CASE(a_grant_that_was_not_counted_is_not_hidden_by_a_loss) {
    const auto killed = std::vector<loss>{{.begin = ms(500), .end = ms(500)}};
    check(calls{}.grant(ms(10), 1, 1).grant(ms(20), 2, 2).grant(ms(600), 1, 2).judged(2, killed), 1,
          0);
}

BOOST_AUTO_TEST_CASE(calls_without_a_result_are_counted) {
    const auto j = calls{}
                       .grant(ms(1), 1, 1)
                       .add(ms(2), verdict::unfinished, 1)
                       .add(ms(3), verdict::connected, 0)
                       .judged(1);
    BOOST_TEST(j.unfinished == 1);
    BOOST_TEST(j.checks == 2);
}

BOOST_AUTO_TEST_CASE(a_first_decision_is_one_by_the_store_for_a_key_that_moved) {
    auto moved = key_set{};
    moved.set(index(log_limit, 0));
    const auto f = failover{.begin = ms(100), .known = ms(200), .keys = moved};
    auto c = calls{};
    c.grant(ms(199), 1, 1).add(ms(205), verdict::refused, 1); // by the cache
    c.all.push_back({.time = ms(210), .total = 1, .key = 1, .verdict = verdict::refused});
    BOOST_TEST(first_decision_of(c.all, f, never, false, false).missing == 1);
    c.grant(ms(230), 1, 2);
    const auto found = first_decision_of(c.all, f, never, false, false);
    BOOST_TEST(found.times == std::vector{ms(30)}, boost::test_tools::per_element());
    BOOST_TEST(found.are_soon(ms(30)));
    BOOST_TEST(!found.are_soon(ms(29)));
    const auto late = first_decision_of(c.all, f, ms(230), false, false);
    BOOST_TEST(late.missing == 1);
    BOOST_TEST(!late.are_soon(ms(1'000)));
}

BOOST_AUTO_TEST_CASE(behind_sentinel_a_first_decision_is_on_a_new_connection) {
    auto f = failover{.begin = ms(100), .known = ms(200)};
    auto c = calls{};
    c.grant(ms(210), 1, 1); // the old master still decides
    BOOST_TEST(first_decision_of(c.all, f, never, true, false).missing == 1);
    c.add(ms(220), verdict::connected, 0).grant(ms(225), 1, 2);
    BOOST_TEST(first_decision_of(c.all, f, never, true, false).times == std::vector{ms(25)},
               boost::test_tools::per_element());
    // The old master was back, and may have made this decision.
    f.old_back = ms(224);
    f.old_demoted = ms(230);
    BOOST_TEST(first_decision_of(c.all, f, never, true, false).missing == 1);
}

BOOST_AUTO_TEST_CASE(a_process_that_was_cut_off_is_not_timed_but_has_to_follow) {
    const auto f = failover{.begin = ms(100), .known = ms(200), .has_partition = true};
    auto c = calls{};
    BOOST_TEST(first_decision_of(c.all, f, never, true, true).missing == 1);
    c.add(ms(220), verdict::connected, 0).grant(ms(900), 1, 2);
    const auto found = first_decision_of(c.all, f, never, true, true);
    BOOST_TEST(found.missing == 0);
    BOOST_TEST(found.times.empty());
    BOOST_TEST(first_decision_of(c.all, f, never, true, false).times.size() == 1U);
}

BOOST_AUTO_TEST_CASE(one_first_decision_of_a_hundred_may_be_late) {
    auto all = first_decisions{};
    all.add({.times = std::vector<std::int64_t>(99, ms(1)), .missing = 0});
    all.add({.times = {ms(500)}, .missing = 0});
    BOOST_TEST(all.are_soon(ms(300)));
    BOOST_TEST(all.text() == "median 1 ms, p99 1 ms, max 500 ms, of 100");
    all.add({.times = {ms(501)}, .missing = 0});
    BOOST_TEST(!all.are_soon(ms(300)));
}

BOOST_AUTO_TEST_SUITE_END()
