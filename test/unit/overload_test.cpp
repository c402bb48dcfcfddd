// SPDX-License-Identifier: BSL-1.0
//
// How adaptive limits behave in the simulated server, for several seeds. The bounds follow from the
// scenario and the algorithms, as each test says; they are not measured.
//
// The server has 64 workers that need 50 ms per request, and clients wait for 250 ms. Under steady
// load 0.6 * 64 = 38 requests are inside on average. Their number varies as that of a Poisson
// process, with a deviation of 6.

#include <overload/report.hpp>
#include <support/rounds.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(overload)

namespace {

namespace simulation = colimit::benchmark::overload;
using simulation::counts;
using simulation::record;
using simulation::scenario;

enum phase : std::size_t { steady, slow_down, recovery, excess, end };
enum server : std::size_t { no_limit, gradient2, brpc };

constexpr auto seeds = std::max(std::uint64_t{2}, colimit::test::rounds(std::uint64_t{8}));

struct run {
    scenario all;
    std::vector<record> records;

    [[nodiscard]] counts of(server s, phase p) const { return records[s].of(all, p); }
    /// Returns the part of the requests of a phase that could have been answered in time and were.
    [[nodiscard]] double goodput(server s, phase p) const {
        const auto sum = of(s, p);
        return static_cast<double>(sum.in_time) / simulation::possible(all, p, sum);
    }
    [[nodiscard]] double denied(server s, phase p) const {
        const auto sum = of(s, p);
        return static_cast<double>(sum.denied) / static_cast<double>(sum.all());
    }
    /// Returns the requests of the last seconds of a phase.
    [[nodiscard]] counts last_seconds(server s, phase p, std::size_t count) const {
        const auto after = simulation::seconds_of(all, p).second;
        counts sum;
        for (auto i = after - count; i < after; ++i)
            sum += records[s].seconds[i].requests;
        return sum;
    }
};

[[nodiscard]] const std::vector<run>& runs() {
    static const auto all = [] {
        std::vector<run> made;
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            const auto one = simulation::usual_scenario(seed);
            made.push_back({one, simulation::compare(one)});
        }
        return made;
    }();
    return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(without_a_limit_overload_makes_all_work_useless) {
    // The queue grows by half of the capacity: after (250 - 50) / 0.5 = 400 ms each request is
    // late, that is for all but 1 % of the 40 s. Afterwards the backlog of 20 s of work is reduced
    // by 0.4 of the capacity, so 50 s of 80 s have no use either.
    for (const auto& r : runs()) {
        BOOST_TEST(r.goodput(no_limit, excess) < 0.05);
        BOOST_TEST(r.goodput(no_limit, end) < 0.5);
        BOOST_TEST(r.of(no_limit, excess).denied == 0U);
    }
}

BOOST_AUTO_TEST_CASE(with_a_limit_overload_leaves_the_goodput) {
    // All workers are busy while the limit is at least 64, and requests are in time while it is
    // below 64 * 250 / 50 = 320. Gradient2 is at rest where gradient = 1 - 4 / limit, so that the
    // latency is 1.5 to 1.8 times the long-term one, with some 64 * 1.7 = 110 requests inside;
    // below 64 there is no queue and it grows. The limit of brpc is at least 0.9 times throughput
    // times latency (while it measures), usually 1.06 to 1.3 times.
    for (const auto& r : runs())
        for (const auto s : {gradient2, brpc})
            BOOST_TEST(r.goodput(s, excess) > 0.9);
}

BOOST_AUTO_TEST_CASE(overload_leaves_nothing_behind) {
    // With 38 requests inside, what remains of the overload is gone after one latency.
    for (const auto& r : runs())
        for (const auto s : {gradient2, brpc})
            BOOST_TEST(r.goodput(s, end) > 0.97);
}

BOOST_AUTO_TEST_CASE(steady_load_is_not_denied) {
    // 64 is 4 deviations above the average, and Gradient2 grows from there. brpc allows 1.3 times
    // the average: Erlang's formula for 50 places and 38.4 requests says that 1 % find them taken.
    // Throughput and latency are averages of 200 calls, so the limit varies by a few per cent.
    for (const auto& r : runs()) {
        BOOST_TEST(r.denied(gradient2, steady) < 0.001);
        BOOST_TEST(r.denied(brpc, steady) < 0.03);
        for (const auto s : {no_limit, gradient2, brpc})
            BOOST_TEST(r.of(s, steady).late < r.of(s, steady).all() / 1000);
    }
}

BOOST_AUTO_TEST_CASE(a_slow_down_is_better_with_a_limit) {
    // Without one, the queue grows by 0.6 - 1/3 of the usual capacity, and is too long within a
    // second. Gradient2 goes down to its minimum, 20 calls or 20 / 64 of what can be served; fewer
    // than one in ten of these take longer than 250 ms.
    for (const auto& r : runs()) {
        BOOST_TEST(r.goodput(no_limit, slow_down) < 0.05);
        for (const auto s : {gradient2, brpc})
            BOOST_TEST(r.goodput(s, slow_down) > 0.25);
        BOOST_TEST(r.records[gradient2].seconds[99].limit == 20);
    }
}

BOOST_AUTO_TEST_CASE(the_limit_recovers_after_a_slow_down) {
    // Gradient2 grows by 0.8 per second, from 20 to 38 + 4 * 6 = 62 in 53 s. brpc measures the
    // latency without load at least every 50 s. So the last 20 s of 80 s are as before.
    for (const auto& r : runs()) {
        for (const auto s : {gradient2, brpc}) {
            const auto sum = r.last_seconds(s, recovery, 20);
            BOOST_TEST(static_cast<double>(sum.in_time) > 0.97 * static_cast<double>(sum.all()));
        }
        BOOST_TEST(r.records[gradient2].seconds[179].limit > 62);
    }
}

BOOST_AUTO_TEST_CASE(a_seed_decides_everything_and_the_limits_meet_the_same_requests) {
    const auto again = simulation::compare(simulation::usual_scenario(2));
    const auto& first = runs()[1];
    BOOST_TEST(simulation::picture(first.all, again) ==
               simulation::picture(first.all, first.records));
    for (std::size_t i = 0; i < first.records[0].seconds.size(); ++i)
        for (const auto s : {gradient2, brpc})
            BOOST_TEST(first.records[s].seconds[i].requests.all() ==
                       first.records[no_limit].seconds[i].requests.all());
    BOOST_TEST(runs()[0].of(no_limit, steady).all() != runs()[1].of(no_limit, steady).all());
}

BOOST_AUTO_TEST_CASE(the_server_serves_its_capacity) {
    // With more load than it can serve and a limit in the number of its workers, it serves what it
    // can: 64 per 50 ms, for a tenth of an hour, so within 1 %.
    scenario all;
    all.phases = {{.name = "load", .length = std::chrono::minutes{6}, .load = 3}};
    colimit::adaptive_options fixed;
    fixed.gradient2.initial_limit = fixed.gradient2.min_limit = fixed.gradient2.max_limit = 64;
    colimit::adaptive_limit limit{fixed};
    const auto sum = simulation::serve(all, "fixed", &limit).of(all, 0);
    const auto served = static_cast<double>(sum.in_time + sum.late) / 360 / all.capacity();
    BOOST_TEST(served > 0.98);
    BOOST_TEST(served <= 1.005);
    BOOST_TEST(static_cast<double>(sum.all()) / 360 / all.capacity() > 2.97);
    BOOST_TEST(static_cast<double>(sum.all()) / 360 / all.capacity() < 3.03);
}

BOOST_AUTO_TEST_CASE(table_and_picture_have_a_part_for_each_server) {
    const auto& r = runs().front();
    const auto text = simulation::table(r.all, r.records);
    BOOST_TEST(std::ranges::count(text, '\n') == 1 + 5 * (3 + 3));
    BOOST_TEST(text.find("20 to ") != std::string::npos);
    const auto svg = simulation::picture(r.all, r.records);
    BOOST_TEST(svg.starts_with("<svg "));
    BOOST_TEST(svg.ends_with("</svg>\n"));
    for (const auto& s : r.records)
        BOOST_TEST(svg.find('>' + s.name + '<') != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
