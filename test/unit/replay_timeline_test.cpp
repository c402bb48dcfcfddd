// SPDX-License-Identifier: BSL-1.0
//
// Requests over time: no request is lost in a bucket, the steps are round, and what is drawn of
// them fits.
#include <support/unit_test.hpp>
#include <tool/frame/format.hpp>
#include <tool/replay/chart.hpp>
#include <tool/replay/timeline.hpp>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(replay_timeline)

namespace {

namespace replay = tool::replay;
using namespace std::chrono;
using replay::allowed;

constexpr sys_seconds noon = sys_days{year{2024} / 3 / 12} + hours{12};

/// `count` requests at equal distances; each tenth is denied.
struct sample {
    sample(sys_seconds first, seconds distance, int count) {
        for (int i = 0; i < count; ++i) {
            requests.push_back({first + i * distance, 0});
            verdicts.push_back(i % 10 == 9 ? replay::verdict{0} : allowed);
        }
    }
    std::vector<replay::request> requests;
    std::vector<replay::verdict> verdicts;
};

std::size_t sum(const std::vector<std::size_t>& values) {
    return std::accumulate(values.begin(), values.end(), std::size_t{0});
}

/// Columns that a line takes: bytes without those that continue a UTF-8 character.
std::size_t columns(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    }));
}

} // namespace

BOOST_AUTO_TEST_CASE(every_request_is_in_one_bucket) {
    for (const auto distance :
         {seconds{0}, seconds{1}, seconds{7}, seconds{3601}, seconds{days{3}}})
        for (const std::size_t most : {1U, 2U, 67U, 220U}) {
            const sample s{noon + 13s, distance, 100};
            const auto line = replay::make_timeline(s.requests, s.verdicts, most);
            BOOST_TEST(line.requests.size() <= most);
            BOOST_TEST(line.limited.size() == line.requests.size());
            BOOST_TEST(sum(line.requests) == 100U);
            BOOST_TEST(sum(line.limited) == 10U);
            BOOST_TEST((line.start.time_since_epoch() % line.step == seconds{0}));
            BOOST_TEST((line.start <= s.requests.front().time));
            BOOST_TEST((line.end() > s.requests.back().time));
            BOOST_TEST(line.requests.front() != 0U);
            BOOST_TEST(line.requests.back() != 0U);
        }
}

