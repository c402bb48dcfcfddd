// SPDX-License-Identifier: BSL-1.0
//
// What a limiter does for the slots that it holds, before a store whose replies the test decides.

#include "slot_keeper_bench.hpp"

#include <base/clocks.hpp>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace colimit::slot_keeper_test {

BOOST_FIXTURE_TEST_SUITE(slot_keeping, world)

BOOST_AUTO_TEST_CASE(a_slot_has_the_token_and_is_released_under_its_own_id) {
    take(hour);
    BOOST_TEST(got.fencing_token() == 7U);
    got.release();
    BOOST_TEST(s->count(verb::release) == 1);
    BOOST_TEST(s->holders.front().size() == detail::holder_bytes);
    BOOST_TEST(s->holders.front() == s->holders.back());
    s->decide(true);
    context.restart();
    context.run();
    BOOST_TEST(s->count(verb::release) == 1);
    take(hour);
    BOOST_TEST(s->holders.front() != s->holders.back());
}

/// Its question may have been decided before the slot was given back, and it would sleep then.
BOOST_AUTO_TEST_CASE(a_call_that_asks_while_a_slot_is_given_back_asks_again_at_once) {
    take(hour);
    detail::initiation<true, detail::acquired_slot>{core.get()}(
        [](error_code, const slot&) {},
        detail::call{.kind = detail::call_kind::one,
                     .key = "k",
                     .policy = &detail::access::data(hour),
                     .request = detail::make_request(acquire_options{}, {}),
                     .max_wait = std::chrono::microseconds{1h}.count()});
    BOOST_TEST(s->count(verb::acquire) == 2);
    got.release();
    detail::access::append(s->held.front()->result.rules).retry_after = 30min;
    s->held.front()->result.reason = denial_reason::rule;
    s->decide(false);
    context.restart();
    context.poll();
    BOOST_TEST(s->count(verb::acquire) == 3);
}

/// They would wait for a slow store one after another otherwise, long after their time.
BOOST_AUTO_TEST_CASE(calls_of_a_line_whose_time_has_passed_ask_together) {
    auto ended = 0;
    const auto wait = [&](std::chrono::microseconds at_most) {
        detail::initiation<true, detail::acquired_slot>{core.get()}(
            [&](error_code, const slot&) { ++ended; },
            detail::call{.kind = detail::call_kind::one,
                         .key = "k",
                         .policy = &detail::access::data(hour),
                         .request = detail::make_request(acquire_options{}, {}),
                         .max_wait = at_most.count()});
    };
    wait(1us);
    wait(1us);
    wait(1h);
    wait(1us);
    wait(1us);
    BOOST_TEST(s->count(verb::acquire) == 1);
    std::this_thread::sleep_for(1us); // at least
    s->decide(true);                  // and nothing remains
    until([&] { return ended == 1; });
    BOOST_TEST(s->count(verb::acquire) == 4);
    for (auto i = 0; i < 3; ++i)
        s->decide(false);
    until([&] { return ended == 4; });
}

BOOST_AUTO_TEST_CASE(a_slot_whose_grant_may_have_been_lost_is_released) {
    ask(hour);
    s->fail(lost_reply);
    until_asked(verb::release);
    BOOST_TEST((*ec == errc::outcome_unknown));
    BOOST_TEST(!got);
    BOOST_TEST(s->holders.front() == s->holders.back());
    s->decide(true);
    context.restart();
    context.run();
    BOOST_TEST(core->statistics().slots_released == 0U);
    ask(hour);
    s->fail(make_error_code(errc::corrupt_state)); // it was executed
    until_asked(verb::release, 2);
}

