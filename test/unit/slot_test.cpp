// SPDX-License-Identifier: BSL-1.0
//
// `acquire` in process: slots are taken, given back, renewed and lost. Leases that must not end
// meanwhile are long; of those that end, nothing is expected before.

#include <colimit/limiter.hpp>
#include <support/coroutine_run.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace colimit::slot_test {

using namespace std::chrono_literals;

const auto two = policy{"two", concurrent(2).lease(1h)};
const auto one = policy{"one", concurrent(1).lease(1h)};
const auto brief = policy{"brief", concurrent(1).lease(300ms)};

/// A call of `acquire`, with a way to give it up.
struct asking {
    asking(limiter& l, const policy& p, const acquire_options& o = {}) {
        l.acquire("k", p, o,
                  boost::asio::bind_cancellation_slot(give_up.slot(), [this](error_code e, slot s) {
                      BOOST_TEST_REQUIRE(!ec.has_value()); // ends once
                      ec = e;
                      got = std::move(s);
                      ended = std::chrono::steady_clock::now();
                  }));
    }
    asking(const asking&) = delete;
    asking& operator=(const asking&) = delete;

    [[nodiscard]] bool is_over() const { return ec.has_value(); }
    [[nodiscard]] bool has_slot() const { return ec && !*ec && got; }
    [[nodiscard]] bool was_denied() const { return ec && !*ec && !got; }

    boost::asio::cancellation_signal give_up;
    std::optional<error_code> ec;
    slot got;
    std::chrono::steady_clock::time_point ended;
};

struct in_process {
    /// Acquires a slot without waiting.
    [[nodiscard]] slot acquire(const policy& p, const acquire_options& o = {}) {
        auto call = asking{*l, p, o};
        test::run_until(context, [&] { return call.is_over(); });
        BOOST_TEST(!*call.ec);
        return std::move(call.got);
    }
    [[nodiscard]] error_code error_of(const policy& p, const acquire_options& o = {}) {
        const auto call = asking{*l, p, o};
        test::run_until(context, [&] { return call.is_over(); });
        BOOST_TEST(!call.got);
        return *call.ec;
    }
    [[nodiscard]] std::int64_t holders(const policy& p) {
        auto found = std::optional<decision>{};
        l->peek("k", p, {.cost = 0}, [&](error_code ec, const decision& d) {
            BOOST_TEST(!ec);
            found = d;
        });
        test::run_until(context, [&] { return found.has_value(); });
        return found->rules[0].limit - found->rules[0].balance;
    }
    void reset(const policy& p) {
        auto is_over = false;
        l->reset("k", p, [&](error_code ec, const decision&) {
            BOOST_TEST(!ec);
            is_over = true;
        });
        test::run_until(context, [&] { return is_over; });
    }

    boost::asio::io_context context;
    std::optional<limiter> l{std::in_place, context.get_executor(), "memory:"};
};

BOOST_FIXTURE_TEST_SUITE(slots, in_process)

BOOST_AUTO_TEST_CASE(a_slot_is_taken_until_it_is_released_or_destroyed) {
    auto first = acquire(two);
    BOOST_TEST(first.fencing_token() > 0U);
    BOOST_TEST(first.decision().allowed());
    {
        const auto second = acquire(two);
        BOOST_TEST((second.fencing_token() > first.fencing_token()));
        const auto third = acquire(two);
        BOOST_TEST(!third);
        BOOST_TEST(third.fencing_token() == 0U);
        BOOST_TEST((third.decision().outcome == outcome::denied));
        BOOST_TEST(third.decision().remaining == 0);
        BOOST_TEST((third.decision().retry_after <= 1h && third.decision().retry_after > 0s));
        BOOST_TEST(holders(two) == 2);
    }
    BOOST_TEST(holders(two) == 1);
    first.release();
    BOOST_TEST(!first);
    first.release();
    BOOST_TEST(holders(two) == 0);
    const auto s = l->statistics();
    BOOST_TEST(s.slots_held == 0U);
    BOOST_TEST(s.slots_acquired == 2U);
    BOOST_TEST(s.slots_released == 2U);
    BOOST_TEST(s.slots_lost == 0U);
}

