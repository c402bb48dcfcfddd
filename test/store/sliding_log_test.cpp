// SPDX-License-Identifier: BSL-1.0
//
// Sliding logs: which events count and for how long, and their string in Redis.

#include "stores.hpp"

#include <core/log_value.hpp>
#include <support/decision_text.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(sliding_logs)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

const policy five{"five", sliding_log(5, 1s)};

BOOST_DATA_TEST_CASE(a_thousand_calls_in_one_microsecond_are_a_thousand_events, every_store()) {
    auto s = open_store(sample);
    const policy p{"p", sliding_log(1000, 1s)};
    auto wrong = 0;
    for (int left = 999; left >= 0; --left)
        wrong += s->allow("k", p, {.now = at(0)}).remaining == left ? 0 : 1;
    BOOST_TEST(wrong == 0);
    const auto d = s->allow("k", p, {.now = at(0)});
    BOOST_TEST(d.outcome == outcome::denied);
    BOOST_TEST(d.retry_after.count() == second);
    BOOST_TEST(s->peek("k", p, {.now = at(second - 1)}).remaining == 0);
    BOOST_TEST(s->peek("k", p, {.now = at(second)}).remaining == 1000);
}

BOOST_DATA_TEST_CASE(P14_in_redis_each_of_them_is_an_event_of_one_log, every_redis()) {
    auto s = open_store(sample);
    const policy p{"p", sliding_log(1000, 1s)};
    for (int i = 0; i < 1000; ++i)
        s->allow("k", p, {.now = at(0)});
    BOOST_TEST(events_of(look(), p, "k") == 1000U);
}

/// A log keeps no more than 2 * limit + 16 events.
BOOST_DATA_TEST_CASE(what_a_log_has_no_room_for_is_still_owed_after_a_refund, every_store()) {
    auto s = open_store(sample);
    const policy p{"p", sliding_log(5, 1h)};
    for (int i = 0; i < 100; ++i)
        s->charge("k", p, {.now = at(i)});
    BOOST_TEST(s->peek("k", p, {.now = at(100)}).rules[0].balance == -95);
    const auto back = s->refund("k", p, {.cost = 95, .now = at(100)});
    BOOST_TEST(back.rules[0].balance == 0);
    for (int i = 0; i < 10; ++i)
        BOOST_TEST(s->allow("k", p, {.now = at(101 + i)}).granted == 0);
    BOOST_TEST(s->refund("k", p, {.cost = 2, .now = at(200)}).rules[0].balance == 2);
    BOOST_TEST(s->peek("k", p, {.now = at(200 + 3600 * second)}).remaining == 5);
}

BOOST_DATA_TEST_CASE(denied_calls_that_count_stay_within_the_bound_of_a_log, every_redis()) {
    auto s = open_store(sample);
    const policy p{"p", sliding_log(5, 1h).count_denied()};
    for (int i = 0; i < 200; ++i) {
        s->allow("k", p, {.now = at(i)});
        BOOST_REQUIRE(events_of(look(), p, "k") <= 2 * 5 + 16U);
    }
    BOOST_TEST(s->peek("k", p, {.now = at(200)}).rules[0].balance == -195);
}

