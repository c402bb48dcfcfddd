// SPDX-License-Identifier: BSL-1.0
//
// `wait` under rules from which nothing can be reserved: calls ask in their order until they are
// granted.

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <scenario/waiter.hpp>
#include <support/decision_text.hpp>
#include <support/rules_of_every_kind.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

// Not an anonymous one: GCC warns where coroutines of data test cases capture its types.
namespace colimit::key_queue_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using scenario::waiter;
using test::live;
using waiters = std::vector<std::unique_ptr<waiter>>;

const auto day = policy{"day", fixed_window(1, 24h).from_first()};
const auto two = policy{"two", fixed_window(2, 60ms).from_first()};
constexpr auto patient = wait_options{.max_wait = wait_options::no_max_wait};
constexpr auto in_process = {true, false};

[[nodiscard]] waiters wait_for(live& l, const policy& p, std::size_t n,
                               const wait_options& o = patient) {
    auto all = waiters{};
    while (all.size() < n)
        all.push_back(std::make_unique<waiter>(l.limiter, "k", p, o));
    return all;
}

asio::awaitable<void> until_over(const waiters& all) {
    co_await test::until(
        [&] { return std::ranges::all_of(all, [](const auto& w) { return w->is_over(); }); });
}

asio::awaitable<std::int64_t> used(live& l, policy p) {
    const auto d = co_await l.limiter.peek("k", p, {.cost = 0, .member = ""});
    co_return d.limit - d.remaining;
}

BOOST_AUTO_TEST_SUITE(key_queues)

BOOST_DATA_TEST_CASE(calls_are_admitted_in_their_order_and_never_too_many, in_process) {
    auto f = scenario::store_fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        const auto all = wait_for(*f.l, two, 7);
        co_await until_over(all);
        for (std::size_t i = 0; i < all.size(); ++i) {
            BOOST_TEST_REQUIRE(all[i]->was_granted());
            if (i >= 1)
                BOOST_TEST((all[i]->ended >= all[i - 1]->ended));
            if (i < 2 || i % 2 != 0)
                continue;
            const auto window = all[i]->d.server_time - all[i - 2]->d.server_time;
            BOOST_TEST((window >= 60ms)); // it is the first one of its window
            BOOST_TEST((window <= 61ms));
        }
    });
}

BOOST_DATA_TEST_CASE(every_rule_can_be_waited_for, in_process) {
    auto f = scenario::store_fixture{sample};
    auto rules = test::rules_of_every_kind(2, 30ms);
    std::erase_if(rules, [](const rule& r) { return r.kind() == algorithm::calendar; });
    rules.push_back(sliding_log(2, 30ms));
    rules.push_back(sliding_log(2, 30ms).count_denied());
    rules.push_back(distinct(2, 30ms));
    f.l->run([&]() -> asio::awaitable<void> {
        for (const auto& r : rules) {
            const auto key = "k " + to_string(r);
            const policy beside{"q", gcra(5, 1s).named("bucket"), r};
            for (const auto& one : {policy{"p", r}, beside}) {
                auto all = waiters{};
                for (const auto* member : {"a", "b", "c", "d", "e"})
                    all.push_back(std::make_unique<waiter>(
                        f.l->limiter, key, one,
                        wait_options{.max_wait = wait_options::no_max_wait, .member = member}));
                co_await until_over(all);
                for (const auto& w : all)
                    BOOST_TEST(w->was_granted(), key);
                BOOST_TEST((all[4]->d.server_time > all[0]->d.server_time), key);
            }
        }
        const auto packed =
            policy{"packed", gcra(1, 20ms).burst(1)}.with_storage(storage::shared_hash);
        const auto all = wait_for(*f.l, packed, 3);
        co_await until_over(all);
        const auto took = all[2]->d.server_time - all[0]->d.server_time;
        BOOST_TEST((took >= 40ms));
        BOOST_TEST((took <= 41ms));
    });
}