BOOST_AUTO_TEST_CASE(a_slot_that_cannot_have_been_granted_is_not_released) {
    ask(hour);
    s->fail(make_error_code(errc::unavailable));
    context.run();
    BOOST_TEST((*ec == errc::unavailable));
    ask(hour);
    s->decide(false);
    context.restart();
    context.run();
    s->sends = false;
    ask(hour);
    give_up.emit(boost::asio::cancellation_type::terminal);
    context.restart();
    context.run();
    BOOST_TEST((*ec == boost::asio::error::operation_aborted));
    BOOST_TEST(s->count(verb::release) == 0);
}

BOOST_AUTO_TEST_CASE(a_call_that_is_cancelled_in_flight_gives_back_what_it_may_have_been_granted) {
    ask(hour);
    give_up.emit(boost::asio::cancellation_type::total); // does nothing
    BOOST_TEST(s->held.size() == 1U);
    give_up.emit(boost::asio::cancellation_type::terminal);
    until_asked(verb::release);
    BOOST_TEST((*ec == boost::asio::error::operation_aborted));
}

BOOST_AUTO_TEST_CASE(a_release_is_repeated_after_errors_until_its_lease_ends) {
    take(hour);
    got.release();
    for (int i = 1; i <= 2; ++i) {
        s->fail(i == 1 ? lost_reply : make_error_code(errc::unavailable));
        until_asked(verb::release, i + 1);
    }
    s->fail(make_error_code(errc::auth_failed)); // which no repetition would make good
    context.restart();
    context.run();
    BOOST_TEST(s->count(verb::release) == 3);

    take(brief);
    got.release();
    while (!s->held.empty()) {
        s->fail(lost_reply);
        context.restart();
        context.run_for(5s); // until it is repeated, or nothing is left
    }
    BOOST_TEST(context.stopped());
}

BOOST_AUTO_TEST_CASE(a_slot_that_is_to_be_released_again_outlives_its_handle) {
    take(hour);
    const auto slot = std::weak_ptr{std::exchange(s->asked_for, nullptr)};
    got.release();
    s->fail(lost_reply);
    context.restart();
    context.poll();
    BOOST_TEST(!slot.expired());
    core->close();
    BOOST_TEST(slot.expired());
}

BOOST_AUTO_TEST_CASE(a_renewal_is_repeated_after_errors_until_the_lease_ends) {
    take_due(hour);
    until_asked(verb::renew);
    s->fail(lost_reply);
    until_asked(verb::renew, 2);
    s->asked_for->ends = detail::steady_now();
    s->fail(lost_reply);
    until([this] { return core->statistics().slots_lost == 1; });
    BOOST_TEST(got.lost());
    BOOST_TEST(s->count(verb::renew) == 2);
    BOOST_TEST(core->statistics().slots_renewed == 0U);
    BOOST_TEST(s->count(verb::release) == 0);
}

BOOST_AUTO_TEST_CASE(a_slot_is_lost_when_a_renewal_has_no_reply_until_the_lease_ends) {
    take_due(seconds);
    until_asked(verb::renew);
    until([this] { return core->statistics().slots_lost == 1; });
    BOOST_TEST(s->count(verb::renew) == 1);
    s->decide(true); // too late
    context.restart();
    context.poll();
    BOOST_TEST(got.lost());
    BOOST_TEST(core->statistics().slots_renewed == 0U);
}

/// The loop has been busy with something else when the reply and the end of the lease came.
BOOST_AUTO_TEST_CASE(a_slot_that_was_seen_lost_stays_so_and_is_given_back_once) {
    take_due(hour);
    until_asked(verb::renew);
    s->asked_for->ends = detail::steady_now();
    BOOST_TEST(got.lost());
    s->decide(true);
    context.restart();
    context.poll();
    BOOST_TEST(got.lost());
    BOOST_TEST(core->statistics().slots_lost == 1U);
    BOOST_TEST(s->count(verb::release) == 0);      // its holder may still be at work
    s->asked_for->asked_at -= s->asked_for->lease; // that the renewal may have got
    got.release();
    BOOST_TEST(s->count(verb::release) == 1);
    s->fail(lost_reply);
    context.restart();
    context.run();
    BOOST_TEST(s->count(verb::release) == 1);
    BOOST_TEST(core->statistics().slots_released == 0U);
}

