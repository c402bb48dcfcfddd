// SPDX-License-Identifier: BSL-1.0
//
// Counters per policy, with the store in process: what is counted where, and that their number is
// bounded.

#include <colimit/limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(statistics_per_policy)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

struct counting {
    explicit counting(std::size_t policies) : limiter(context.get_executor(), settings(policies)) {}

    [[nodiscard]] static config settings(std::size_t policies) {
        auto c = config{};
        c.counted_policies = policies;
        return c;
    }

    void run() {
        context.restart();
        context.run();
    }
    [[nodiscard]] std::vector<std::string> names() const {
        auto all = std::vector<std::string>{};
        for (const auto& one : limiter.policy_statistics())
            all.push_back(one.policy);
        return all;
    }
    /// Returns the counters with this name, or empty ones.
    [[nodiscard]] policy_statistics of(std::string_view name) const {
        for (const auto& one : limiter.policy_statistics())
            if (one.policy == name)
                return one;
        return {};
    }

    asio::io_context context{1};
    colimit::limiter limiter;
};

const policy two{"two", gcra(2, 1h).burst(2)};
const policy one{"one", gcra(1, 1h)};

} // namespace

BOOST_AUTO_TEST_CASE(by_default_nothing_is_counted) {
    auto c = counting{0};
    c.limiter.allow("k", two, asio::detached);
    c.run();
    BOOST_TEST(c.names().empty());
}

BOOST_AUTO_TEST_CASE(calls_are_counted_under_their_policies_in_the_order_of_first_calls) {
    auto c = counting{10};
    const bloom_filter ids{"two", {.capacity = 100}}; // the name of a policy
    auto checks = std::array{check_item{"a", two}, check_item{"b", one}, check_item{"b", one}};
    for (int i = 0; i < 3; ++i)
        c.limiter.allow("k", two, asio::detached);
    c.limiter.allow("k", two, {.cost = 3}, asio::detached);
    c.limiter.allow("k", two, {.cost = -1}, asio::detached);
    c.limiter.peek("k", one, asio::detached);
    c.limiter.once("id", 1h, asio::detached);
    c.limiter.once("id", 1h, asio::detached);
    c.limiter.seen("id", ids, asio::detached);
    c.limiter.allow_many(checks, asio::detached);
    c.limiter.ready(asio::detached);
    c.run();
    BOOST_TEST(c.names() == (std::vector<std::string>{"two", "one", "(once)", "filter:two"}),
               boost::test_tools::per_element());
    BOOST_TEST(c.of("two").allowed == 3U);
    BOOST_TEST(c.of("two").denied == 1U);
    BOOST_TEST(c.of("two").never == 1U);
    BOOST_TEST(c.of("two").failed == 1U);
    BOOST_TEST(c.of("two").count(errc::invalid_argument) == 1U);
    BOOST_TEST(c.of("two").count(decision_source::store) == 5U);
    BOOST_TEST(c.of("two").latency.count() == 0U); // it is measured with a server only
    BOOST_TEST(c.of("one").allowed == 2U);
    BOOST_TEST(c.of("one").denied == 1U);
    BOOST_TEST(c.of("(once)").allowed == 1U);
    BOOST_TEST(c.of("(once)").denied == 1U);
    BOOST_TEST(c.of("filter:two").allowed == 1U);
    auto sum = std::uint64_t{0};
    for (const auto& each : c.limiter.policy_statistics())
        sum += each.ended();
    BOOST_TEST(sum == c.limiter.statistics().checks);
    BOOST_TEST(sum == c.limiter.statistics().ended());
}

BOOST_AUTO_TEST_CASE(each_check_of_an_allow_all_counts_under_its_policy) {
    auto c = counting{10};
    auto checks = std::array{check_item{"a", two}, check_item{"a", one}};
    for (int i = 0; i < 2; ++i) {
        c.limiter.allow_all(checks, asio::detached);
        c.run();
    }
    BOOST_TEST(c.of("two").allowed == 2U); // the second time another check was denied
    BOOST_TEST(c.of("one").allowed == 1U);
    BOOST_TEST(c.of("one").denied == 1U);
    BOOST_TEST(c.limiter.statistics().checks == 2U);
    BOOST_TEST(c.limiter.statistics().denied == 1U);

    auto twice = std::array{check_item{"a", two}, check_item{"a", two}}; // not valid
    c.limiter.allow_all(twice, asio::detached);
    auto many = std::vector<check_item>(limits::max_checks + 1, check_item{"a", one});
    c.limiter.allow_all(many, asio::detached);
    c.run();
    BOOST_TEST(c.of("two").failed == 2U);
    BOOST_TEST(c.of("one").failed == 0U); // so many checks are not looked at
    BOOST_TEST(c.limiter.statistics().failed == 2U);
}