BOOST_DATA_TEST_CASE(a_call_that_would_wait_too_long_is_denied_and_charges_nothing, in_process) {
    auto f = scenario::store_fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l->limiter.allow("k", day);
        const auto alone = co_await f.l->limiter.wait("k", day, {.max_wait = 23h});
        BOOST_TEST(alone.outcome == outcome::denied);
        BOOST_TEST((alone.retry_after > 23h));

        const auto first = wait_for(*f.l, day, 1, {.max_wait = 48h});
        // Whether the queue asks or sleeps when it joins, it cannot be admitted in time.
        auto asking = waiter{f.l->limiter, "k", day, {.max_wait = 23h}};
        co_await test::until([&] { return asking.is_over(); });
        auto sleeping = waiter{f.l->limiter, "k", day, {.max_wait = 23h}};
        co_await test::until([&] { return sleeping.is_over(); });
        for (const auto* w : {&asking, &sleeping}) {
            BOOST_TEST(w->d.outcome == outcome::denied);
            BOOST_TEST((w->d.retry_after > 24h - 10ms));
            BOOST_TEST((w->d.retry_after <= 24h));
        }
        const auto never = co_await f.l->limiter.wait("other", day, {.cost = 2});
        BOOST_TEST(never.outcome == outcome::never);
        BOOST_TEST(!first[0]->is_over());
        BOOST_TEST(co_await used(*f.l, day) == 1);
        first[0]->cancel();
        co_await until_over(first);
    });
}

/// A denial names a rule by its index, so it must never reach a call under other rules.
BOOST_DATA_TEST_CASE(versions_of_a_policy_do_not_share_a_line, in_process) {
    const auto old = policy{"v", fixed_window(100, 1s).named("second"),
                            fixed_window(1, 24h).from_first().named("day")};
    const auto fewer = policy{"v", fixed_window(100, 1s).named("second")};
    const auto higher = policy{"v", fixed_window(100, 1s).named("second"),
                               fixed_window(2, 24h).from_first().named("day")};
    auto f = scenario::store_fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        auto& l = f.l->limiter;
        (void)co_await l.allow("k", old);
        const auto asleep = wait_for(*f.l, old, 2);
        (void)co_await used(*f.l, old); // the first one has been denied
        const auto raised = co_await l.wait("k", higher, {.max_wait = 1s});
        BOOST_TEST(raised.allowed());
        BOOST_TEST(raised.limit == 2);
        const auto denied = co_await l.wait("k", higher, {.max_wait = 1s});
        BOOST_TEST(denied.outcome == outcome::denied);
        BOOST_TEST(denied.limit == 2);
        const auto free = co_await l.wait("k", fewer, {.max_wait = 1s});
        BOOST_TEST(free.allowed());
        BOOST_TEST(free.rules.size() == fewer.size());

        auto next = waiter{l, "k", old, {.max_wait = 1s}}; // behind those of its own version
        co_await test::until([&] { return next.is_over(); });
        BOOST_TEST(next.d.outcome == outcome::denied);
        BOOST_TEST(next.d.limit == 1);
        for (const auto& w : asleep) {
            BOOST_TEST(!w->is_over());
            w->cancel();
        }
        co_await until_over(asleep);
    });
}

BOOST_DATA_TEST_CASE(a_denied_call_does_not_keep_those_behind_it_from_asking, in_process) {
    auto f = scenario::store_fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        const auto five = policy{"five", fixed_window(5, 24h).from_first()};
        (void)co_await f.l->limiter.charge("k", five, {.cost = 3});
        auto large = waiter{f.l->limiter, "k", five, {.cost = 3}};
        auto small = waiter{f.l->limiter, "k", five, {.cost = 2}};
        co_await test::until([&] { return large.is_over() && small.is_over(); });
        BOOST_TEST(large.d.outcome == outcome::denied);
        BOOST_TEST(small.was_granted());
        BOOST_TEST(co_await used(*f.l, five) == 5);
    });
}

BOOST_DATA_TEST_CASE(a_cancelled_call_leaves_its_line, in_process) {
    auto f = scenario::store_fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l->limiter.allow("k", day);
        const auto all = wait_for(*f.l, day, 3);
        (void)co_await used(*f.l, day);  // the first one has been denied
        for (const auto i : {1, 0, 2}) { // from the middle, the first, the last
            auto& w = *all[static_cast<std::size_t>(i)];
            w.give_up.emit(asio::cancellation_type::total);
            co_await test::until([&] { return w.is_over(); });
            BOOST_TEST((w.ec == asio::error::operation_aborted));
        }
        BOOST_TEST(co_await used(*f.l, day) == 1);
        co_await f.l->limiter.reset("k", day);
        const auto d = co_await f.l->limiter.wait("k", day); // the queue is gone
        BOOST_TEST(d.allowed());
    });
}

