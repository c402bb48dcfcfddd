// SPDX-License-Identifier: BSL-1.0
//
// Rules under the same traffic: the numbers that tell algorithms from each other, and that texts
// and pictures show these numbers.
#include <support/unit_test.hpp>
#include <tool/simulate/report.hpp>
#include <tool/simulate/run.hpp>
#include <tool/simulate/traffic.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(simulate)

namespace {

using namespace std::chrono_literals;
namespace simulation = tool::simulate;

enum kind : std::size_t { steady, edge, twice, drip };

const simulation::comparison& usual() {
    static const auto all = simulation::compare(simulation::usual_rules(10, 1min));
    return all;
}

const simulation::answer& answer(std::size_t row, kind k) {
    return usual().rows.at(row).answers.at(k);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_fixed_window_allows_twice_the_limit_at_its_edge_and_others_do_not) {
    BOOST_TEST(usual().rows[0].algorithm == "fixed_window");
    BOOST_TEST(answer(0, edge).granted == 20U);
    BOOST_TEST(answer(0, edge).most_in_period == 20U);
    for (std::size_t row = 1; row < usual().rows.size(); ++row)
        BOOST_TEST(answer(row, edge).most_in_period <= 11U, usual().rows[row].rule);
}

BOOST_AUTO_TEST_CASE(a_log_never_exceeds_the_limit_in_any_period) {
    BOOST_TEST(usual().rows[2].algorithm == "sliding_log");
    for (const auto k : {steady, edge, twice, drip})
        BOOST_TEST(answer(2, k).most_in_period <= 10U);
    BOOST_TEST(answer(2, steady).granted == 30U);
}

BOOST_AUTO_TEST_CASE(a_bucket_lets_more_through_in_the_second_burst) {
    BOOST_TEST(answer(3, twice).granted == 15U);
    BOOST_TEST(answer(2, twice).granted == 10U);
    BOOST_TEST(answer(4, twice).granted < 10U); // it has a small burst
}

BOOST_AUTO_TEST_CASE(a_slow_drip_is_never_denied) {
    for (std::size_t row = 0; row < usual().rows.size(); ++row)
        BOOST_TEST(answer(row, drip).granted == answer(row, drip).allowed.size());
}

BOOST_AUTO_TEST_CASE(requests_are_in_order_and_within_the_time) {
    for (const auto& rule : {colimit::gcra(1, 1ms), colimit::gcra(10'000, 24h),
                             colimit::calendar(3, colimit::calendar_unit::month)}) {
        const auto all = simulation::make_scenarios(rule);
        BOOST_TEST(all.start.time_since_epoch().count() % all.period.count() == 0);
        for (const auto& sent : all.all) {
            BOOST_TEST_REQUIRE(!sent.requests.empty());
            BOOST_TEST(std::ranges::is_sorted(sent.requests));
            BOOST_TEST((sent.requests.front() >= 0us && sent.requests.back() < all.length()));
        }
    }
}

BOOST_AUTO_TEST_CASE(limits_that_are_too_large_are_refused) {
    BOOST_CHECK_THROW((void)simulation::make_scenarios(colimit::gcra(10'001, 1s)),
                      std::runtime_error);
    BOOST_CHECK_THROW((void)simulation::make_scenarios(colimit::gcra(1, 999us)),
                      std::runtime_error);
}

BOOST_AUTO_TEST_CASE(no_request_is_lost_in_a_bin) {
    for (const std::size_t count : {1U, 7U, 60U}) {
        const auto parts = simulation::divide(usual(), steady, 0, count);
        BOOST_TEST(std::accumulate(parts.requests.begin(), parts.requests.end(), 0U) == 60U);
        BOOST_TEST(std::accumulate(parts.granted.begin(), parts.granted.end(), 0U) == 30U);
    }
}

BOOST_AUTO_TEST_CASE(the_table_fits_and_has_a_line_for_each_rule) {
    for (const std::size_t columns : {20U, 80U, 200U}) {
        const auto text = simulation::table(usual(), columns, false);
        BOOST_TEST(
            std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
        BOOST_TEST(std::ranges::count(text, '\n') == 1 + 4 * (3 + 5));
    }
    BOOST_TEST(simulation::table(usual(), 80, true).find("×") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_picture_marks_what_exceeds_the_limit) {
    const auto svg = simulation::picture(usual());
    BOOST_TEST(svg.starts_with("<svg "));
    BOOST_TEST(svg.ends_with("</svg>\n"));
    BOOST_TEST(svg.find("class='excess'>peak 20<") != std::string::npos);
    BOOST_TEST(svg.find("class='number'>peak 10<") != std::string::npos);
    BOOST_TEST(svg == simulation::picture(simulation::compare(simulation::usual_rules(10, 1min))));
}

BOOST_AUTO_TEST_SUITE_END()
