// SPDX-License-Identifier: BSL-1.0
//
// Rules as values: what the factories make of their arguments, and the texts of rules.

#include <colimit/rule.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <type_traits>

BOOST_AUTO_TEST_SUITE(rules)

namespace {

using namespace std::chrono_literals;
using namespace colimit;

constexpr auto most = std::numeric_limits<std::int64_t>::max();

// GCC 12 destroys some temporaries twice that stand in the same expression as a co_await.
static_assert(std::is_trivially_destructible_v<rule> && std::is_trivially_copyable_v<rule>);
static_assert(gcra(100, 1s).burst(10).named("second").capacity() == 10);

} // namespace

BOOST_AUTO_TEST_CASE(factories_say_the_same_bucket_in_their_own_ways) {
    const auto same_numbers = [](const rule& r) {
        return r.count() == 5 && r.period() == 2s && r.capacity() == 9;
    };
    BOOST_TEST(same_numbers(gcra(5, 2s).burst(9)));
    BOOST_TEST(same_numbers(cell(8, 5, 2s)));
    BOOST_TEST(same_numbers(token_bucket(9, 5, 2s)));
    BOOST_TEST(same_numbers(leaky_bucket(9, 5, 2s)));
    BOOST_TEST(gcra(5, 2s).capacity() == 5);
}

BOOST_AUTO_TEST_CASE(the_cell_arguments_at_their_edges_do_not_wrap) {
    BOOST_TEST(cell(0, 1, 1s).capacity() == 1);
    BOOST_TEST(cell(-1, 1, 1s).capacity() == 0);
    BOOST_TEST(cell(std::numeric_limits<std::int64_t>::min(), 1, 1s).capacity() == 0);
    BOOST_TEST(cell(most - 1, 1, 1s).capacity() == most);
    BOOST_TEST(cell(most, 1, 1s).capacity() == most);
}

BOOST_AUTO_TEST_CASE(a_period_is_a_whole_number_of_microseconds_or_none) {
    BOOST_TEST(gcra(1, 3000ns).period().count() == 3);
    BOOST_TEST(gcra(1, 1500ns).period().count() == detail::no_duration);
    BOOST_TEST(gcra(1, std::chrono::hours{2'562'047'788}).period() == 2'562'047'788h);
    BOOST_TEST(gcra(1, std::chrono::hours{2'562'047'789}).period().count() == detail::no_duration);
    BOOST_TEST(gcra(1, std::chrono::hours::max()).period().count() == detail::no_duration);
    BOOST_TEST(gcra(1, std::chrono::hours::min()).period().count() == detail::no_duration);
    using unsigned_us = std::chrono::duration<std::uint64_t, std::micro>;
    BOOST_TEST(gcra(1, unsigned_us{std::uint64_t{1} << 63U}).period().count() ==
               detail::no_duration);
    BOOST_TEST(gcra(1, -1s).period() == -1s);
}

BOOST_AUTO_TEST_CASE(a_rule_is_named_after_its_algorithm_until_it_gets_a_name) {
    BOOST_TEST(gcra(1, 1s).name() == "gcra");
    BOOST_TEST(cell(1, 1, 1s).name() == "cell");
    BOOST_TEST(token_bucket(1, 1, 1s).name() == "token_bucket");
    BOOST_TEST(leaky_bucket(1, 1, 1s).name() == "leaky_bucket");
    BOOST_TEST(gcra(1, 1s).named("x").name() == "x");
    BOOST_TEST(gcra(1, 1s).named("").name() == "");
    BOOST_TEST(gcra(1, 1s).named(std::string(64, 'x')).name_fits());
    BOOST_TEST(!gcra(1, 1s).named(std::string(65, 'x')).name_fits());
    BOOST_TEST(!gcra(1, 1s).named(std::string(64 + 256, 'x')).name_fits());
}

BOOST_AUTO_TEST_CASE(rules_are_equal_when_they_mean_the_same) {
    const auto r = gcra(5, 1s);
    BOOST_TEST((r == r.burst(5).named("gcra").shadow(false)));
    BOOST_TEST((r == gcra(5, 1000ms)));
    BOOST_TEST(!(r == gcra(6, 1s).burst(5)));
    BOOST_TEST(!(r == gcra(5, 2s)));
    BOOST_TEST(!(r == r.burst(6)));
    BOOST_TEST(!(r == r.named("x")));
    BOOST_TEST(!(r == r.shadow()));
    BOOST_TEST(!(r == leaky_bucket(5, 5, 1s).named("gcra")));
}

BOOST_AUTO_TEST_CASE(a_text_says_only_what_is_not_the_default_in_the_largest_whole_unit) {
    BOOST_TEST(to_string(gcra(5, 1s)) == "5/s");
    BOOST_TEST(to_string(gcra(5, 1s).burst(5)) == "5/s");
    BOOST_TEST(to_string(gcra(5, 60s).burst(10)) == "5/m burst 10");
    BOOST_TEST(to_string(gcra(5, 90s)) == "5/90s");
    BOOST_TEST(to_string(gcra(5, 48h)) == "5/2d");
    BOOST_TEST(to_string(gcra(5, 1500us)) == "5/1500us");
    BOOST_TEST(to_string(cell(15, 30, 1h)) == "30/h cell burst 16");
    BOOST_TEST(to_string(token_bucket(9, 5, 250ms).named("x").shadow()) ==
               "5/250ms token_bucket burst 9 shadow named x");
}

BOOST_AUTO_TEST_SUITE_END()
