// SPDX-License-Identifier: BSL-1.0
//
// local_limiter: the verbs, the clock, and its errors.

#include <colimit/local_limiter.hpp>
#include <support/unit_test.hpp>

#include <support/refusal.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

BOOST_AUTO_TEST_SUITE(memory_limiter)

using namespace std::chrono_literals;
using colimit::errc;
using colimit::gcra;
using colimit::local_limiter;
using colimit::policy;

namespace {

const policy five{"five", gcra(5, 1h)};
constexpr auto noon = colimit::time_point{1'700'000'000s};

/// A predicate on the code, for exceptions.
[[nodiscard]] auto with(errc code) {
    return [code](const colimit::error& e) { return e.code() == code && !e.reason().empty(); };
}

} // namespace

BOOST_AUTO_TEST_CASE(the_verbs_do_what_they_say) {
    auto limiter = local_limiter{100};
    BOOST_TEST(limiter.allow("k", five, {.cost = 2, .now = noon}).remaining == 3);
    BOOST_TEST(limiter.peek("k", five, {.cost = 4, .now = noon}).allowed() == false);
    BOOST_TEST(limiter.allow("k", five, {.cost = 9, .at_least = 1, .now = noon}).granted == 3);
    BOOST_TEST(limiter.charge("k", five, {.cost = 2, .now = noon}).rules[0].balance == -2);
    BOOST_TEST(limiter.refund("k", five, {.cost = 3, .now = noon}).remaining == 1);
    BOOST_TEST(limiter.reset("k", five, {.now = noon}).remaining == 5);
    BOOST_TEST(limiter.statistics().states == 0U);
    BOOST_TEST((limiter.peek("k", five, {.now = noon}).server_time == noon));
}

BOOST_AUTO_TEST_CASE(without_a_supplied_clock_the_time_is_that_of_the_system) {
    auto limiter = local_limiter{};
    const auto now = [] {
        return std::chrono::time_point_cast<std::chrono::microseconds>(
            std::chrono::system_clock::now());
    };
    const auto before = now();
    const auto d = limiter.allow("k", five);
    BOOST_TEST((before <= d.server_time && d.server_time <= now()));
    BOOST_TEST((limiter.statistics().capacity == local_limiter::default_states));
}

BOOST_AUTO_TEST_CASE(numbers_out_of_range_are_refused_with_a_reason) {
    auto limiter = local_limiter{100};
    const auto wrong = with(errc::invalid_argument);
    BOOST_CHECK_EXCEPTION(limiter.allow("k", five, {.cost = -1}), colimit::error, wrong);
    BOOST_CHECK_EXCEPTION(limiter.allow("k", five, {.cost = std::int64_t{1} << 53}), colimit::error,
                          wrong);
    BOOST_CHECK_EXCEPTION(limiter.allow("k", five, {.cost = 1, .at_least = 2}), colimit::error,
                          wrong);
    BOOST_CHECK_EXCEPTION(limiter.allow("k", five, {.cost = 1, .at_least = -1}), colimit::error,
                          wrong);
    BOOST_CHECK_EXCEPTION(limiter.charge("k", five, {.cost = -1}), colimit::error, wrong);
    BOOST_CHECK_EXCEPTION(limiter.refund("k", five, {.cost = -1}), colimit::error, wrong);
    BOOST_CHECK_EXCEPTION(limiter.reset("k", five, {.now = colimit::time_point{-1us}}),
                          colimit::error, wrong);
    BOOST_CHECK_EXCEPTION(limiter.peek("k", five, {.now = colimit::time_point::max()}),
                          colimit::error, wrong);
    BOOST_TEST(limiter.statistics().states == 0U);
}

BOOST_AUTO_TEST_CASE(a_distinct_rule_wants_to_know_which_member) {
    const auto two = policy{"two", colimit::distinct(2, 1h)};
    auto limiter = local_limiter{100};
    const auto wrong = [](const colimit::error& e) {
        return e.code() == errc::invalid_argument &&
               e.reason() == "member: missing, and the policy has a distinct rule (expected "
                             "check_options::member)";
    };
    BOOST_CHECK_EXCEPTION(limiter.allow("k", two), colimit::error, wrong);
    BOOST_CHECK_EXCEPTION(limiter.peek("k", two), colimit::error, wrong);
    BOOST_CHECK_EXCEPTION(limiter.charge("k", two), colimit::error, wrong);
    BOOST_TEST(limiter.allow("k", two, {.member = "a", .now = noon}).remaining == 1);
    BOOST_TEST(limiter.charge("k", two, {.member = "", .now = noon}).remaining == 0);
    BOOST_TEST(!limiter.peek("k", two, {.member = "b", .now = noon}).allowed());
    BOOST_TEST(limiter.peek("k", two, {.cost = 0, .now = noon}).remaining == 0); // no member counts
    BOOST_TEST(limiter.refund("k", two, {.now = noon}).remaining == 0);
    BOOST_CHECK_EXCEPTION(limiter.allow("k", two, {.member = std::string(65'537, 'm')}),
                          colimit::error, with(errc::invalid_argument));
}

BOOST_AUTO_TEST_CASE(a_block_may_last_a_hundred_years_and_no_longer) {
    auto limiter = local_limiter{100};
    constexpr auto century = std::chrono::hours{24} * 36'525;
    const auto blocked = limiter.block("k", five, century, {.now = noon});
    BOOST_TEST((blocked.retry_after == century));
    BOOST_TEST(!limiter.allow("k", five, {.now = noon + century / 2}).allowed());
    const auto wrong = with(errc::invalid_argument);
    BOOST_CHECK_EXCEPTION(limiter.block("k", five, century + 1us), colimit::error, wrong);
    BOOST_CHECK_EXCEPTION(limiter.block("k", five, -1s), colimit::error, wrong);
    BOOST_CHECK_EXCEPTION(limiter.block("k", five, 1ns), colimit::error, wrong);
    BOOST_CHECK_EXCEPTION(limiter.block("k", five, std::chrono::hours::max()), colimit::error,
                          wrong);
    BOOST_TEST(limiter.block("new", five, 0s, {.now = noon}).allowed());
    BOOST_TEST(limiter.statistics().states == 2U); // of the one key: its rule, and the block
}

BOOST_AUTO_TEST_CASE(once_allows_who_comes_first_until_its_time_is_over) {
    auto limiter = local_limiter{100};
    BOOST_TEST(limiter.once("order 17", 10s, {.now = noon}).allowed());
    const auto second = limiter.once("order 17", 10s, {.now = noon + 4s});
    BOOST_TEST(!second.allowed());
    BOOST_TEST((second.retry_after == 6s));
    BOOST_TEST((second.reason == colimit::denial_reason::duplicate));
    BOOST_TEST(limiter.once("order 18", 10s, {.now = noon + 4s}).allowed());
    BOOST_TEST(limiter.once("order 17", 10s, {.now = noon + 10s}).allowed());
    BOOST_TEST(limiter.allow("order 17", five, {.now = noon}).remaining == 4);
    BOOST_TEST(limiter.statistics().states == 3U);
    BOOST_CHECK_EXCEPTION(limiter.once("x", -1s), colimit::error, with(errc::invalid_argument));
}

BOOST_AUTO_TEST_CASE(once_without_a_place_never_takes_a_duplicate_for_new) {
    auto limiter = local_limiter{10};
    for (int i = 0; i < 3'000; ++i)
        (void)limiter.once(std::to_string(i), 1h, {.now = noon});
    for (int i = 0; i < 3'000; ++i)
        BOOST_REQUIRE(!limiter.once(std::to_string(i), 1h, {.now = noon + 1s}).allowed());
    BOOST_TEST(limiter.statistics().states == 10U);
}

BOOST_AUTO_TEST_CASE(a_key_may_have_64_kib_and_no_more) {
    auto limiter = local_limiter{100};
    BOOST_TEST(limiter.allow(std::string(65'536, 'k'), five).allowed());
    BOOST_CHECK_EXCEPTION(limiter.allow(std::string(65'537, 'k'), five), colimit::error,
                          with(errc::invalid_key));
}

BOOST_AUTO_TEST_CASE(a_number_of_states_that_makes_no_sense_is_refused) {
    for (const std::size_t states : {std::size_t{0}, (std::size_t{1} << 30) + 1})
        BOOST_TEST(colimit::test::refusal(errc::invalid_config,
                                          [states] { return local_limiter{states}; }) ==
                   "states: out of range (got " + std::to_string(states) +
                       ", expected 1 to 1073741824)");
}

BOOST_AUTO_TEST_CASE(a_moved_limiter_takes_its_states_along) {
    auto first = local_limiter{100};
    (void)first.allow("k", five, {.cost = 2, .now = noon});
    auto second = std::move(first);
    BOOST_TEST(second.peek("k", five, {.now = noon}).remaining == 3);
    second = local_limiter{10};
    BOOST_TEST(second.peek("k", five, {.now = noon}).remaining == 5);
}

BOOST_AUTO_TEST_SUITE_END()
