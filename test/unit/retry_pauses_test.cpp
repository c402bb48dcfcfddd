// SPDX-License-Identifier: BSL-1.0
//
// When rejected batches are sent again: single cases, and random schedules against the bounds.

#include <redis/cluster/retry_pauses.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

BOOST_AUTO_TEST_SUITE(retry_pauses_of_a_cluster)

namespace {

using colimit::redis::retry_pauses;
using colimit::test::rng;

constexpr std::int64_t ms = 1'000;

[[nodiscard]] retry_pauses made(std::uint32_t seed = 1) {
    return retry_pauses{
        {.misses = 5, .pause_least = 10 * ms, .pause_most = 250 * ms, .seed = seed}};
}

/// Rejects attempts until the subject is open; returns the time.
std::int64_t open(retry_pauses& of, std::size_t subject, std::int64_t now) {
    for (int i = 0; i < 5; ++i) {
        BOOST_TEST(!of.is_open(subject));
        of.reject(subject, now, true);
        now = of.is_open(subject) ? now : of.next_end(now);
    }
    BOOST_TEST(of.is_open(subject));
    return now;
}

} // namespace

BOOST_AUTO_TEST_CASE(pauses_grow_and_rejections_within_one_belong_to_it) {
    auto r = made();
    auto now = std::int64_t{0};
    auto longest = 10 * ms;
    for (int i = 0; i < 20; ++i) {
        for (int batches = 0; batches < 7; ++batches)
            r.reject(3, now, false);
        BOOST_TEST(r.is_pausing(3, now));
        BOOST_TEST(!r.is_pausing(4, now));
        const auto end = r.next_end(now);
        BOOST_TEST(end - now >= longest / 2);
        BOOST_TEST(end - now <= longest);
        BOOST_TEST(!r.is_pausing(3, end));
        now = end;
        longest = std::min(2 * longest, 250 * ms);
    }
    BOOST_TEST(!r.is_open(3)); // these do not count
    BOOST_TEST(!r.try_refuse(3, now));
}

BOOST_AUTO_TEST_CASE(after_five_attempts_in_vain_calls_end_at_once_except_one_per_pause) {
    auto r = made();
    auto now = open(r, 1, 0);
    BOOST_TEST(r.is_any_open());
    BOOST_TEST(r.open_count() == 1U);
    auto attempts = 0;
    for (const auto begin = now; now < begin + 10'000 * ms; now += ms)
        attempts += r.try_refuse(1, now) ? 0 : 1;
    BOOST_TEST(attempts >= 40);
    BOOST_TEST(attempts <= 90);
    BOOST_TEST(!r.try_refuse(2, now));
    r.serve(1, false);
    BOOST_TEST(!r.is_any_open());
    BOOST_TEST(!r.try_refuse(1, now));
    BOOST_TEST(r.is_empty());
    (void)open(r, 1, now); // from the beginning
    BOOST_TEST(r.open_count() == 2U);
}

/// Other keys of the slot may be served while it moves.
BOOST_AUTO_TEST_CASE(a_moving_slot_is_served_when_a_rejected_batch_is) {
    auto r = made();
    r.reject(1, 0, false);
    r.serve(1, false);
    BOOST_TEST(r.is_pausing(1, 1));
    r.serve(1, true);
    BOOST_TEST(r.is_empty());
}

BOOST_AUTO_TEST_CASE(news_end_the_pauses_and_what_is_old_is_forgotten) {
    auto r = made();
    r.reject(1, 0, false);
    r.reject(2, 0, true);
    r.hurry(1, 1);
    r.hurry(2, 1); // nodes that do not agree are no news
    BOOST_TEST(!r.is_pausing(1, 1));
    BOOST_TEST(r.is_pausing(2, 1));
    r.hurry_all(2);
    BOOST_TEST(!r.is_pausing(2, 2));
    auto now = open(r, 3, 2);
    r.hurry_all(now);
    BOOST_TEST(!r.try_refuse(3, now));
    BOOST_TEST(r.try_refuse(3, now));
    r.hurry_all(now + 40 * 250 * ms + 1);
    BOOST_TEST(r.is_empty());
    BOOST_TEST(!r.is_any_open());
}

BOOST_AUTO_TEST_CASE(nothing_is_known_of_a_subject_that_was_dropped) {
    auto r = made();
    const auto now = open(r, 1, 0);
    (void)open(r, 2, 0);
    r.drop(1);
    BOOST_TEST(!r.try_refuse(1, now));
    BOOST_TEST(!r.is_pausing(1, now));
    BOOST_TEST(r.is_any_open());
    r.drop(2);
    r.drop(3);
    BOOST_TEST(!r.is_any_open());
    BOOST_TEST(r.is_empty());
}

/// However many batches are rejected, attempts are rare.
BOOST_AUTO_TEST_CASE(random_schedules_keep_the_bound_on_attempts) {
    for (std::uint32_t seed = 1; seed <= 50; ++seed) {
        auto random = rng{seed};
        auto r = made(seed);
        auto attempts = 0;
        constexpr auto length = 20'000 * ms;
        for (auto now = std::int64_t{0}; now < length; now += std::int64_t(random.below(3'000))) {
            const auto subject = random.below(2);
            if (r.try_refuse(subject, now) || r.is_pausing(subject, now))
                continue;
            ++attempts;
            r.reject(subject, now, true);
            r.hurry(subject, now);
        }
        BOOST_TEST(attempts <= 2 * (10 + length / (100 * ms)));
        BOOST_TEST(r.is_open(0));
        BOOST_TEST(r.is_open(1));
    }
}

BOOST_AUTO_TEST_SUITE_END()
