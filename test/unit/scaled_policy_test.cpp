// SPDX-License-Identifier: BSL-1.0
//
// A policy's share for one of several processes.

#include <colimit/rule_text.hpp>
#include <policy/policy_data.hpp>
#include <policy/scaled_policy.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <string>

BOOST_AUTO_TEST_SUITE(scaled_policies)

namespace {

using namespace std::chrono_literals;
using namespace colimit;

[[nodiscard]] std::string share_of(const rule& r, fraction part) {
    const auto whole = policy{"p", r};
    return to_string(detail::scaled(*detail::access::data(whole), part)[0]);
}

void check(const rule& r, fraction part, const rule& expected) {
    BOOST_TEST(share_of(r, part) == to_string(expected.named(r.name())));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_continuous_bucket_holds_less_and_is_repaid_more_slowly) {
    check(gcra(100, 1s).burst(40), {1, 4}, gcra(100, 4s).burst(10));
    check(token_bucket(10, 3, 1s).initially(6), {1, 2}, token_bucket(5, 3, 2s).initially(3));
    check(leaky_bucket(9, 1, 1s), {2, 3}, leaky_bucket(6, 1, 1500ms));
    check(cell(3, 30, 60s), {1, 2}, cell(1, 30, 120s));
}

BOOST_AUTO_TEST_CASE(its_period_is_rounded_up_so_that_nothing_is_repaid_early) {
    check(gcra(3, 1us).burst(6), {2, 3}, gcra(3, 2us).burst(4));
    check(gcra(100, 1s).burst(300), {3, 7}, gcra(100, 2'333'334us).burst(128));
}

BOOST_AUTO_TEST_CASE(everything_else_is_rounded_down_and_is_at_least_one) {
    check(sliding_log(10, 1min), {1, 4}, sliding_log(2, 1min));
    check(sliding_log(3, 1min).count_denied(), {1, 4}, sliding_log(1, 1min).count_denied());
    check(fixed_window(10, 1h).from_first(), {1, 3}, fixed_window(3, 1h).from_first());
    check(sliding_window(1'000'000, 1h), {1, 1'000'000}, sliding_window(1, 1h));
    check(distinct(5, 1h), {1, 2}, distinct(2, 1h));
    check(calendar(7, calendar_unit::week, 90min), {1, 2}, calendar(3, calendar_unit::week, 90min));
    check(token_bucket(10, 3, 1s).stepwise(), {1, 2}, token_bucket(5, 1, 1s).stepwise());
    check(token_bucket(1, 1, 1s).aligned(), {1, 2}, token_bucket(1, 1, 1s).aligned());
}

BOOST_AUTO_TEST_CASE(a_rule_at_the_edge_of_the_arithmetic_stays_a_rule) {
    for (const auto& r : {gcra(1, limits::max_recovery), gcra(7, 24h * 36'000).burst(7),
                          gcra(limits::max_exact_integer, 1s).burst(1),
                          sliding_log(limits::max_log_events, limits::max_recovery)})
        for (const auto part :
             {fraction{1, 1'000'000}, fraction{999'999, 1'000'000}, fraction{1, 3}}) {
            const auto whole = policy{"p", r};
            const auto here = detail::scaled(*detail::access::data(whole), part);
            BOOST_TEST(here[0].capacity() <= r.capacity());
            BOOST_TEST(here[0].capacity() >= 1);
        }
}

BOOST_AUTO_TEST_CASE(names_options_and_the_place_of_the_state_stay) {
    const auto whole = policy{"p", gcra(100, 1s).named("a").shadow(), sliding_log(10, 1min)}
                           .prevent_duplicate(5s)
                           .with_prefix("x");
    const auto here = detail::scaled(*detail::access::data(whole), {1, 2});
    BOOST_TEST((here == policy{"p", gcra(100, 2s).burst(50).named("a").shadow(),
                               sliding_log(5, 1min).named("sliding_log")}
                            .prevent_duplicate(5s)
                            .with_prefix("x")));
    BOOST_TEST((detail::access::data(here)->id == detail::access::data(whole)->id));
    for (std::uint32_t i = 0; i < detail::access::data(whole)->compiled.state_count; ++i)
        BOOST_TEST(detail::access::data(here)->compiled.limits[i].tag ==
                   detail::access::data(whole)->compiled.limits[i].tag);
    BOOST_TEST(
        detail::access::options(detail::scaled(*detail::access::data(whole.shadow()), {1, 2}))
            .shadow);
    const auto packed = policy{"p", gcra(100, 1s)}.with_storage(storage::shared_hash);
    BOOST_TEST(
        (detail::access::options(detail::scaled(*detail::access::data(packed), {1, 2})).storage ==
         storage::shared_hash));
}

BOOST_AUTO_TEST_SUITE_END()