BOOST_AUTO_TEST_CASE(a_moved_slot_stays_held_and_an_assigned_one_is_given_back) {
    auto a = acquire(two);
    auto b = acquire(two);
    const auto token = b.fencing_token();
    a = std::move(b);
    BOOST_TEST(!b); // NOLINT(bugprone-use-after-move): it is empty
    BOOST_TEST(a.fencing_token() == token);
    BOOST_TEST(holders(two) == 1);
    const auto c = std::move(a);
    BOOST_TEST(holders(two) == 1);
}

BOOST_AUTO_TEST_CASE(other_rules_are_charged_the_cost_and_keep_it) {
    const auto p = policy{"both", concurrent(10).lease(1h), fixed_window(5, 24h).from_first()};
    auto a = acquire(p, {.cost = 3});
    BOOST_TEST(a.decision().rules[1].balance == 2);
    const auto denied = acquire(p, {.cost = 3});
    BOOST_TEST(!denied);
    BOOST_TEST(denied.decision().limiting_rule == 1);
    BOOST_TEST(holders(p) == 1);
    a.release();
    BOOST_TEST(!acquire(p, {.cost = 3}));
    BOOST_TEST(acquire(p, {.cost = 2}).decision().allowed());
    BOOST_TEST(acquire(p, {.cost = 0}).decision().allowed());
    BOOST_TEST(holders(p) == 0);
}

BOOST_AUTO_TEST_CASE(policies_and_verbs_that_do_not_fit_are_refused) {
    const auto none = policy{"none", gcra(5, 1s)};
    BOOST_TEST((error_of(none) == errc::invalid_policy));
    BOOST_TEST((error_of(one, {.max_wait = -1us}) == errc::invalid_argument));
    BOOST_TEST(
        (error_of(one, {.max_wait = wait_options::no_max_wait + 1us}) == errc::invalid_argument));
    BOOST_TEST((error_of(one, {.cost = -1}) == errc::invalid_argument));
    auto why = error_code{};
    l->allow("k", one, [&](error_code ec, const decision&) { why = ec; });
    test::run_until(context, [&] { return why.failed(); });
    BOOST_TEST((why == errc::invalid_policy));
}

BOOST_AUTO_TEST_CASE(a_slot_is_renewed_before_its_lease_ends) {
    const auto held = acquire(policy{"p", concurrent(1).lease(9s)});
    test::run_until(context, [&] { return l->statistics().slots_renewed == 1; });
    BOOST_TEST(!held.lost());
    BOOST_TEST(l->statistics().slots_held == 1U);
}

BOOST_AUTO_TEST_CASE(a_slot_that_the_store_has_forgotten_is_lost_and_its_signal_emitted_once) {
    auto held = acquire(brief);
    auto emitted = 0;
    auto signal = boost::asio::cancellation_signal{};
    signal.slot().assign([&](boost::asio::cancellation_type t) {
        BOOST_TEST((t == boost::asio::cancellation_type::total));
        ++emitted;
    });
    held.cancel_when_lost(signal, boost::asio::cancellation_type::total);
    reset(brief);
    test::run_until(context, [&] { return emitted != 0; });
    BOOST_TEST(held.lost());
    BOOST_TEST(static_cast<bool>(held));
    BOOST_TEST(l->statistics().slots_lost == 1U);
    BOOST_TEST(l->statistics().slots_held == 0U);

    auto later = boost::asio::cancellation_signal{};
    later.slot().assign([&](boost::asio::cancellation_type) { ++emitted; });
    held.cancel_when_lost(later); // it is lost already
    test::run_until(context, [&] { return emitted == 2; });
    held.release();
    BOOST_TEST(l->statistics().slots_released == 0U);
    context.restart();
    context.run(); // nothing is left to do
    BOOST_TEST(emitted == 2);
}

BOOST_AUTO_TEST_CASE(a_slot_is_lost_by_time_even_while_the_event_loop_stands_still) {
    const auto held = acquire(brief);
    std::this_thread::sleep_for(300ms);
    BOOST_TEST(held.lost());
}

