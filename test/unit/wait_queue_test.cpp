// SPDX-License-Identifier: BSL-1.0
//
// The queue of `wait` by itself, with clocks that the test sets: when a call is due, in which order
// calls are served, and what a step of the store's clock does to that.

#include <limiter/wait_queue.hpp>
#include <support/fake_operation.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(wait_queues)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using detail::reservation;
using detail::wait_queue;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

const auto rules = policy{"p", gcra(1, 1s)};
const auto others = policy{"q", gcra(1, 1s)};

struct fixture {
    ~fixture() { (void)queue.take_all(); }

    static wait_queue::clock::time_point at(nanoseconds t) {
        return wait_queue::clock::time_point{t};
    }

    /// Adds a call with a reservation, `wait` from now, at `store` on the store's clock.
    detail::operation& grant(std::string_view key, microseconds store, microseconds wait,
                             const policy& p = rules) {
        auto& op = operations.emplace_back();
        op.request.verb = detail::verb::reserve;
        op.attached = std::make_unique<reservation>(key, detail::access::data(p), false);
        op.key_digest = detail::access::data(p)->digest(key);
        op.result.outcome = outcome::allowed;
        op.result.server_time = time_point{store};
        op.result.retry_after = wait;
        return op;
    }

    /// The same, put into the queue at `now`. Returns false if it need not wait.
    bool add(nanoseconds now, std::string_view key, microseconds store, microseconds wait,
             const policy& p = rules) {
        auto& op = grant(key, store, wait, p);
        if (!queue.prepare_wait(op))
            return false;
        queue.add(op, at(now), owner);
        return true;
    }

    /// The numbers of the calls that are served at `now`, in order.
    std::vector<std::size_t> served(nanoseconds now) {
        auto due = queue.take_due(at(now), owner);
        auto numbers = std::vector<std::size_t>{};
        while (const auto* op = due.pop_front())
            for (std::size_t i = 0; i < operations.size(); ++i)
                if (&operations[i] == op)
                    numbers.push_back(i);
        return numbers;
    }

    using calls = std::vector<std::size_t>;

    boost::asio::io_context context;
    detail::thread_lock lock{false};
    std::shared_ptr<void> owner = std::make_shared<int>(0);
    std::deque<test::fake_operation> operations;
    wait_queue queue{context.get_executor(), lock, [] {}};
};

} // namespace

BOOST_FIXTURE_TEST_CASE(calls_are_served_as_they_become_due, fixture) {
    BOOST_TEST(add(0s, "a", 100s, 3s));
    BOOST_TEST(add(0s, "b", 100s, 1s));
    BOOST_TEST(add(0s, "c", 100s, 2s));
    BOOST_TEST(add(1s, "d", 101s, 1s));
    BOOST_TEST((served(1s - 1us) == calls{}));
    BOOST_TEST((served(1s) == calls{1}));
    BOOST_TEST((served(9s) == calls{2, 3, 0}));
    BOOST_TEST((served(9s) == calls{}));
}

BOOST_FIXTURE_TEST_CASE(no_call_is_served_a_part_of_a_microsecond_early, fixture) {
    add(1ns, "a", 100s, 5us);
    BOOST_TEST((served(5us) == calls{}));
    BOOST_TEST((served(5us + 999ns) == calls{}));
    BOOST_TEST((served(6us) == calls{0}));
    add(7us, "b", 100s, 5us); // a whole one is not made longer
    BOOST_TEST((served(12us) == calls{1}));
}

BOOST_FIXTURE_TEST_CASE(a_decision_is_brought_to_its_turn, fixture) {
    add(0s, "a", 100s, 3s);
    (void)served(3s);
    const auto& d = operations[0].result;
    BOOST_TEST((d.server_time == time_point{103s}));
    BOOST_TEST((d.retry_after == 0s));
}

