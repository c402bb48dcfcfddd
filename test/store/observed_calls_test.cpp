// SPDX-License-Identifier: BSL-1.0
//
// Counters per policy, the function for audit logs and metrics, with a server: decisions of the
// deny cache, of failure modes, of several checks and of calls that wait, and many calls at once.

#include "stores.hpp"

#include <colimit/metrics.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(observed_calls_on_redis)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

const policy two{"two", gcra(2, 1h).burst(2)};
const policy one{"one", gcra(1, 1h)};
const policy logged{"logged", sliding_log(2, 1h)};

/// A limiter whose records are lines.
struct audited {
    explicit audited(const std::string& address, const live::adjustment& adjust = {})
        : l(address, [&](config& c) {
              c.counted_policies = 10;
              c.on_decision = [this](const audit_record& r) {
                  auto line = std::string{r.verb} + " " + std::string{r.policy} + " " +
                              std::string{r.key} + " ";
                  line += r.ec ? r.ec.message()
                               : std::string{to_string(r.result.outcome)} + " by " +
                                     std::string{to_string(r.result.source)};
                  lines.push_back(line);
              };
              if (adjust)
                  adjust(c);
          }) {}

    void check(const std::vector<std::string>& expected) {
        BOOST_TEST(lines == expected, boost::test_tools::per_element());
        lines.clear();
    }
    [[nodiscard]] policy_statistics of(std::string_view name) const {
        for (const auto& each : l.limiter.policy_statistics())
            if (each.policy == name)
                return each;
        return {};
    }

    std::vector<std::string> lines;
    live l;
};

/// Returns the samples that must not decrease.
[[nodiscard]] std::map<std::string, double> counters_of(const std::string& text) {
    auto found = std::map<std::string, double>{};
    auto in = std::istringstream{text};
    for (auto line = std::string{}; std::getline(in, line);)
        if (line.find("_total") != std::string::npos || line.find("_bucket") != std::string::npos)
            if (const auto end = line.rfind(' '); !line.starts_with('#'))
                found[line.substr(0, end)] = std::stod(line.substr(end));
    return found;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_deny_cache_decides_like_the_store) {
    look().must({"FLUSHALL"});
    auto a = audited{server().address()};
    a.l.run([&]() -> asio::awaitable<void> {
        for (int i = 0; i < 3; ++i)
            (void)co_await a.l.limiter.allow("k", one);
        (void)co_await a.l.limiter.peek("k", one);
    });
    a.check({"allow one k allowed by store", "allow one k denied by store",
             "allow one k denied by deny_cache", "peek one k denied by store"});
    BOOST_TEST(a.of("one").allowed == 1U);
    BOOST_TEST(a.of("one").denied == 3U);
    BOOST_TEST(a.of("one").count(decision_source::deny_cache) == 1U);
    BOOST_TEST(a.of("one").count(decision_source::store) == 3U);
    BOOST_TEST(a.of("one").latency.count() == a.l.limiter.statistics().latency.count());
    BOOST_TEST((a.of("one").latency.sum() > 0us));
}

BOOST_AUTO_TEST_CASE(each_check_of_several_has_a_record) {
    look().must({"FLUSHALL"});
    auto a = audited{server().address()};
    a.l.run([&]() -> asio::awaitable<void> {
        auto checks = std::array{check_item{"user", two}, check_item{"tenant", one}};
        (void)co_await a.l.limiter.allow_all(checks);
        (void)co_await a.l.limiter.allow_all(checks);
        co_await a.l.limiter.allow_many(checks);
    });
    a.check({"allow_all two user allowed by store", "allow_all one tenant allowed by store",
             "allow_all two user allowed by store", "allow_all one tenant denied by store",
             "allow two user allowed by store", "allow one tenant denied by store"});
}

BOOST_AUTO_TEST_CASE(a_call_that_waits_has_one_record) {
    look().must({"FLUSHALL"});
    auto a = audited{server().address()};
    a.l.run([&]() -> asio::awaitable<void> {
        const policy brief{"brief", gcra(1, 20ms)};
        const policy brief_log{"brief_log", sliding_log(1, 20ms)};
        for (int i = 0; i < 2; ++i) {
            (void)co_await a.l.limiter.wait("k", brief, {.max_wait = 10s});
            (void)co_await a.l.limiter.wait("k", brief_log, {.max_wait = 10s});
        }
        (void)co_await a.l.limiter.wait("k", one);
        (void)co_await a.l.limiter.wait("k", one, {.max_wait = 1s});
    });
    a.check({"wait brief k allowed by store", "wait brief_log k allowed by store",
             "wait brief k allowed by store", "wait brief_log k allowed by store",
             "wait one k allowed by store", "wait one k denied by store"});
}

