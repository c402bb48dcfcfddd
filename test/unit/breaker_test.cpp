// SPDX-License-Identifier: BSL-1.0
//
// The circuit breaker with times and random numbers that the tests choose.

#include <redis/connection/breaker.hpp>
#include <support/unit_test.hpp>

#include <cstdint>
#include <random>
#include <set>

BOOST_AUTO_TEST_SUITE(breakers)

namespace {

using colimit::redis::breaker;
using colimit::redis::breaker_settings;

[[nodiscard]] breaker_settings settings(std::uint32_t seed = 1) {
    return {.misses = 3,
            .probes = 2,
            .probe_timeout = 100,
            .pause_least = 1'000,
            .pause_most = 8'000,
            .seed = seed};
}

[[nodiscard]] breaker opened(std::int64_t now, std::uint32_t seed = 1) {
    auto b = breaker{settings(seed)};
    for (int i = 0; i < 3; ++i)
        b.on_failure(now);
    return b;
}

/// A shell that looks for what has arrived as soon as the probe may be late.
void probe(breaker& b, bool served, std::int64_t now, std::int64_t later) {
    b.begin_probe(now);
    if (b.probe_late_at().value() < now + later)
        b.miss_probe();
    b.end_probe(served, now + later);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_new_server_has_missed_nothing_and_is_sent_calls) {
    auto closed = breaker{settings()};
    closed.on_failure(0);
    closed.on_failure(0);
    closed.forget();
    closed.on_failure(0);
    closed.on_failure(0);
    BOOST_TEST(!closed.is_open());
    auto open = opened(0);
    auto now = std::int64_t{0};
    for (int i = 0; i < 5; ++i) { // the pauses grow
        now = open.probe_at().value();
        probe(open, false, now, 0);
    }
    BOOST_TEST(open.probe_at().value() > now + 1'000);
    open.forget();
    BOOST_TEST(!open.is_open());
    for (int i = 0; i < settings().misses; ++i) {
        BOOST_TEST(!open.is_open());
        open.on_failure(now);
    }
    BOOST_TEST(open.is_open());
    BOOST_TEST(open.probe_at().value() <= now + 1'000);
}

BOOST_AUTO_TEST_CASE(misses_in_a_row_open_it_and_others_do_not) {
    auto b = breaker{settings()};
    for (int i = 0; i < 100; ++i) {
        b.on_failure(i);
        b.on_failure(i);
        BOOST_TEST(!b.is_open());
        b.on_success();
    }
    BOOST_TEST(!b.probe_at().has_value());
    BOOST_TEST(b.open_count() == 0U);
    for (int i = 0; i < 5; ++i)
        b.on_failure(1'000);
    BOOST_TEST(b.is_open());
    BOOST_TEST(b.open_count() == 1U);
    BOOST_TEST(b.probe_at().has_value());
}

BOOST_AUTO_TEST_CASE(good_probes_in_a_row_close_it) {
    auto b = opened(0);
    probe(b, true, 1'000, 50);
    BOOST_TEST(b.is_open());
    BOOST_TEST(b.probe_at().value() == 1'050); // the next one at once
    probe(b, false, 1'050, 50);
    probe(b, true, 5'000, 50);
    BOOST_TEST(b.is_open());
    probe(b, true, 5'050, 50);
    BOOST_TEST(!b.is_open());
    BOOST_TEST(!b.probe_at().has_value());
    b.on_failure(6'000); // it begins to count anew
    b.on_failure(6'000);
    BOOST_TEST(!b.is_open());
}

BOOST_AUTO_TEST_CASE(good_probes_do_not_count_when_it_opens_again) {
    auto on_handshake = opened(0);
    probe(on_handshake, true, 1'000, 50);
    on_handshake.on_handshake();
    on_handshake.on_failure(2'000);
    auto closed = opened(0);
    for (int i = 0; i < 2; ++i)
        probe(closed, true, 1'000, 50);
    for (int i = 0; i < 3; ++i)
        closed.on_failure(2'000);
    for (auto* b : {&on_handshake, &closed}) {
        probe(*b, true, 3'000, 50);
        BOOST_TEST(b->is_open());
        probe(*b, true, 4'000, 50);
        BOOST_TEST(!b->is_open());
    }
}

BOOST_AUTO_TEST_CASE(a_probe_that_is_answered_late_is_not_good_and_asks_for_another) {
    auto b = opened(0);
    for (int i = 0; i < 10; ++i) {
        probe(b, true, 10'000, 101);
        BOOST_TEST(b.is_open());
        BOOST_TEST(b.probe_at().value() == 10'101);
    }
    probe(b, true, 20'000, 100);
    probe(b, true, 20'100, 100);
    BOOST_TEST(!b.is_open());
}

BOOST_AUTO_TEST_CASE(a_probe_that_is_read_late_is_good_unless_it_was_missed) {
    auto b = opened(0);
    b.begin_probe(10'000);
    BOOST_TEST(b.probe_late_at().value() == 10'100);
    b.end_probe(true, 70'000); // the event loop was busy, and found the reply when it looked
    b.begin_probe(70'000);
    b.miss_probe();
    BOOST_TEST(!b.probe_late_at().has_value());
    b.end_probe(true, 70'050);
    BOOST_TEST(b.is_open());
    for (int i = 0; i < 2; ++i) {
        b.begin_probe(80'000);
        b.end_probe(true, 90'000);
    }
    BOOST_TEST(!b.is_open());
    BOOST_TEST(!b.probe_late_at().has_value());
}

BOOST_AUTO_TEST_CASE(after_a_greeting_the_next_miss_opens_it_until_a_call_is_answered) {
    auto b = opened(0);
    for (int i = 0; i < 3; ++i) {
        b.on_handshake();
        BOOST_TEST(!b.is_open());
        b.on_failure(i);
        BOOST_TEST(b.is_open());
    }
    b.on_handshake();
    b.on_success();
    b.on_failure(9);
    b.on_failure(9);
    BOOST_TEST(!b.is_open());
}

BOOST_AUTO_TEST_CASE(pauses_grow_to_their_most_and_are_jittered) {
    auto firsts = std::set<std::int64_t>{};
    auto random = std::mt19937{1};
    for (int client = 0; client < 50; ++client) {
        auto b = opened(0, static_cast<std::uint32_t>(random()));
        auto most = std::int64_t{1'000};
        auto now = std::int64_t{0};
        firsts.insert(b.probe_at().value());
        for (int i = 0; i < 6; ++i) {
            const auto pause = b.probe_at().value() - now;
            BOOST_TEST(pause >= most / 2);
            BOOST_TEST(pause <= most);
            now += 10'000;
            probe(b, false, now, 0);
            most = most < 8'000 ? 2 * most : most;
        }
    }
    BOOST_TEST(firsts.size() > 20U);
}

BOOST_AUTO_TEST_CASE(pauses_begin_small_again_when_a_call_was_answered_and_not_before) {
    auto b = opened(0);
    for (int i = 0; i < 5; ++i)
        probe(b, false, 0, 0);
    b.on_handshake();
    for (int i = 0; i < 3; ++i)
        b.on_failure(0);
    BOOST_TEST(b.probe_at().value() >= 4'000); // it closed, and no call was served
    b.on_handshake();
    b.on_success();
    for (int i = 0; i < 3; ++i)
        b.on_failure(0);
    BOOST_TEST(b.probe_at().value() <= 1'000);
}

BOOST_AUTO_TEST_CASE(a_server_that_is_heard_is_probed_at_once) {
    auto b = opened(0);
    BOOST_TEST(b.probe_at().value() > 100);
    b.on_late_reply(100);
    BOOST_TEST(b.probe_at().value() == 100);
    BOOST_TEST(b.is_open());
}

BOOST_AUTO_TEST_CASE(one_probe_is_under_way_at_a_time_and_ends_with_its_connection) {
    auto b = opened(0);
    b.begin_probe(2'000);
    BOOST_TEST(b.is_probing());
    BOOST_TEST(!b.probe_at().has_value());
    b.lose_connection();
    BOOST_TEST(!b.is_probing());
    BOOST_TEST(b.is_open());
    BOOST_TEST(b.probe_at().has_value());
}

BOOST_AUTO_TEST_CASE(a_hit_while_it_is_open_closes_nothing) {
    auto b = opened(0);
    b.on_success();
    BOOST_TEST(b.is_open());
}

BOOST_AUTO_TEST_SUITE_END()
