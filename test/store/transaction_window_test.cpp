// SPDX-License-Identifier: BSL-1.0
//
// Fixed windows on servers where scripting is off: real servers, their own clock and their own
// TTLs.

#include "scriptless.hpp"

#include <redis/multi/window_commands.hpp>
#include <support/decision_text.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(transaction_windows)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

const policy hourly{"hourly", fixed_window(5, 1h).from_first().named("hour")};

/// The period of aligned windows, none of which ends while a test runs.
constexpr auto year = 24h * 365;
constexpr std::int64_t year_ms = year / 1ms;

/// Where the window of a rule is.
[[nodiscard]] std::string window_of(const policy& p, std::string_view key, std::string_view rule) {
    return scriptless::name_of(p, key, "w:" + std::string{rule} + ":");
}

/// Every key has a TTL, and no key is left aside.
void check_keys(raw_client& look) {
    for (const auto& name : look.keys()) {
        BOOST_TEST(look.pttl(name) != -1, name << " has no TTL");
        BOOST_TEST(name.find(":a:") == std::string::npos, name);
    }
}

/// A call that was sent, as it was encoded, for a server that reads it later.
struct sent_call {
    const policy& rules;
    std::int64_t earliest;
    std::int64_t latest;
    std::int64_t tokens = 1;
    detail::call_request request = {};
    std::string name = scriptless::name_of(rules, "k", "");

    [[nodiscard]] redis::transaction_call view() const {
        const auto at = name.size() - std::string_view{"k:k"}.size();
        return {.policy = *detail::access::data(rules),
                .request = request,
                .key = {std::string_view{name}.substr(0, at), std::string_view{name}.substr(at)},
                .earliest = earliest,
                .latest = latest,
                .origin = {},
                .tokens = tokens};
    }

    /// Executes the call; returns the count, and the milliseconds of the key's TTL.
    std::pair<std::int64_t, std::int64_t> execute(raw_client& on) const {
        on.must({"MULTI"});
        auto out = std::string{};
        const auto commands = redis::append_window_commands(out, view(), 0);
        redis::resp::append_command(out, {"EXEC"});
        on.send(out);
        for (std::size_t i = 0; i < commands; ++i)
            BOOST_TEST(on.receive().text == "QUEUED");
        const auto all = on.receive().elements;
        BOOST_TEST_REQUIRE(all.size() == commands);
        return {all[commands - 2].integer, all[commands - 1].integer};
    }