/// The store may have granted the renewal, and keeps the slot for a lease from then on.
BOOST_AUTO_TEST_CASE(a_release_is_repeated_until_the_lease_ends_that_was_asked_for_last) {
    auto repeated_for = std::chrono::steady_clock::duration{0};
    // A process that is halted at the end of the lease repeats nothing then.
    for (auto tries = 1; repeated_for < 1'700ms && tries <= 5; ++tries) {
        take_due(hour);
        until_asked(verb::renew, tries);
        s->asked_for->lease = 2'000'000;
        const auto released = std::chrono::steady_clock::now();
        got.release();
        while (!s->held.empty()) {
            repeated_for = std::chrono::steady_clock::now() - released;
            s->fail(lost_reply);
            context.restart();
            context.run_for(10s); // until it is repeated, or nothing is left
        }
    }
    BOOST_TEST((repeated_for >= 1'700ms)); // pauses are a twelfth of the lease
}

/// The event loop has other work, too.
BOOST_AUTO_TEST_CASE(many_renewals_of_one_moment_are_made_in_several_turns) {
    constexpr auto count = std::size_t{3'000};
    const auto many = policy{"many", concurrent(count).lease(1h)};
    world w;
    auto held = std::vector<slot>{};
    for (std::size_t i = 0; i < count; ++i) {
        detail::initiation<true, detail::acquired_slot>{w.core.get()}(
            [&held](error_code /*ec*/, slot got) { held.push_back(std::move(got)); },
            detail::call{.kind = detail::call_kind::one,
                         .key = "k",
                         .policy = &detail::access::data(many),
                         .request = detail::make_request(acquire_options{}, {})});
        w.s->asked_for->asked_at -= w.s->asked_for->lease / 3;
    }
    for (std::size_t i = 0; i < count; ++i)
        w.s->decide(true);
    auto most = std::size_t{0};
    while (w.s->asked.size() < 2 * count) {
        const auto before = w.s->asked.size();
        w.context.restart();
        w.context.run_one();
        most = std::max(most, w.s->asked.size() - before);
    }
    BOOST_TEST(most <= 1'000U);
    BOOST_TEST(w.s->count(verb::renew) == std::ptrdiff_t{count});
    w.until([&] { return held.size() == count; });
}

BOOST_AUTO_TEST_CASE(a_slot_is_lost_when_its_renewal_is_denied) {
    take_due(hour);
    until_asked(verb::renew);
    s->decide(false);
    until([this] { return core->statistics().slots_lost == 1; });
    BOOST_TEST(got.lost());
}

BOOST_AUTO_TEST_CASE(a_slot_that_is_released_during_its_renewal_is_released_once) {
    take_due(hour);
    until_asked(verb::renew);
    got.release();
    BOOST_TEST(s->count(verb::release) == 1);
    s->decide(true);
    s->decide(true);
    context.restart();
    context.run();
    BOOST_TEST(s->count(verb::release) == 1);
    BOOST_TEST(core->statistics().slots_renewed == 0U);
    BOOST_TEST(core->statistics().slots_released == 1U);
}

BOOST_AUTO_TEST_CASE(a_renewal_in_flight_outlives_slot_and_limiter) {
    take_due(hour);
    until_asked(verb::renew);
    core->close();
    got = slot{};
    BOOST_TEST(s->count(verb::release) == 0);
    context.restart();
    context.run();
}

BOOST_AUTO_TEST_CASE(a_release_in_flight_ends_with_its_limiter) {
    take(hour);
    got.release();
    core->close();
    context.restart();
    context.run();
    BOOST_TEST(s->count(verb::release) == 1);
    BOOST_TEST(!s->asked_for->release);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::slot_keeper_test