// Replies travel for different times.
BOOST_FIXTURE_TEST_CASE(callers_of_one_key_keep_their_order_however_long_replies_travel, fixture) {
    add(900ms, "a", 100s, 1s);            // its reply took 900 ms, so it is due at 1.9 s
    add(900ms, "a", 100s + 500ms, 1s);    // this one 400 ms
    add(900ms, "b", 100s, 1s - 1us);      // another key is independent
    add(901ms, "a", 100s, 500ms, others); // and so is another policy
    BOOST_TEST((served(1'401ms) == calls{3}));
    BOOST_TEST((served(1'900ms - 1us) == calls{2}));
    BOOST_TEST((served(1'900ms) == calls{0, 1}));
}

BOOST_FIXTURE_TEST_CASE(a_reply_that_took_longer_holds_up_its_successors, fixture) {
    add(5s, "a", 100s, 1s); // due at 6 s, though its turn was 5 s earlier
    add(5s, "a", 105s, 10ms);
    BOOST_TEST((served(5s + 999ms) == calls{}));
    BOOST_TEST((served(6s) == calls{0, 1}));
}

BOOST_FIXTURE_TEST_CASE(a_step_back_of_the_stores_clock_lets_no_other_key_pass, fixture) {
    add(0s, "a", 10'000s, 1s);
    for (const auto* key : {"b", "c", "d"})
        add(100ms, key, 100s, 1h); // admitted long before a, according to the store clock
    BOOST_TEST((served(1s) == calls{0}));
    for (const auto* key : {"e", "f"})
        add(1s, key, 90s, 1s);
    BOOST_TEST((served(2s) == calls{4, 5}));
}

BOOST_FIXTURE_TEST_CASE(after_a_step_back_callers_of_one_key_keep_their_order, fixture) {
    add(900ms, "a", 10'000s, 1s);
    add(1s, "a", 100s, 100ms); // its turn seems to be earlier
    BOOST_TEST((served(1'900ms - 1us) == calls{}));
    BOOST_TEST((served(1'900ms) == calls{0, 1}));
}

BOOST_FIXTURE_TEST_CASE(after_a_step_forward_callers_of_one_key_keep_their_order, fixture) {
    add(0s, "a", 100s, 1s);
    add(0s, "a", 100s, 2s);
    BOOST_TEST(add(0s, "a", 10'000s, 0s)); // it fits now, and so would the others
    BOOST_TEST(!add(0s, "b", 10'000s, 0s));
    BOOST_TEST((served(1s) == calls{0}));
    BOOST_TEST((served(2s) == calls{1, 2}));
}

BOOST_FIXTURE_TEST_CASE(what_was_given_back_is_granted_before_earlier_turns, fixture) {
    add(0s, "a", 100s, 1h);
    BOOST_TEST(!add(1s, "a", 101s, 0s)); // the key was reset
    BOOST_TEST(add(1s, "a", 101s, 1s));
    BOOST_TEST(add(1s, "a", 101s, 2s));
    BOOST_TEST((served(2s) == calls{2}));
    BOOST_TEST((served(3s) == calls{3}));
    BOOST_TEST((served(1h) == calls{0}));
}

BOOST_FIXTURE_TEST_CASE(a_cancelled_call_holds_up_no_other, fixture) {
    add(5s, "a", 100s, 10s);
    queue.remove(operations[0]);
    add(5s, "a", 105s, 1s);
    BOOST_TEST((served(6s) == calls{1}));
    BOOST_TEST(!add(6s, "a", 106s, 0s));
}

BOOST_FIXTURE_TEST_CASE(take_all_takes_each_call_once, fixture) {
    add(0s, "a", 100s, 1s);
    add(0s, "b", 100s, 1s);
    auto all = queue.take_all();
    BOOST_TEST((all.pop_front() == &operations[0]));
    BOOST_TEST((all.pop_front() == &operations[1]));
    BOOST_TEST((all.pop_front() == nullptr));
    BOOST_TEST((served(9s) == calls{}));
    BOOST_TEST(!add(9s, "a", 109s, 0s));
}

BOOST_AUTO_TEST_SUITE_END()