BOOST_AUTO_TEST_CASE(a_slot_may_be_released_from_its_signal) {
    auto held = acquire(brief);
    auto signal = boost::asio::cancellation_signal{};
    signal.slot().assign([&](boost::asio::cancellation_type) {
        held.release();
        l.reset();
    });
    held.cancel_when_lost(signal);
    reset(brief);
    test::run_until(context, [&] { return !l; });
    BOOST_TEST(!held);
}

BOOST_AUTO_TEST_CASE(calls_wait_in_their_order_for_slots_that_are_given_back) {
    const auto patient = acquire_options{.max_wait = wait_options::no_max_wait};
    auto held = acquire(one);
    auto first = asking{*l, one, patient};
    auto second = asking{*l, one, patient};
    BOOST_TEST(holders(one) == 1);
    BOOST_TEST(!first.is_over());
    held.release();
    test::run_until(context, [&] { return first.is_over(); });
    BOOST_TEST(first.has_slot());
    BOOST_TEST(holders(one) == 1);
    BOOST_TEST(!second.is_over());
    first.got.release();
    test::run_until(context, [&] { return second.is_over(); });
    BOOST_TEST(second.has_slot());
}

/// Each version has a queue of its own; one whose calls never cease must not get all slots.
BOOST_AUTO_TEST_CASE(first_calls_of_two_versions_get_slots_in_their_order) {
    const auto patient = acquire_options{.max_wait = wait_options::no_max_wait};
    const auto other = policy{"one", concurrent(1).lease(2h)};
    auto held = acquire(one);
    auto waiting = std::vector<std::unique_ptr<asking>>{};
    for (auto i = 0; i < 3; ++i)
        for (const auto* version : {&one, &other}) {
            waiting.push_back(std::make_unique<asking>(*l, *version, patient));
            (void)holders(one);
            std::this_thread::sleep_for(1ms); // so that none began at the same time
        }
    auto order = std::vector<std::ptrdiff_t>{};
    while (order.size() < waiting.size()) {
        held.release();
        const auto has_slot = [](const auto& w) { return w->has_slot(); };
        auto next = waiting.end();
        test::run_until(context, [&] {
            next = std::ranges::find_if(waiting, has_slot);
            return next != waiting.end();
        });
        held = std::move((*next)->got);
        order.push_back(next - waiting.begin());
    }
    BOOST_TEST((order == std::vector<std::ptrdiff_t>{0, 1, 2, 3, 4, 5}));
}

BOOST_AUTO_TEST_CASE(a_call_is_denied_when_it_has_waited_for_its_whole_time) {
    const auto held = acquire(one);
    const auto began = std::chrono::steady_clock::now();
    auto call = asking{*l, one, {.max_wait = 150ms}};
    test::run_until(context, [&] { return call.is_over(); });
    BOOST_TEST(call.was_denied());
    BOOST_TEST((call.ended - began >= 150ms));
}

BOOST_AUTO_TEST_CASE(a_call_that_waits_can_be_cancelled_and_ends_with_its_limiter) {
    const auto held = acquire(one);
    auto cancelled = asking{*l, one, {.max_wait = wait_options::no_max_wait}};
    auto closed = asking{*l, one, {.max_wait = wait_options::no_max_wait}};
    BOOST_TEST(holders(one) == 1);
    cancelled.give_up.emit(boost::asio::cancellation_type::total);
    test::run_until(context, [&] { return cancelled.is_over(); });
    BOOST_TEST((*cancelled.ec == boost::asio::error::operation_aborted));
    l->close();
    test::run_until(context, [&] { return closed.is_over(); });
    BOOST_TEST((*closed.ec == errc::closed));
}

BOOST_AUTO_TEST_CASE(the_context_runs_out_of_work_when_no_slot_is_held) {
    auto held = acquire(two);
    context.restart();
    context.poll();
    BOOST_TEST(!context.stopped()); // a renewal is to come
    held.release();
    context.restart();
    context.run();
}

BOOST_AUTO_TEST_CASE(a_granted_slot_that_no_handler_takes_is_released) {
    auto is_over = false;
    l->acquire("k", one, [&](error_code ec, const slot& s) {
        BOOST_TEST(!ec);
        BOOST_TEST(static_cast<bool>(s));
        is_over = true;
    });
    test::run_until(context, [&] { return is_over; });
    BOOST_TEST(holders(one) == 0);
}