BOOST_AUTO_TEST_CASE(failure_modes_decide_like_the_store) {
    auto a = audited{"unix:/nowhere/redis", [](config& c) {
                         c.on_failure = failure_mode::local;
                         c.timeout = 50ms;
                     }};
    a.l.run([&]() -> asio::awaitable<void> {
        auto checks = std::array{check_item{"user", two}, check_item{"tenant", one}};
        (void)co_await a.l.limiter.allow("k", one);
        (void)co_await a.l.limiter.allow("k", one);
        (void)co_await a.l.limiter.allow("k", one.with_failure_mode(failure_mode::allow));
        (void)co_await a.l.limiter.allow("k", one.with_failure_mode(failure_mode::deny));
        (void)co_await a.l.allow("k", logged.with_failure_mode(failure_mode::error));
        (void)co_await a.l.limiter.allow_all(checks);
        (void)co_await a.l.limiter.once("id", 1h);
        checks[0].policy = checks[0].policy.with_failure_mode(failure_mode::error);
        (void)co_await a.l.limiter.allow_all(checks, asio::as_tuple(asio::deferred));
    });
    const auto error = make_error_code(errc::unavailable).message();
    a.check({"allow one k allowed by fallback", "allow one k denied by fallback",
             "allow one k allowed by fail_open", "allow one k denied by fail_closed",
             "allow logged k " + error, "allow_all two user allowed by fallback",
             "allow_all one tenant allowed by fallback", "once  id allowed by fallback",
             "allow_all two user " + error, "allow_all one tenant " + error});
    BOOST_TEST(a.of("one").count(decision_source::fallback) == 3U);
    BOOST_TEST(a.of("one").count(decision_source::fail_open) == 1U);
    BOOST_TEST(a.of("one").count(decision_source::fail_closed) == 1U);
    BOOST_TEST(a.of("one").count(errc::unavailable) == 1U);
    BOOST_TEST(a.of("logged").failed == 1U);
    BOOST_TEST(a.of("(once)").allowed == 1U);
}

BOOST_AUTO_TEST_CASE(many_calls_are_counted_exactly_and_counters_never_decrease) {
    constexpr auto callers = 50;
    constexpr auto calls = 200;
    look().must({"FLUSHALL"});
    auto told = std::array<std::uint64_t, 3>{};
    auto l = live{server().address(), [&](config& c) {
                      c.counted_policies = 10;
                      c.advanced.audit_sampling = {.allowed = 10, .denied = 1, .failed = 1};
                      c.on_decision = [&](const audit_record& r) {
                          told[r.ec ? 2 : r.result.allowed() ? 0 : 1] += r.weight;
                      };
                  }};
    auto running = callers;
    for (int i = 0; i < callers; ++i)
        asio::co_spawn(
            l.context,
            [&l, &running, i]() -> asio::awaitable<void> {
                for (int j = 0; j < calls; ++j) {
                    const auto key = "key " + std::to_string(i * j % 500);
                    (void)co_await l.allow(key, j % 3 == 0 ? two : j % 3 == 1 ? logged : one);
                    (void)co_await l.allow(key, one, {.cost = j % 7 == 0 ? -1 : 1});
                }
                --running;
            },
            rethrow);
    auto before = std::map<std::string, double>{};
    auto texts = 0;
    run_until(l.context, [&] {
        const auto now = counters_of(to_prometheus(metrics_of(l.limiter)));
        for (const auto& [name, value] : before)
            BOOST_TEST_REQUIRE(now.at(name) >= value, name);
        before = now;
        return ++texts, running == 0;
    });
    BOOST_TEST(texts > 10);

    const auto s = l.limiter.statistics();
    auto sum = call_counts{};
    for (const auto& p : l.limiter.policy_statistics()) {
        sum.allowed += p.allowed;
        sum.denied += p.denied;
        sum.failed += p.failed;
        BOOST_TEST(p.ended() == p.allowed + p.denied + p.failed);
    }
    BOOST_TEST(s.checks == 2U * callers * calls);
    BOOST_TEST(s.ended() == s.checks);
    BOOST_TEST(sum.allowed == s.allowed);
    BOOST_TEST(sum.denied == s.denied);
    BOOST_TEST(sum.failed == s.failed);
    BOOST_TEST(s.failed == s.count(errc::invalid_argument));
    BOOST_TEST(s.count(decision_source::deny_cache) > 0U);
    BOOST_TEST(told[0] == s.allowed / 10 * 10);
    BOOST_TEST(told[1] == s.denied);
    BOOST_TEST(told[2] == s.failed);
    BOOST_TEST(before.at("colimit_checks_total{outcome=\"denied\"}") ==
               static_cast<double>(s.denied));
}

BOOST_AUTO_TEST_SUITE_END()