    void give_back(raw_client& on, std::int64_t ttl, std::int64_t surplus) const {
        auto out = std::string{};
        auto replies = redis::append_give_back(out, view(), {.ttl = ttl}, 0, surplus);
        on.send(out);
        for (; replies != 0; --replies)
            (void)on.receive();
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_window_is_exact_without_scripts_in_both_protocols) {
    auto s = scriptless{};
    for (const auto resp : {2, 3}) {
        auto l = s.open(resp);
        const auto key = "k" + std::to_string(resp);
        for (int i = 0; i < 5; ++i) {
            const auto d = allow(l, key, hourly);
            BOOST_TEST(d.outcome == outcome::allowed);
            BOOST_TEST(d.remaining == 4 - i);
            BOOST_TEST((d.reset_after <= 1h + 1ms && d.reset_after > 59min));
        }
        const auto no = allow(l, key, hourly);
        BOOST_TEST(no.outcome == outcome::denied);
        BOOST_TEST((no.retry_after <= 1h + 1ms && no.retry_after > 59min));
        BOOST_TEST(allow(l, key, hourly, {.cost = 0}).granted == 0);
        const auto name = window_of(hourly, key, "hour");
        run_until(l.context, [&] { return s.look.get(name) == "5"; });
        BOOST_TEST(s.look.pttl(name) > 59 * 60'000);
    }
    BOOST_TEST(s.look.dbsize() == 2);
    BOOST_TEST(calls_of(s.look, "exec") > 0);
}

BOOST_AUTO_TEST_CASE(the_decisions_are_those_of_the_script) {
    const auto rules = std::vector<policy>{
        policy{"one", fixed_window(7, 24h * 365)},
        policy{"two", fixed_window(7, 24h * 365).from_first(),
               fixed_window(9, 24h * 30).named("b")},
        policy{"shadow", fixed_window(3, 24h * 30).shadow(), fixed_window(9, 24h * 365).named("b")},
        policy{"mixed", fixed_window(7, 24h * 365), sliding_log(5, 1h)}};
    auto server = redis_server{};
    auto random = rng{7};
    for (const auto& p : rules) {
        auto script = live{server.address(), [](config& c) { c.advanced.deny_cache = 0; }};
        auto multi =
            live{server.address(), [](config& c) { c.advanced.mode = execution_mode::multi; }};
        for (auto i = 0; i < 60; ++i) {
            const auto key = std::to_string(i / 15);
            const auto cost = static_cast<std::int64_t>(random.below(10));
            const auto least = random.below(2) == 0 ? std::min<std::int64_t>(cost, 1) : cost;
            const auto verb = random.below(12);
            const auto ask = [&](live& l) {
                return must(l, [&](auto h) {
                    if (verb == 0)
                        l.limiter.reset(key, p, h);
                    else if (verb == 1)
                        l.limiter.charge(key, p, {.cost = cost / 4}, h);
                    else if (verb < 4)
                        l.limiter.peek(key, p, {.cost = cost, .at_least = least}, h);
                    else
                        l.limiter.allow(key, p, {.cost = cost, .at_least = least}, h);
                });
            };
            const auto expected = ask(script);
            const auto found = ask(multi);
            BOOST_TEST_CONTEXT("call " << i << " of " << p.name()) {
                BOOST_TEST(found.outcome == expected.outcome);
                BOOST_TEST(found.granted == expected.granted);
                BOOST_TEST(found.remaining == expected.remaining);
                BOOST_TEST(static_cast<int>(found.limiting_rule) ==
                           static_cast<int>(expected.limiting_rule));
                for (std::size_t r = 0; r < found.rules.size(); ++r) {
                    BOOST_TEST(found.rules[r].balance == expected.rules[r].balance);
                    const auto later = found.rules[r].reset_after - expected.rules[r].reset_after;
                    BOOST_TEST((later > -10s && later < 10s), "off by " << later.count());
                }
            }
        }
    }
    auto look = server.connect();
    check_keys(look);
}

BOOST_AUTO_TEST_CASE(a_denied_call_gives_back_what_it_added_in_every_window) {
    const policy two{"two", fixed_window(4, 1h).from_first().named("first"),
                     fixed_window(100, 24h * 365).named("b"), sliding_log(50, 1h)};
    auto s = scriptless{};
    auto l = s.open();
    BOOST_TEST(allow(l, "k", two, {.cost = 3}).allowed());
    for (auto i = 0; i < 5; ++i)
        BOOST_TEST(!allow(l, "k", two, {.cost = 2}).allowed());
    BOOST_TEST(allow(l, "k", two, {.cost = 4, .at_least = 1}).granted == 1);
    const auto count = [&](std::string_view rule) { return s.look.get(window_of(two, "k", rule)); };
    run_until(l.context, [&] { return count("first") == "4" && count("b") == "4"; });
    run_until(l.context, [&] { return s.events(two, "k") == 4; });
    check_keys(s.look);
    BOOST_TEST(s.look.dbsize() == 3);
}

BOOST_AUTO_TEST_CASE(a_denied_call_starts_an_empty_window_that_the_first_charge_shares) {
    const policy two{"two", fixed_window(4, 1h).from_first().named("first"),
                     fixed_window(1, 24h * 365).from_first().named("b")};
    auto s = scriptless{};
    auto l = s.open();
    BOOST_TEST(allow(l, "k", two).allowed());
    const auto name = window_of(two, "k", "first");
    s.look.must({"DEL", name}); // as if its window had ended
    BOOST_TEST(!allow(l, "k", two).allowed());
    run_until(l.context, [&] { return s.look.get(name) == "0"; });
    s.look.must({"PEXPIRE", name, "1000000"}); // as if that was a while ago
    s.look.must({"DEL", window_of(two, "k", "b")});
    const auto d = allow(l, "k", two);
    BOOST_TEST(d.allowed());
    BOOST_TEST(d.rules[0].balance == 3);
    BOOST_TEST((d.rules[0].reset_after <= 1'001s));
    check_keys(s.look);
}

BOOST_AUTO_TEST_CASE(a_window_ends_by_itself_and_its_key_with_it) {
    const policy brief{"brief", fixed_window(2, 50ms).from_first()};
    auto s = scriptless{};
    auto l = s.open();
    for (auto i = 0; i < 4; ++i) {
        // The window that the previous round has used up may have ended by itself.
        auto d = allow(l, "k", brief, {.cost = 2});
        if (!d.allowed()) {
            BOOST_TEST((d.retry_after <= 51ms));
            std::this_thread::sleep_for(d.retry_after);
            d = allow(l, "k", brief, {.cost = 2});
        }
        BOOST_TEST(d.allowed());
        check_keys(s.look);
    }
    run_until(l.context, [&] { return s.look.dbsize() == 0; });
}

BOOST_AUTO_TEST_CASE(an_aligned_window_ends_at_the_multiple_of_its_period_on_the_servers_clock) {
    const policy p{"p", fixed_window(5, year)};
    auto s = scriptless{};
    auto l = s.open();
    (void)allow(l, "k", p);
    const auto name = window_of(p, "k", "fixed_window");
    const auto before = s.look.time() / 1000;
    const auto ttl = s.look.pttl(name);
    const auto after = s.look.time() / 1000;
    const auto end = (before / year_ms + 1) * year_ms - 1;
    BOOST_TEST((ttl <= end - before && ttl >= end - after));
}

BOOST_AUTO_TEST_CASE(a_call_that_comes_late_starts_no_window_that_has_ended_and_no_endless_one) {
    const policy p{"p", fixed_window(5, 1s)};
    auto server = redis_server{};
    auto look = server.connect();
    const auto now = look.time();
    constexpr std::int64_t s = 1'000'000;
    // Of the current window, and so uncertain that the server's clock may be in the next.
    for (const auto latest : {now, now + s}) {
        const auto [count, ttl] = sent_call{p, now, latest}.execute(look);
        BOOST_TEST(count == 1);
        BOOST_TEST((ttl >= 0 && ttl < 1000));
        look.must({"FLUSHALL"});
    }
    // A window late: the server's own comes next.
    const auto [one, rest] = sent_call{p, look.time() - s, look.time()}.execute(look);
    BOOST_TEST(one == 1);
    BOOST_TEST((rest >= 0 && rest < 1000));
    look.must({"FLUSHALL"});
    // Much too late.
    for (auto i = 0; i < 3; ++i) {
        const auto [count, ttl] = sent_call{p, now - 30 * s, now - 29 * s}.execute(look);
        BOOST_TEST(count > 5);
        BOOST_TEST((ttl == 0 || ttl == 1));
    }
}

BOOST_AUTO_TEST_CASE(a_window_that_a_late_call_has_made_too_long_ends_at_a_multiple_of_its_period) {
    const policy p{"p", fixed_window(5, year)};
    auto s = scriptless{};
    const auto name = window_of(p, "k", "fixed_window");
    const auto now = s.look.time();
    const auto late = sent_call{p, now - 5 * year_ms * 1'000, now + 20 * year_ms * 1'000};
    BOOST_TEST(late.execute(s.look).second > 19 * year_ms);
    auto l = s.open();
    BOOST_TEST(allow(l, "k", p).remaining == 3);
    const auto before = s.look.time() / 1'000;
    run_until(l.context, [&] { return s.look.pttl(name) < 19 * year_ms; });
    const auto ttl = s.look.pttl(name);
    const auto after = s.look.time() / 1'000;
    const auto end = (before / year_ms + 1) * year_ms - 1;
    BOOST_TEST((ttl <= end - before && ttl >= end - after));
    BOOST_TEST(s.look.get(name).value() == "2");
    check_keys(s.look);
}

BOOST_AUTO_TEST_CASE(tokens_are_given_back_only_to_the_window_that_they_were_added_to) {
    constexpr std::int64_t ms = 1'000;
    auto server = redis_server{};
    auto look = server.connect();
    const auto name = window_of(hourly, "k", "hour");
    const auto now = look.time();
    const auto call = sent_call{hourly, now, now, 3};
    BOOST_TEST(call.execute(look).first == 3);
    BOOST_TEST(call.execute(look).first == 6);

    // In time, as often as there are calls.
    call.give_back(look, 3'600'000, 3);
    BOOST_TEST(look.get(name).value() == "3");
    BOOST_TEST(look.pttl(name) > 3'590'000);
    check_keys(look);

    // Late, and another window has begun: it keeps its count and its TTL.
    const auto ended = sent_call{hourly, now - 10'000 * ms, now, 3};
    ended.give_back(look, 100, 3);
    BOOST_TEST(look.get(name).value() == "3");
    BOOST_TEST(look.pttl(name) > 3'590'000);
    check_keys(look);

    // Late, and none has; or in time, and the key was deleted: nothing is left.
    look.must({"DEL", name});
    ended.give_back(look, 100, 3);
    call.give_back(look, 3'600'000, 3);
    BOOST_TEST(look.dbsize() == 0);

    // Late, and the key is another program's.
    for (const auto* one : {&ended, &call}) {
        look.must({"FLUSHALL"});
        look.must({"ZADD", name, "0", "x"});
        one->give_back(look, one == &ended ? 100 : 3'600'000, 3);
        BOOST_TEST(look.must({"ZRANGE", name, "0", "-1"}).elements.size() == 1U);
        BOOST_TEST(look.pttl(name) == -1);
        BOOST_TEST(look.dbsize() == 1);
    }
}

BOOST_AUTO_TEST_CASE(a_number_that_was_left_without_ttl_gets_one) {
    auto s = scriptless{};
    auto l = s.open();
    const auto name = window_of(hourly, "k", "hour");
    s.look.must({"SET", name, "3"});
    BOOST_TEST(allow(l, "k", hourly).remaining == 1);
    run_until(l.context, [&] { return s.look.pttl(name) > 0; });
    BOOST_TEST(s.look.pttl(name) <= 3'600'000);
    BOOST_TEST(s.look.get(name).value() == "4");
    s.look.must({"SET", name, "5"}); // a denied call does the same
    BOOST_TEST(!allow(l, "k", hourly).allowed());
    run_until(l.context, [&] { return s.look.pttl(name) > 0 && s.look.get(name) == "5"; });
}

BOOST_AUTO_TEST_CASE(another_programs_value_is_a_conflict_and_keeps_its_ttl) {
    auto s = scriptless{};
    auto l = s.open();
    const auto name = [](std::string_view key) { return window_of(hourly, key, "hour"); };
    s.look.must({"SET", name("text"), "five", "PX", "100000"});
    s.look.must({"SADD", name("set"), "x"});
    const auto conflicts = [&](auto call) { return code_of(l, call) == errc::key_conflict; };
    for (const std::string key : {"text", "set"}) {
        BOOST_TEST(conflicts([&](auto h) { l.limiter.allow(key, hourly, h); }));
        BOOST_TEST(conflicts([&](auto h) { l.limiter.charge(key, hourly, h); }));
        BOOST_TEST(conflicts([&](auto h) { l.limiter.peek(key, hourly, h); }));
    }
    BOOST_TEST(conflicts([&](auto h) { l.limiter.reset("set", hourly, h); }));
    BOOST_TEST(allow(l, "mine", hourly).allowed());
    BOOST_TEST(s.look.get(name("text")).value() == "five");
    BOOST_TEST((s.look.pttl(name("text")) > 90'000 && s.look.pttl(name("text")) <= 100'000));
    BOOST_TEST(s.look.must({"SCARD", name("set")}).integer == 1);
    BOOST_TEST(s.look.pttl(name("set")) == -1);
    BOOST_TEST(s.look.dbsize() == 3);
}

BOOST_AUTO_TEST_CASE(the_other_verbs_of_a_window) {
    auto s = scriptless{};
    auto l = s.open();
    const auto name = window_of(hourly, "k", "hour");
    BOOST_TEST(must(l, [&](auto h) { l.limiter.peek("k", hourly, h); }).remaining == 5);
    BOOST_TEST(s.look.dbsize() == 0);
    const auto never = allow(l, "k", hourly, {.cost = 6});
    BOOST_TEST(never.outcome == outcome::never);
    BOOST_TEST(s.look.dbsize() == 0);
    const auto d = must(l, [&](auto h) { l.limiter.charge("k", hourly, {.cost = 8}, h); });
    BOOST_TEST(d.rules[0].balance == -3);
    BOOST_TEST(s.look.get(name).value() == "8");
    BOOST_TEST(!must(l, [&](auto h) { l.limiter.peek("k", hourly, h); }).allowed());
    BOOST_TEST(must(l, [&](auto h) { l.limiter.reset("k", hourly, h); }).remaining == 5);
    BOOST_TEST(s.look.dbsize() == 0);
    // Charges up to the server's largest number keep the window full.
    for (auto i = 0; i < 1'030; ++i)
        (void)must(l, [&](auto h) {
            l.limiter.charge("k", hourly, {.cost = limits::max_exact_integer}, h);
        });
    BOOST_TEST(allow(l, "k", hourly, {.cost = 0}).outcome == outcome::denied);
    BOOST_TEST(!allow(l, "k", hourly).allowed());
    BOOST_TEST(
        (code_of(l, [&](auto h) { l.limiter.refund("k", hourly, h); }) == errc::invalid_argument));
    BOOST_TEST((code_of(l, [&](auto h) { l.limiter.allow("k", hourly, {.now = at(0)}, h); }) ==
                errc::invalid_argument));
}

BOOST_AUTO_TEST_SUITE_END()