BOOST_AUTO_TEST_CASE(a_request_at_a_boundary_belongs_to_the_step_that_begins_there) {
    const std::vector<replay::request> requests{{noon - 1s, 0}, {noon, 0}, {noon + 60s, 0}};
    const std::vector<replay::verdict> verdicts{allowed, 0, allowed};
    const auto line = replay::make_timeline(requests, verdicts, 3);
    BOOST_TEST((line.step == minutes{1}));
    BOOST_TEST((line.start == noon - minutes{1}));
    BOOST_TEST(line.requests == (std::vector<std::size_t>{1, 1, 1}),
               boost::test_tools::per_element());
    BOOST_TEST(line.limited == (std::vector<std::size_t>{0, 1, 0}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_single_second_is_a_single_bucket) {
    const sample s{noon, 0s, 10};
    const auto line = replay::make_timeline(s.requests, s.verdicts, 80);
    BOOST_TEST((line.step == 1s));
    BOOST_TEST(line.requests.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_century_fits) {
    const std::vector<replay::request> requests{{sys_seconds{}, 0},
                                                {sys_days{year{2111} / 12 / 31}, 0}};
    const auto line = replay::make_timeline(requests, {allowed, allowed}, 3);
    BOOST_TEST(line.requests.size() <= 3U);
    BOOST_TEST(sum(line.requests) == 2U);
}

BOOST_AUTO_TEST_CASE(ticks_are_round_times_within_the_axis) {
    const sample s{noon + 7min, 60s, 120};
    const auto line = replay::make_timeline(s.requests, s.verdicts, 120);
    const auto marks = replay::ticks(line, 5);
    BOOST_TEST_REQUIRE(!marks.empty());
    BOOST_TEST(marks.size() <= 5U);
    BOOST_TEST(marks.front().label == "12:30");
    BOOST_TEST((marks.front().time == noon + 30min));
    BOOST_TEST(marks.back().label == "14:00");
}

BOOST_AUTO_TEST_CASE(labels_say_what_differs) {
    const auto first_label = [](seconds distance) {
        const sample s{noon, distance, 100};
        return replay::ticks(replay::make_timeline(s.requests, s.verdicts, 60), 5).front().label;
    };
    BOOST_TEST(first_label(1s) == "12:00:00");
    BOOST_TEST(first_label(60s) == "12:00");
    BOOST_TEST(first_label(1800s) == "03-12 12:00");
    BOOST_TEST(first_label(days{1}).size() == 5U);
    BOOST_TEST(first_label(days{9}).size() == 10U);
}

BOOST_AUTO_TEST_CASE(a_chart_is_never_wider_than_it_may_be) {
    for (const auto distance : {seconds{0}, seconds{1}, seconds{600}, seconds{days{2}}})
        for (const std::size_t width : {20U, 40U, 80U, 200U})
            for (const bool unicode : {false, true}) {
                const sample s{noon, distance, 500};
                const auto line =
                    replay::make_timeline(s.requests, s.verdicts, width - replay::chart_margin);
                std::istringstream text{replay::chart(line, width, unicode)};
                for (std::string row; std::getline(text, row);)
                    if (row.find("each bar") == std::string::npos)
                        BOOST_TEST(columns(row) <= width, row);
            }
}

BOOST_AUTO_TEST_CASE(one_refusal_among_thousands_is_seen) {
    std::vector<replay::request> requests(5000, {noon, 0});
    std::vector<replay::verdict> verdicts(5000, allowed);
    requests.push_back({noon + 1s, 0});
    verdicts.push_back(0);
    const auto line = replay::make_timeline(requests, verdicts, 2);
    BOOST_TEST(replay::chart(line, 15, true).find("requests ┤█▁\n") != std::string::npos);
    BOOST_TEST(replay::chart(line, 15, false).find("requests |#.\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_picture_has_no_markup_but_its_own) {
    const sample s{noon, 1s, 50};
    const auto line = replay::make_timeline(s.requests, s.verdicts, replay::svg_steps);
    replay::history log;
    log.clients = {"192.0.2.1"};
    log.requests = s.requests;
    const auto found = replay::count(log, s.verdicts, 1);
    const auto picture = replay::svg({"<script>\"&.log", {"5/s burst 10"}, "memory:"}, found, line);
    BOOST_TEST(picture.find("<script") == std::string::npos);
    BOOST_TEST(picture.find("&lt;script&gt;&quot;&amp;.log: 1 client,") != std::string::npos);
    BOOST_TEST(picture.find("5/s burst 10 would limit 5 of 50 requests (10.00 %)") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(numbers_and_times_are_written_for_people) {
    BOOST_TEST(tool::grouped(0) == "0");
    BOOST_TEST(tool::grouped(999) == "999");
    BOOST_TEST(tool::grouped(1'234'567) == "1,234,567");
    BOOST_TEST(tool::percentage(1, 8) == "12.50 %");
    BOOST_TEST(tool::percentage(0, 0) == "0.00 %");
    BOOST_TEST(tool::percentage(1, 1'000'000) == "0.01 %");
    BOOST_TEST(tool::percentage(999'999, 1'000'000) == "99.99 %");
    BOOST_TEST(tool::duration(0s) == "0 s");
    BOOST_TEST(tool::duration(61s) == "1 min 1 s");
    BOOST_TEST(tool::duration(days{3} + hours{11} + 59s) == "3 d 11 h");
    BOOST_TEST(tool::duration(days{3} + 59min) == "3 d");
    BOOST_TEST(tool::utc(noon + 61s) == "2024-03-12 12:01:01");
    BOOST_TEST(tool::escaped("a\x1b\x9b\xc3\xa9") == "a\\x1b\\x9b\\xc3\\xa9");
    BOOST_TEST(tool::without_password("redis://u:s@cret@h:1/2") == "redis://...@h:1/2");
    BOOST_TEST(tool::without_password("unix:/a@b") == "unix:/a@b");
}

BOOST_AUTO_TEST_SUITE_END()