BOOST_AUTO_TEST_CASE(a_policy_with_other_numbers_has_the_same_counters) {
    auto c = counting{2};
    for (int i = 1; i <= 3'000; ++i) // more than the table of known policies keeps
        c.limiter.allow("k", policy{"changing", gcra(i, 1h)}, asio::detached);
    c.limiter.allow("k", two, asio::detached);
    c.run();
    BOOST_TEST(c.names() == (std::vector<std::string>{"changing", "two"}),
               boost::test_tools::per_element());
    BOOST_TEST(c.of("changing").ended() == 3'000U);
    BOOST_TEST(c.of("two").ended() == 1U);
}

BOOST_AUTO_TEST_CASE(the_policies_beyond_the_bound_are_counted_together) {
    auto c = counting{3};
    for (int round = 0; round < 2; ++round)
        for (int i = 0; i < 2'000; ++i)
            c.limiter.allow("k", policy{"p" + std::to_string(i), gcra(1, 1h)}, asio::detached);
    c.run();
    BOOST_TEST(c.names() == (std::vector<std::string>{"p0", "p1", "p2", "(other)"}),
               boost::test_tools::per_element());
    for (const auto* name : {"p0", "p1", "p2"}) {
        BOOST_TEST(c.of(name).allowed == 1U);
        BOOST_TEST(c.of(name).denied == 1U);
    }
    BOOST_TEST(c.of("(other)").allowed == 1'997U);
    BOOST_TEST(c.of("(other)").denied == 1'997U);
}

BOOST_AUTO_TEST_CASE(what_a_shadow_rule_would_have_denied_is_counted) {
    auto c = counting{10};
    const policy trial{"trial", gcra(5, 1h).burst(5), gcra(2, 1h).burst(2).named("new").shadow()};
    for (int i = 0; i < 7; ++i) // two of these the other rule denies
        c.limiter.allow("k", trial, asio::detached);
    c.limiter.charge("other", trial, {.cost = 4}, asio::detached); // below zero, not denied
    for (int i = 0; i < 3; ++i)
        c.limiter.allow("k", one.shadow(), asio::detached);
    for (int i = 0; i < 2; ++i) // the second one has to wait, which is no denial
        c.limiter.wait("k", policy{"paced", gcra(1, 1ms)}, {.max_wait = 1h}, asio::detached);
    const policy spent{"spent", gcra(1, 1h)};
    auto checks = std::array{check_item{"k", one.shadow()}, check_item{"k", spent}};
    c.limiter.allow("k", spent, asio::detached);
    c.limiter.allow_all(checks, asio::detached); // denied by the other check, so not granted
    c.run();
    BOOST_TEST(c.of("trial").allowed == 6U);
    BOOST_TEST(c.of("trial").denied == 2U);
    BOOST_TEST(c.of("trial").shadow_denied == 3U);
    BOOST_TEST(c.of("one").allowed == 4U);
    BOOST_TEST(c.of("one").shadow_denied == 2U);
    BOOST_TEST(c.of("paced").allowed == 2U);
    BOOST_TEST(c.of("paced").shadow_denied == 0U);
}

BOOST_AUTO_TEST_CASE(calls_of_a_closed_limiter_are_counted) {
    auto c = counting{10};
    c.limiter.close();
    c.limiter.allow("k", two, asio::detached);
    c.run();
    BOOST_TEST(c.of("two").failed == 1U);
    BOOST_TEST(c.of("two").count(errc::closed) == 1U);
}

BOOST_AUTO_TEST_CASE(the_number_of_policies_has_a_range) {
    auto context = asio::io_context{1};
    auto settings = config{};
    settings.counted_policies = 1'001;
    BOOST_CHECK_EXCEPTION(
        (colimit::limiter{context.get_executor(), settings}), error, [](const error& e) {
            return e.reason() == "config::counted_policies: out of range (got 1001, expected 0 to "
                                 "1000)";
        });
}

BOOST_AUTO_TEST_SUITE_END()