BOOST_DATA_TEST_CASE(a_call_is_denied_with_the_last_denial_of_its_line, in_process) {
    auto f = scenario::store_fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l->limiter.allow("k", day);
        const auto all = wait_for(*f.l, day, 2);
        (void)co_await used(*f.l, day); // the first one has been denied
        all[0]->cancel();               // the second one has not asked
        const auto d = co_await f.l->limiter.wait("k", day, {.max_wait = 1h});
        BOOST_TEST(d.outcome == outcome::denied);
        BOOST_TEST(d.limit == 1);
        BOOST_TEST(d.rules.size() == 1U);
        BOOST_TEST((d.retry_after > 23h));
        BOOST_TEST(!all[1]->is_over());
        f.l->limiter.close();
        co_await until_over(all);
    });
}

BOOST_DATA_TEST_CASE(the_next_call_asks_when_the_first_one_gives_up, in_process) {
    auto f = scenario::store_fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l->limiter.charge("k", two, {.cost = 2});
        const auto all = wait_for(*f.l, two, 3);
        all[0]->cancel();
        co_await until_over(all);
        BOOST_TEST((all[0]->ec == asio::error::operation_aborted));
        BOOST_TEST(all[1]->was_granted());
        BOOST_TEST(all[2]->was_granted());
    });
}

BOOST_DATA_TEST_CASE(a_call_need_not_wait_for_one_in_front_that_gave_up, in_process) {
    auto f = scenario::store_fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        const auto five = policy{"five", fixed_window(5, 24h).from_first()};
        (void)co_await f.l->limiter.charge("k", five, {.cost = 3});
        auto large = waiter{f.l->limiter, "k", five, {.cost = 3, .max_wait = 48h}};
        auto small = waiter{f.l->limiter, "k", five, {.cost = 2, .max_wait = 48h}};
        (void)co_await used(*f.l, five); // the first one has been denied
        large.cancel();
        co_await test::until([&] { return small.is_over(); });
        BOOST_TEST(small.was_granted());

        const auto members = policy{"members", distinct(1, 24h * 365)};
        (void)co_await f.l->limiter.allow("k", members, {.member = "known"});
        auto unknown = waiter{f.l->limiter, "k", members, {.max_wait = 48h, .member = "new"}};
        auto known = waiter{f.l->limiter, "k", members, {.max_wait = 48h, .member = "known"}};
        (void)co_await used(*f.l, members);
        unknown.cancel();
        co_await test::until([&] { return known.is_over(); });
        BOOST_TEST(known.was_granted());

        auto late = waiter{f.l->limiter, "k", members, {.max_wait = 1s, .member = "new"}};
        auto next = waiter{f.l->limiter, "k", members, {.max_wait = 1s, .member = "known"}};
        co_await test::until([&] { return late.is_over() && next.is_over(); });
        BOOST_TEST(!late.was_granted());
        BOOST_TEST(next.was_granted());
    });
}

BOOST_AUTO_TEST_CASE(a_context_runs_out_of_work_when_the_last_call_gave_up) {
    auto f = scenario::store_fixture{true};
    f.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l->limiter.allow("k", day);
        const auto all = wait_for(*f.l, day, 2);
        (void)co_await used(*f.l, day); // the first one has been denied
        for (const auto& w : all)
            w->cancel();
        co_await until_over(all);
    });
    f.l->context.restart();
    f.l->context.run_for(5s);
    BOOST_TEST(f.l->context.stopped());
}