BOOST_DATA_TEST_CASE(after_a_clock_step_a_log_has_one_event_where_it_had_many, every_redis()) {
    auto s = open_store(sample);
    const policy p{"p", sliding_log(1'000, 1h)};
    for (int i = 0; i < 500; ++i)
        s->allow("k", p, {.now = at(second + i)});
    BOOST_TEST(s->allow("k", p, {.now = at(0)}).remaining == 499);
    BOOST_TEST(events_of(look(), p, "k") == 2U);
    BOOST_TEST(s->peek("k", p, {.now = at(3600 * second - 1)}).remaining == 499);
    BOOST_TEST(s->peek("k", p, {.now = at(3600 * second)}).remaining == 1'000);
}

BOOST_DATA_TEST_CASE(an_event_is_gone_exactly_one_period_after_it_came, every_store()) {
    auto s = open_store(sample);
    for (const std::int64_t t : {0, 1, 300'000, 300'001, 999'999})
        s->allow("k", five, {.now = at(t)});
    const auto left = [&](std::int64_t t) { return s->peek("k", five, {.now = at(t)}).remaining; };
    BOOST_TEST(left(second - 1) == 0);
    BOOST_TEST(left(second) == 1);
    BOOST_TEST(left(second + 1) == 2);
    BOOST_TEST(left(second + 299'999) == 2);
    BOOST_TEST(left(second + 300'000) == 3);
    BOOST_TEST(left(second + 300'001) == 4);
    BOOST_TEST(left(2 * second - 2) == 4);
    BOOST_TEST(left(2 * second - 1) == 5);
}

BOOST_DATA_TEST_CASE(a_cost_comes_back_whole_when_its_event_goes, every_store()) {
    auto s = open_store(sample);
    s->allow("k", five, {.cost = 2, .now = at(0)});
    s->allow("k", five, {.cost = 3, .now = at(100)});
    const auto d = s->allow("k", five, {.cost = 3, .now = at(200)});
    BOOST_TEST(d.outcome == outcome::denied);
    BOOST_TEST(d.retry_after.count() == second - 100);
    BOOST_TEST(d.reset_after.count() == second - 100);
    const auto two = s->allow("k", five, {.cost = 2, .now = at(200)});
    BOOST_TEST(two.retry_after.count() == second - 200);
    const auto part = s->allow("k", five, {.cost = 9, .at_least = 1, .now = at(second)});
    BOOST_TEST(part.granted == 2);
    BOOST_TEST(s->allow("k", five, {.cost = 6, .now = at(second)}).outcome == outcome::never);
}

BOOST_DATA_TEST_CASE(a_refund_takes_from_the_newest_events, every_store()) {
    auto s = open_store(sample);
    s->allow("k", five, {.cost = 2, .now = at(0)});
    s->allow("k", five, {.cost = 1, .now = at(400'000)});
    s->allow("k", five, {.cost = 2, .now = at(500'000)});
    // All of the last event, and half of what was asked of the first stays where it was.
    const auto d = s->refund("k", five, {.cost = 3, .now = at(600'000)});
    BOOST_TEST(d.remaining == 3);
    BOOST_TEST(d.reset_after.count() == 400'000);
    BOOST_TEST(s->refund("k", five, {.now = at(600'000)}).remaining == 4);
    BOOST_TEST(s->peek("k", five, {.now = at(second - 1)}).remaining == 4);
    BOOST_TEST(s->peek("k", five, {.now = at(second)}).remaining == 5);
    BOOST_TEST(s->refund("k", five, {.cost = limits::max_exact_integer, .now = at(0)}).remaining ==
               5);
}

BOOST_DATA_TEST_CASE(where_refused_calls_count_who_goes_on_asking_stays_limited, every_store()) {
    auto s = open_store(sample);
    const policy p{"p", sliding_log(2, 1s).count_denied()};
    s->allow("k", p, {.cost = 2, .now = at(0)});
    const auto d = s->allow("k", p, {.now = at(500'000)});
    BOOST_TEST(d.outcome == outcome::denied);
    BOOST_TEST(d.rules[0].balance == -1);
    BOOST_TEST(d.retry_after.count() == 500'000); // then one of two is left
    BOOST_TEST(s->allow("k", p, {.cost = 3, .now = at(600'000)}).outcome == outcome::never);
    BOOST_TEST(s->allow("k", p, {.cost = 2, .now = at(second)}).outcome == outcome::denied);
    BOOST_TEST(s->allow("k", p, {.now = at(second + 499'999)}).outcome == outcome::denied);
    BOOST_TEST(s->peek("k", p, {.now = at(2 * second + 499'998)}).remaining == 1);
    BOOST_TEST(s->peek("k", p, {.now = at(2 * second + 499'999)}).remaining == 2);
}

BOOST_DATA_TEST_CASE(refused_calls_that_count_fill_no_memory, every_redis()) {
    auto s = open_store(sample);
    const policy p{"p", sliding_log(2, 1s).count_denied()};
    for (int i = 0; i < 200; ++i)
        s->allow("k", p, {.now = at(i)});
    BOOST_TEST(events_of(look(), p, "k") <= 20U);
    BOOST_TEST(s->peek("k", p, {.now = at(200)}).outcome == outcome::denied);
}

BOOST_DATA_TEST_CASE(charge_goes_beyond_the_limit_and_stops_where_a_weight_ends, every_store()) {
    auto s = open_store(sample);
    BOOST_TEST(s->charge("k", five, {.cost = 8, .now = at(0)}).rules[0].balance == -3);
    constexpr auto most = (std::int64_t{1} << 32) - 1;
    for (int i = 1; i <= 3; ++i) {
        const auto d = s->charge("k", five, {.cost = limits::max_exact_integer, .now = at(i)});
        BOOST_TEST(d.rules[0].balance == 5 - most);
        BOOST_TEST(d.reset_after.count() <= second);
    }
    BOOST_TEST(s->allow("k", five, {.now = at(second)}).outcome == outcome::denied);
    BOOST_TEST(s->allow("k", five, {.cost = 5, .now = at(second + 3)}).outcome == outcome::allowed);
}

BOOST_DATA_TEST_CASE(charges_one_by_one_keep_no_more_events_than_can_matter, every_redis()) {
    auto s = open_store(sample);
    for (int i = 0; i < 100; ++i)
        s->charge("k", five, {.now = at(i)});
    BOOST_TEST(events_of(look(), five, "k") <= 2 * 5 + 16U);
    BOOST_TEST(s->peek("k", five, {.now = at(second)}).outcome == outcome::denied);
    BOOST_TEST(s->peek("k", five, {.now = at(second + 99)}).remaining == 5);
}

/// In Redis expired events are removed when the log is written as a whole.
BOOST_DATA_TEST_CASE(what_a_short_window_has_forgotten_is_not_brought_back, every_store()) {
    auto s = open_store(sample);
    const policy brief{"p", sliding_log(10, 10s)};
    const policy longer{"p", sliding_log(10, 1h)};
    for (const std::int64_t t : {0, 1, 5'000'000, 12'000'000})
        BOOST_TEST(s->allow("k", brief, {.now = at(t)}).granted == 1);
    BOOST_TEST(s->peek("k", longer, {.now = at(12'000'001)}).remaining == 8);
    BOOST_TEST(s->peek("k", longer, {.now = at(0)}).remaining == 8);
    BOOST_TEST(s->peek("k", brief, {.now = at(0)}).remaining == 8);
    BOOST_TEST(s->allow("k", longer, {.now = at(12'000'001)}).remaining == 7);
    BOOST_TEST(s->peek("k", brief, {.now = at(22'000'000)}).remaining == 9);
    BOOST_TEST(s->peek("k", longer, {.now = at(3'600'000'000 + 5'000'000)}).remaining == 8);
}

/// Or a later call with the server's clock could trust an end that is not the key's any more.
BOOST_DATA_TEST_CASE(a_supplied_clock_leaves_no_promise_in_a_log, every_redis()) {
    auto s = open_store(sample, 0ms);
    const policy p{"p", sliding_log(10, 1h)};
    const auto promise = [&] {
        return core::read_log_head(look().get(log_name_of(p, "k")).value_or(""))->expires;
    };
    const auto first = s->allow("k", p);
    s->allow("k", p);
    BOOST_TEST(promise() > 0);
    BOOST_TEST(s->allow("k", p, {.now = first.server_time + 1s}).remaining == 7);
    BOOST_TEST(promise() == 0);
    BOOST_TEST(s->allow("k", p, {.now = first.server_time + 2s}).remaining == 6);
    BOOST_TEST(promise() == 0);
}

BOOST_DATA_TEST_CASE(a_refund_on_a_full_server_makes_no_log_longer, every_redis()) {
    auto s = open_store(sample);
    const policy p{"p", sliding_log(200, 1h)};
    for (int i = 0; i < 100; ++i)
        s->allow("k", p, {.now = at(i)});
    const auto before = look().must({"STRLEN", log_name_of(p, "k")}).integer;
    look().must({"CONFIG", "SET", "maxmemory", "1"});
    BOOST_TEST(s->refund("k", p, {.cost = 3, .now = at(100)}).remaining == 103);
    look().must({"CONFIG", "SET", "maxmemory", "0"});
    BOOST_TEST(look().must({"STRLEN", log_name_of(p, "k")}).integer <= before);
    BOOST_TEST(events_of(look(), p, "k") == 97U);
}

BOOST_DATA_TEST_CASE(P8_events_after_now_count_as_at_now, every_store()) {
    auto s = open_store(sample);
    s->allow("k", five, {.cost = 3, .now = at(100 * second)});
    s->allow("k", five, {.cost = 2, .now = at(100 * second + 5)});
    const auto seen = s->peek("k", five, {.now = at(0)});
    BOOST_TEST(seen.remaining == 0);
    BOOST_TEST(seen.retry_after.count() == second);
    // A peek has moved nothing, and a denial has moved all of it, once.
    BOOST_TEST(s->allow("k", five, {.now = at(10 * second)}).retry_after.count() == second);
    BOOST_TEST(s->peek("k", five, {.now = at(11 * second - 1)}).remaining == 0);
    BOOST_TEST(s->peek("k", five, {.now = at(11 * second)}).remaining == 5);
}

const policy windows{"windows", sliding_log(3, 1s).named("second"),
                     sliding_log(5, 1min).named("minute"), sliding_log(6, 1h).named("hour")};

BOOST_DATA_TEST_CASE(each_of_several_windows_sees_its_own_part_of_one_log, every_store()) {
    auto s = open_store(sample);
    s->allow("k", windows, {.cost = 3, .now = at(0)});
    const auto first = s->allow("k", windows, {.now = at(1)});
    BOOST_TEST(first.limiting_rule == 0);
    BOOST_TEST(first.retry_after.count() == second - 1);
    s->allow("k", windows, {.cost = 2, .now = at(second)});
    const auto then = s->allow("k", windows, {.now = at(2 * second)});
    BOOST_TEST(then.limiting_rule == 1);
    BOOST_TEST(then.retry_after.count() == 58 * second);
    BOOST_TEST(then.rules[0].balance == 3);
    BOOST_TEST(then.rules[1].balance == 0);
    BOOST_TEST(then.rules[2].balance == 1);
    s->allow("k", windows, {.now = at(60 * second)});
    const auto last = s->allow("k", windows, {.now = at(122 * second)});
    BOOST_TEST(last.limiting_rule == 2);
    BOOST_TEST(last.retry_after.count() == (3600 - 122) * second);
    BOOST_TEST(s->peek("k", windows, {.now = at(3600 * second)}).rules[2].balance == 3);
}

BOOST_DATA_TEST_CASE(of_several_windows_the_largest_says_how_many_events_are_kept, every_store()) {
    auto s = open_store(sample);
    const policy p{"p", sliding_log(100, 1h).named("hour"), sliding_log(1, 1us).named("one")};
    for (int i = 0; i < 100; ++i)
        BOOST_TEST(s->allow("k", p, {.now = at(i)}).rules[0].balance == 99 - i);
    BOOST_TEST(s->allow("k", p, {.now = at(100)}).outcome == outcome::denied);
}

BOOST_DATA_TEST_CASE(several_windows_share_one_log_and_nothing_else, every_redis()) {
    auto s = open_store(sample);
    for (int i = 0; i < 3; ++i)
        s->allow("k", windows, {.now = at(i)});
    const auto names = std::vector{log_name_of(windows, "k")};
    BOOST_TEST(look().keys() == names, boost::test_tools::per_element());
    BOOST_TEST(events_of(look(), windows, "k") == 3U);
    s->allow("k", windows, {.now = at(3600 * second)});
    BOOST_TEST(events_of(look(), windows, "k") == 3U); // one came and one went
    s->reset("k", windows, {.now = at(3600 * second)});
    BOOST_TEST(look().dbsize() == 0);
}

BOOST_DATA_TEST_CASE(P3_a_denial_or_peek_leaves_the_log_and_its_end_as_they_were, every_redis()) {
    for (const auto now : {std::optional{at(0)}, std::optional<time_point>{}}) {
        auto s = open_store(sample, now ? for_supplied_clocks : 0h);
        const policy p{"p", sliding_log(3, 1min), gcra(1, 1min).burst(20)};
        s->allow("k", p, {.cost = 3, .now = now});
        const auto before = take_picture();
        BOOST_TEST(before.size() == 2U);
        const auto then = now ? std::optional{*now + 1s} : now;
        for (int i = 0; i < 3; ++i) {
            BOOST_TEST(s->allow("k", p, {.now = then}).outcome == outcome::denied);
            BOOST_TEST(s->allow("k", p, {.cost = 4, .now = then}).outcome == outcome::never);
            BOOST_TEST(s->allow("k", p, {.cost = 9, .at_least = 2, .now = then}).granted == 0);
            s->allow("k", p, {.cost = 0, .now = then});
            s->peek("k", p, {.now = then});
        }
        BOOST_TEST((take_picture() == before));
    }
}

BOOST_DATA_TEST_CASE(P3_no_denial_makes_a_log, every_redis()) {
    auto s = open_store(sample);
    s->allow("k", five, {.cost = 6, .now = at(0)});
    s->allow("k", five, {.cost = 0, .now = at(0)});
    s->peek("k", five, {.now = at(0)});
    s->refund("k", five, {.cost = 2, .now = at(0)});
    s->charge("k", five, {.cost = 0, .now = at(0)});
    s->reset("k", five, {.now = at(0)});
    BOOST_TEST(look().dbsize() == 0);
}

BOOST_DATA_TEST_CASE(P4_a_log_outlives_its_newest_event_and_ends_in_time, every_redis()) {
    auto s = open_store(sample, 0ms);
    const policy p{"p", sliding_log(20, 400ms).named("short"), sliding_log(50, 2s).named("long")};
    std::mt19937_64 random{4};
    auto wrote = 0;
    constexpr asked_verb verbs[] = {asked_verb::allow, asked_verb::allow, asked_verb::charge,
                                    asked_verb::peek, asked_verb::refund};
    for (int i = 0; i < 300; ++i) {
        const auto cost = static_cast<std::int64_t>(random() % 4);
        const auto got = s->ask(verbs[random() % 5], "k", p, {.cost = cost});
        BOOST_REQUIRE(!got.ec);
        const auto recovery = got.result.rules[1].reset_after.count();
        const auto lives = look().pttl(log_name_of(p, "k"));
        const auto looked = look().time();
        BOOST_TEST(lives != -1);
        BOOST_TEST(lives * 1000 <= 2 * recovery + second);
        if (recovery == 0) // also if events have expired since the last call
            continue;
        ++wrote;
        BOOST_TEST(looked + std::max<std::int64_t>(lives, 0) * 1000 >=
                   got.result.server_time.time_since_epoch().count() + recovery);
    }
    BOOST_TEST(wrote > 200);
}

// The event before the newest is older, and its log must not live on for the newest one's sake.
BOOST_DATA_TEST_CASE(P4_after_a_refund_a_log_ends_with_the_event_that_is_the_newest_then,
                     every_redis()) {
    auto s = open_store(sample, 0ms);
    const policy p{"p", sliding_log(5, 10s)};
    const auto first = s->allow("k", p);
    while (look().time() < first.server_time.time_since_epoch().count() + 20'000) {
    }
    s->allow("k", p);
    const auto d = s->refund("k", p);
    const auto ends = look().must({"PEXPIRETIME", log_name_of(p, "k")}).integer;
    const auto recovered = (d.server_time + d.reset_after).time_since_epoch().count();
    BOOST_TEST(ends * 1000 >= recovered);
    BOOST_TEST(ends * 1000 <= recovered + d.reset_after.count() + second);
}

// Events are moved by whatever may write; the log ends as if they had come just now.
BOOST_DATA_TEST_CASE(P4_a_log_that_the_clock_left_behind_gets_a_new_end, every_redis()) {
    auto s = open_store(sample, 0ms);
    const auto name = log_name_of(five, "k");
    const auto lives_after = [&](std::string_view ttl) {
        s->reset("k", five, {.now = at(0)});
        s->allow("k", five, {.now = at(600 * second)});
        look().must({"PEXPIRE", name, ttl});
        s->refund("k", five, {.cost = 0, .now = at(0)});
        return look().pttl(name);
    };
    for (const auto* ttl : {"60000", "900000"}) {
        const auto lives = lives_after(ttl);
        BOOST_TEST(lives > 1'000);
        BOOST_TEST(lives <= 2'125);
    }
}

BOOST_DATA_TEST_CASE(P2_and_P12_hold_for_logs_against_a_count_of_every_event, every_store()) {
    auto s = open_store(sample);
    std::mt19937_64 random{12};
    const policy p{"p", sliding_log(4, 1s).named("a"), sliding_log(9, 5s).named("b")};
    auto events = std::vector<std::pair<std::int64_t, std::int64_t>>{};
    auto now = std::int64_t{0};
    const auto used = [&](std::int64_t period, std::int64_t t) {
        auto sum = std::int64_t{0};
        for (const auto& [when, cost] : events)
            sum += when > t - period ? cost : 0;
        return sum;
    };
    const auto fits = [&](std::int64_t cost, std::int64_t t) {
        return used(second, t) + cost <= 4 && used(5 * second, t) + cost <= 9;
    };
    for (int i = 0; i < 400; ++i) {
        now += static_cast<std::int64_t>(random() % 4 == 0 ? random() % 3 : random() % 500'000);
        const auto cost = static_cast<std::int64_t>(random() % 5);
        const auto d = s->allow("k", p, {.cost = cost, .now = at(now)});
        BOOST_TEST(d.allowed() == fits(cost, now));
        if (d.allowed() && cost > 0)
            events.emplace_back(now, cost);
        BOOST_TEST(d.rules[0].balance == 4 - used(second, now));
        BOOST_TEST(d.rules[1].balance == 9 - used(5 * second, now));
        if (!d.allowed()) {
            BOOST_TEST(fits(cost, now + d.retry_after.count()));
            BOOST_TEST(!fits(cost, now + d.retry_after.count() - 1));
        }
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()
