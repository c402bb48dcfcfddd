// SPDX-License-Identifier: BSL-1.0
//
// When a slot's lease ends here, when it is renewed and released again, and what is counted.
// Nothing of this waits for an end: the times are those that the slot keeps.

#include "slot_keeper_bench.hpp"

#include <base/clocks.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace colimit::slot_keeper_test {

using detail::held_slot;
using detail::slot_state;
using detail::steady_now;

constexpr auto second = std::int64_t{1'000'000};

/// Whether a time is so long after something that was done between `from` and now.
[[nodiscard]] inline bool is_after(std::int64_t time, std::int64_t length, std::int64_t from) {
    return time - length >= from && time - length <= steady_now();
}

struct several : world {
    void take_several(int count) {
        for (int i = 0; i < count; ++i) {
            take(hour);
            slots.push_back(std::move(got));
            kept.push_back(s->asked_for);
        }
    }

    std::vector<slot> slots;
    std::vector<std::shared_ptr<held_slot>> kept;
};

BOOST_FIXTURE_TEST_SUITE(slot_times, several)

BOOST_AUTO_TEST_CASE(
    a_lease_counts_from_its_question_and_ends_a_thousandth_before_that_of_the_store) {
    const auto before = steady_now();
    ask(hour);
    BOOST_TEST(is_after(s->asked_for->asked_at, 0, before));
    BOOST_TEST((s->asked_for->state == slot_state::asking));
    s->decide(true);
    until([this] { return ec.has_value(); });
    const auto& slot = *s->asked_for;
    BOOST_TEST((slot.state == slot_state::held));
    BOOST_TEST(slot.lease == 3'600 * second);
    BOOST_TEST(slot.ends == slot.asked_at + 3'600 * second - 3'600'000);
    BOOST_TEST(slot.due == slot.asked_at + 1'200 * second);
    BOOST_TEST(core->statistics().slots_acquired == 1U);
    BOOST_TEST(core->statistics().slots_held == 1U);
}

BOOST_AUTO_TEST_CASE(a_renewal_begins_a_new_lease_from_its_question) {
    take_due(hour);
    const auto first_due = s->asked_for->due;
    const auto first_end = s->asked_for->ends;
    until_asked(verb::renew);
    const auto& slot = *s->asked_for;
    BOOST_TEST(slot.asked_at >= first_due - second / 4); // not earlier than to join others
    BOOST_TEST(slot.asked_at <= steady_now());
    BOOST_TEST(slot.ends == first_end);
    BOOST_TEST(slot.due == first_end); // for as long as there is no reply
    s->decide(true);
    until([this] { return core->statistics().slots_renewed == 1; });
    BOOST_TEST(slot.ends == slot.asked_at + 3'600 * second - 3'600'000);
    BOOST_TEST(slot.due == slot.asked_at + 1'200 * second);
    BOOST_TEST(core->statistics().slots_held == 1U);
    BOOST_TEST(!got.lost());
}

BOOST_AUTO_TEST_CASE(renewals_are_made_together_if_they_are_due_within_a_quarter_of_a_pause) {
    constexpr auto early = second / 4;
    take_several(4);
    const auto now = steady_now();
    const auto dues = std::array{now, now + early - 10'000, now + early + 10'000, now + 3 * early};
    for (std::size_t i = 0; i < dues.size(); ++i)
        kept[i]->due = dues[i];
    take(hour); // sets the timer
    until_asked(verb::renew);
    for (std::size_t i = 0; i < dues.size(); ++i)
        BOOST_TEST((kept[i]->asked_at == kept[0]->asked_at) ==
                   (dues[i] - early <= kept[0]->asked_at));
}

BOOST_AUTO_TEST_CASE(a_slot_is_not_released_again_before_its_time_with_renewals) {
    take_several(2);
    slots[1].release();
    const auto now = steady_now();
    kept[0]->due = now;
    s->fail(lost_reply); // sets the timer, and the pause after which it is released again
    until([this] { return kept[1]->due != held_slot::never; });
    const auto soon = now + second / 5;
    kept[1]->due = soon;
    until_asked(verb::renew);
    BOOST_TEST((s->count(verb::release) == 1 || steady_now() >= soon));
}

BOOST_AUTO_TEST_CASE(a_slot_that_is_due_when_its_lease_ends_is_not_renewed_before) {
    take_several(2);
    kept[0]->due = steady_now();
    kept[1]->due = kept[1]->ends = kept[0]->due + second / 5;
    take(hour); // sets the timer
    until_asked(verb::renew);
    BOOST_TEST(s->count(verb::renew) == 1);
}

BOOST_AUTO_TEST_CASE(
    a_renewal_that_failed_is_made_again_after_a_twelfth_of_the_lease_or_at_its_end) {
    for (const auto at_end : {false, true})
        for (auto is_late = true; is_late;) { // the process was halted, and the lease has ended
            take_due(seconds);
            auto& slot = *s->asked_for;
            until([&] { return slot.renewal.has_value(); });
            const auto end = slot.due;
            if (at_end) { // sooner than after the longest pause
                slot.lease = 3'600 * second;
                slot.ends = steady_now() + second / 2;
            }
            const auto before = steady_now();
            s->fail(lost_reply);
            until([&] { return slot.due != end; });
            const auto due = slot.due;
            const auto state = slot.state;
            is_late = at_end && steady_now() >= slot.ends;
            if (!is_late) {
                BOOST_TEST((at_end ? due == slot.ends : is_after(due, 3 * second / 4, before)));
                BOOST_TEST((state == slot_state::held));
            }
            got.release();
            s->decide(true);
        }
}

BOOST_AUTO_TEST_CASE(a_release_that_failed_is_made_again_after_a_pause) {
    for (const auto& [p, pause] : {std::pair{&hour, second}, std::pair{&seconds, 3 * second / 4}}) {
        take(*p);
        auto& slot = *s->asked_for;
        got.release();
        BOOST_TEST((slot.state == slot_state::releasing));
        BOOST_TEST(slot.due == held_slot::never); // for as long as there is no reply
        const auto before = steady_now();
        s->fail(lost_reply);
        until([&] { return slot.due != held_slot::never; });
        BOOST_TEST(is_after(slot.due, pause, before));
        BOOST_TEST((slot.state == slot_state::releasing));
        until([&] { return slot.release.has_value(); });
        s->decide(true);
        until([&] { return slot.state == slot_state::ended; });
        BOOST_TEST(slot.kept == nullptr);
    }
    BOOST_TEST(core->statistics().slots_released == 2U);
    BOOST_TEST(core->statistics().slots_held == 0U);
    BOOST_TEST(core->statistics().slots_lost == 0U);
}

BOOST_AUTO_TEST_CASE(calls_for_a_slot_supply_the_time_of_its_acquire_and_what_has_passed) {
    for (const auto now : {std::int64_t{5}, limits::max_time}) {
        const auto before = steady_now();
        take(hour, {.now = time_point{std::chrono::microseconds{now}}});
        const auto acquired = steady_now();
        while (steady_now() < acquired + 1'000) {
        }
        const auto asked = steady_now();
        got.release();
        const auto passed = s->times.back() - now;
        BOOST_TEST(passed >= (now == 5 ? asked - acquired : 0));
        BOOST_TEST(passed <= (now == 5 ? steady_now() - before : 0));
        s->decide(true);
    }
    take(hour);
    got.release();
    BOOST_TEST(s->times.back() == detail::store_clock);
}

BOOST_AUTO_TEST_CASE(a_slot_of_a_closed_limiter_is_neither_held_nor_released) {
    take(hour);
    auto first = std::move(got);
    const auto slot = s->asked_for;
    ask(hour);
    const auto asks = s->asked_for;
    core->close();
    BOOST_TEST((slot->state == slot_state::ended));
    BOOST_TEST(slot->kept == nullptr);
    until([this] { return ec.has_value(); });
    BOOST_TEST((asks->state == slot_state::ended));
    BOOST_TEST(core->statistics().slots_held == 0U);
    first.release();
    BOOST_TEST(s->count(verb::release) == 0);
    context.restart();
    context.poll();
    BOOST_TEST(context.stopped()); // there is no renewal to come
}

/// Leases end in every microsecond, so some end in the one in which the list is looked at.
BOOST_AUTO_TEST_CASE(a_slot_is_not_renewed_in_the_microsecond_in_which_its_lease_ends) {
    take_several(2'000);
    const auto now = steady_now();
    for (std::size_t i = 0; i < kept.size(); ++i)
        kept[i]->due = kept[i]->ends = now + static_cast<std::int64_t>(i);
    take(hour); // sets the timer
    until([this] { return core->statistics().slots_lost == kept.size(); });
    BOOST_TEST(s->count(verb::renew) == 0);
}

BOOST_AUTO_TEST_CASE(a_slot_whose_lease_has_ended_is_lost_though_its_renewal_is_granted) {
    take_due(hour);
    auto& slot = *s->asked_for;
    until([&] { return slot.renewal.has_value(); });
    slot.ends = steady_now();
    s->decide(true);
    until([this] { return core->statistics().slots_lost == 1; });
    BOOST_TEST((slot.state == slot_state::lost));
    BOOST_TEST(core->statistics().slots_renewed == 0U);
    BOOST_TEST(core->statistics().slots_held == 0U);
    until([&] { return slot.due == held_slot::never; });
}

BOOST_AUTO_TEST_CASE(a_signal_is_emitted_as_soon_as_the_store_denies_a_renewal) {
    take_several(1);
    auto signal = boost::asio::cancellation_signal{};
    auto is_emitted = false;
    signal.slot().assign([&](boost::asio::cancellation_type) { is_emitted = true; });
    slots[0].cancel_when_lost(signal);
    kept[0]->due = steady_now();
    take(hour); // sets the timer
    until_asked(verb::renew);
    s->decide(false);
    until([&] { return is_emitted; });
    BOOST_TEST(steady_now() < kept[0]->ends); // in an hour
}

BOOST_AUTO_TEST_CASE(no_signal_of_a_released_slot_is_emitted) {
    take_several(1);
    auto signal = boost::asio::cancellation_signal{};
    signal.slot().assign([](boost::asio::cancellation_type) { BOOST_TEST(false); });
    slots[0].cancel_when_lost(signal);
    slots[0].release();
    s->fail(lost_reply);
    until([this] { return kept[0]->due != held_slot::never; });
    kept[0]->due = steady_now();
    take(hour); // sets the timer
    until_asked(verb::release, 2);
}

BOOST_AUTO_TEST_CASE(other_slots_that_are_due_are_renewed_before_a_signal_is_emitted) {
    take_several(2);
    auto signal = boost::asio::cancellation_signal{};
    auto renewals = std::vector<std::size_t>{}; // when the signal is emitted
    signal.slot().assign([&](boost::asio::cancellation_type) {
        renewals.push_back(static_cast<std::size_t>(s->count(verb::renew)));
    });
    slots[0].cancel_when_lost(signal);
    kept[0]->due = kept[0]->ends = kept[1]->due = steady_now();
    take(hour); // sets the timer
    until([&] { return !renewals.empty(); });
    BOOST_TEST(renewals == std::vector<std::size_t>{1}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(other_slots_are_renewed_after_a_signal_has_thrown) {
    take_several(1);
    auto signal = boost::asio::cancellation_signal{};
    signal.slot().assign(
        [](boost::asio::cancellation_type) { throw std::runtime_error{"thrown"}; });
    slots[0].cancel_when_lost(signal);
    kept[0]->due = kept[0]->ends = steady_now();
    take(hour); // sets the timer
    BOOST_CHECK_THROW(until([] { return false; }), std::runtime_error);
    context.restart();
    context.poll();
    BOOST_TEST(!context.stopped()); // a renewal is to come
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::slot_keeper_test