BOOST_DATA_TEST_CASE(closing_ends_every_call, in_process) {
    auto f = scenario::store_fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l->limiter.allow("k", day);
        (void)co_await f.l->limiter.allow("spent", day);
        const auto asleep = wait_for(*f.l, day, 3);
        (void)co_await used(*f.l, day);
        auto asking = waiter{f.l->limiter, "another", day, patient};
        auto denied = waiter{f.l->limiter, "spent", day, patient}; // in process at once
        f.l->limiter.close();
        co_await until_over(asleep);
        co_await test::until([&] { return asking.is_over() && denied.is_over(); });
        BOOST_TEST(asking.was_granted() == sample);
        BOOST_TEST((denied.ec == errc::closed));
        for (const auto& w : asleep)
            BOOST_TEST((w->ec == errc::closed));
    });
}

BOOST_DATA_TEST_CASE(a_context_that_goes_away_takes_the_lines_with_it, in_process) {
    auto f = scenario::store_fixture{sample};
    const auto alive = std::make_shared<int>(0);
    auto served = false;
    {
        auto context = asio::io_context{1};
        auto l = limiter{context.get_executor(), f.address()};
        const auto keep = [alive](error_code, const decision&) { BOOST_TEST(false); };
        l.wait("k", day, patient, [&](error_code, const decision&) { served = true; });
        l.wait("k", day, patient, keep);
        l.wait("k", day, patient, keep);
        test::run_until(context, [&] { return served; });
        l.wait("k", day, patient, keep);
        auto moved_in = std::make_unique<limiter>(std::move(l));
        asio::post(context, [kept = std::move(moved_in)] {});
    }
    BOOST_TEST(alive.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(after_an_error_all_calls_ask_together) {
    auto f = scenario::store_fixture{false, [](config& c) { c.timeout = 100ms; }};
    f.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l->limiter.charge("k", two, {.cost = 2});
        const auto all = wait_for(*f.l, two, 40);
        (void)co_await used(*f.l, two); // the first one has been denied
        const auto before = f.l->limiter.statistics().batches;
        f.server->stop();
        co_await until_over(all);
        f.server->thaw();
        for (const auto& w : all)
            BOOST_TEST(!w->was_granted());
        BOOST_TEST(f.l->limiter.statistics().batches - before <= 4U);
    });
}

BOOST_AUTO_TEST_CASE(after_a_grant_as_many_ask_together_as_remain) {
    auto f = scenario::store_fixture{false};
    f.l->run([&]() -> asio::awaitable<void> {
        const auto many = policy{"many", fixed_window(50, 60ms).from_first()};
        (void)co_await f.l->limiter.charge("k", many, {.cost = 50});
        const auto before = f.l->limiter.statistics().batches;
        const auto all = wait_for(*f.l, many, 100);
        co_await until_over(all);
        for (const auto& w : all)
            BOOST_TEST(w->was_granted());
        const auto took = all[99]->d.server_time - all[0]->d.server_time;
        BOOST_TEST((took >= 60ms));
        BOOST_TEST((took <= 61ms));
        // Two windows, and for each of them a first call, 49 others and a denial; a call may be
        // denied once more, as the server's milliseconds are not those of this process.
        BOOST_TEST(f.l->limiter.statistics().batches - before <= 12U);
    });
}

BOOST_AUTO_TEST_CASE(a_limiter_counts_a_call_once_and_bounds_them) {
    auto f = scenario::store_fixture{true, [](config& c) { c.advanced.max_waiting = 2; }};
    f.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l->limiter.charge("k", two, {.cost = 2});
        const auto all = wait_for(*f.l, two, 3);
        co_await until_over(all);
        BOOST_TEST((all[2]->ec == errc::too_many_in_flight));
        const auto s = f.l->limiter.statistics();
        BOOST_TEST(s.checks == 4U);
        BOOST_TEST(s.allowed == 3U);
        BOOST_TEST(s.denied == 0U);
    });
}

BOOST_AUTO_TEST_CASE(logs_and_windows_can_be_waited_for_without_scripts) {
    auto f =
        scenario::store_fixture{false, [](config& c) { c.advanced.mode = execution_mode::multi; }};
    f.l->run([&]() -> asio::awaitable<void> {
        for (const auto& r : {sliding_log(1, 30ms), fixed_window(1, 30ms).from_first()}) {
            const auto all = wait_for(*f.l, policy{"p", r}, 3);
            co_await until_over(all);
            for (const auto& w : all)
                BOOST_TEST(w->was_granted());
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::key_queue_test