BOOST_AUTO_TEST_CASE(a_granted_slot_whose_handler_is_destroyed_with_its_own_context_is_released) {
    auto settings = config{};
    settings.thread_safe = true; // the slot is then taken where the handler runs
    l.emplace(context.get_executor(), settings);
    {
        auto other = boost::asio::io_context{};
        l->acquire("k", one, boost::asio::bind_executor(other, [](error_code, const slot&) {
                       std::abort();
                   }));
        test::run_until(context, [&] { return l->statistics().slots_held == 1; });
    }
    BOOST_TEST(holders(one) == 0);
    BOOST_TEST(l->statistics().slots_released == 1U);
}

/// They all ask at once then, and the slots are given in the order of the queue.
BOOST_AUTO_TEST_CASE(calls_whose_time_has_passed_get_slots_in_the_order_of_their_queue) {
    auto held = std::vector<slot>{};
    held.push_back(acquire(two));
    held.push_back(acquire(two));
    const auto first = asking{*l, two, acquire_options{.max_wait = 1h}};
    const auto second = asking{*l, two, acquire_options{.max_wait = 2ms}};
    const auto third = asking{*l, two, acquire_options{.max_wait = 1ms}};
    std::this_thread::sleep_for(2ms); // without the loop
    reset(two);
    test::run_until(context,
                    [&] { return first.is_over() && second.is_over() && third.is_over(); });
    BOOST_TEST(first.has_slot());
    BOOST_TEST(second.has_slot());
    BOOST_TEST(third.was_denied());
}

/// A denial would promise a slot that it cannot give.
BOOST_AUTO_TEST_CASE(a_full_store_fails_a_call_and_keeps_the_slots) {
    auto settings = config{};
    settings.advanced.local_max_states = 200;
    l.emplace(context.get_executor(), settings);
    const auto many = policy{"many", concurrent(100).lease(1h)};
    auto held = std::vector<slot>{};
    held.push_back(acquire(many));
    const auto filler = policy{"filler", gcra(5, 1h)};
    auto filled = 0;
    for (auto i = 0; i < 1'000; ++i)
        l->allow("f" + std::to_string(i), filler, [&](error_code ec, const decision&) {
            BOOST_TEST(!ec);
            ++filled;
        });
    test::run_until(context, [&] { return filled == 1'000; });
    auto why = error_code{};
    while (!why && held.size() < 100U) {
        auto call = asking{*l, many, acquire_options{.max_wait = 1h}};
        test::run_until(context, [&] { return call.is_over(); });
        why = *call.ec;
        if (!why)
            held.push_back(std::move(call.got));
    }
    BOOST_TEST((why == errc::server_error));
    BOOST_TEST((why == condition::transient));
    BOOST_TEST(why.message().starts_with("acquire: no room to remember one more holder"));
    BOOST_TEST(holders(many) == static_cast<std::int64_t>(held.size()));
    held.pop_back();
    held.push_back(acquire(many));
    BOOST_TEST(held.back().decision().allowed());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(slots_after_their_limiter)

BOOST_AUTO_TEST_CASE(a_slot_outlives_its_limiter_and_its_context) {
    auto f = std::optional<in_process>{std::in_place};
    auto kept = f->acquire(brief);
    auto signal = boost::asio::cancellation_signal{};
    kept.cancel_when_lost(signal);
    f->l->close();
    BOOST_TEST(f->l->statistics().slots_held == 0U);
    auto other = std::move(kept);
    f.reset();
    std::this_thread::sleep_for(300ms);
    BOOST_TEST(other.lost());
    other.cancel_when_lost(signal);
    other.release();
    BOOST_TEST(!other);
    BOOST_TEST(!other.lost());
}

BOOST_AUTO_TEST_CASE(a_context_may_end_with_slots_and_calls) {
    auto kept = slot{};
    {
        auto f = in_process{};
        kept = f.acquire(one);
        f.l->acquire("k", one, {.max_wait = 1h}, [s = std::move(kept)](error_code, const slot&) {});
        f.l->acquire("other", one, [](error_code, const slot&) { BOOST_ERROR("no handler runs"); });
    }
    BOOST_TEST(!kept); // NOLINT(bugprone-use-after-move): the handler had it
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::slot_test
