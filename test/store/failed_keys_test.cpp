// SPDX-License-Identifier: BSL-1.0
//
// Errors with one key affect that key alone, wherever it is in its batch; the results of the others
// are correct.

#include "stores.hpp"

#include <support/decision_text.hpp>
#include <support/live_limiter.hpp>
#include <support/script_only.hpp>
#include <support/server_version.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(failed_keys)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

/// The script has ways of its own for one bucket, for several, for one window and one counter, and
/// for all other rules.
[[nodiscard]] std::vector<policy> one_for_each_way() {
    return {policy{"bucket", gcra(3, 3h)},
            policy{"buckets", gcra(3, 3h).named("a"), gcra(4, 4h).named("b")},
            policy{"window", fixed_window(3, 1h)}, policy{"counter", sliding_window(3, 1h)},
            policy{"mixed", gcra(3, 3h), sliding_log(5, 1h)}};
}

/// The results of calls that were sent together.
struct results {
    std::vector<std::optional<answer>> of;

    explicit results(std::size_t calls) : of(calls) {}
    auto into(std::size_t i) {
        return [this, i](error_code ec, const decision& d) { of[i] = answer{ec, d}; };
    }
    [[nodiscard]] bool are_there() const {
        return std::ranges::all_of(of, [](const auto& one) { return one.has_value(); });
    }
};

/// The others are at their limit, and not written. The one is new, has a value that must be written
/// whole, or one that can be changed in its place.
void check_refused_write(const redis_server& server, const policy& p, std::size_t refused, int used,
                         asked_verb verb) {
    auto look = server.connect();
    look.must({"FLUSHALL"});
    auto l = live{server.address(), [](config& c) { c.advanced.deny_cache = 0; }};
    const auto name = [](std::size_t i) { return "k" + std::to_string(i); };
    l.run([&]() -> asio::awaitable<void> {
        for (std::size_t i = 0; i < 3; ++i)
            for (auto calls = i == refused ? used : 3; calls > 0; --calls)
                (void)co_await l.allow(name(i), p);
    });
    // A user without permission for MSETEX writes with the others.
    if (const auto v = version_of(look); v.is_valkey() && v.is_at_least(9, 1))
        look.must({"ACL", "SETUSER", "default", "-msetex"});
    look.must({"ACL", "SETUSER", "default", "-set", "-setrange"});
    auto got = results{3};
    for (std::size_t i = 0; i < 3; ++i)
        if (verb == asked_verb::allow || i != refused)
            l.limiter.allow(name(i), p, got.into(i));
        else
            l.limiter.charge(name(i), p, {.cost = 1}, got.into(i));
    run_until(l.context, [&] { return got.are_there(); });
    look.must({"ACL", "SETUSER", "default", "+set", "+setrange"});
    for (std::size_t i = 0; i < 3; ++i) {
        const auto& [ec, result] = *got.of[i];
        if (i == refused)
            BOOST_TEST((ec == errc::auth_failed), ec.message());
        else
            BOOST_TEST((!ec && result.outcome == outcome::denied), ec.message());
    }
}

BOOST_AUTO_TEST_CASE(a_write_that_the_server_refuses_is_said_of_its_key_alone,
                     *colimit::test::script_only) {
    const auto server = redis_server{};
    for (const auto& p : one_for_each_way())
        for (std::size_t refused = 0; refused < 3; ++refused)
            for (const auto used : {0, 1, 2})
                for (const auto verb : {asked_verb::allow, asked_verb::charge})
                    BOOST_TEST_CONTEXT(p.name()
                                       << ", key " << refused << " used " << used << " times")
    check_refused_write(server, p, refused, used, verb);
}

/// The facts of its log and its sketch are dropped with it, so that other keys get their own.
BOOST_AUTO_TEST_CASE(a_key_that_fails_after_its_rules_were_asked_does_not_speak_for_others) {
    const policy both{"both", distinct(5, 1h), sliding_log(9, 1h)};
    look().must({"FLUSHALL"});
    auto l =
        live{server().address(), [](config& c) { c.advanced.min_key_ttl = for_supplied_clocks; }};
    l.run([&]() -> asio::awaitable<void> {
        for (const auto* member : {"a", "b"})
            (void)co_await l.allow("sound", both, {.cost = 2, .member = member, .now = at(0)});
    });
    look().must({"RPUSH", sketch_name_of(both, "broken"), "somebody's"});
    for (const auto broken_first : {true, false}) {
        auto got = results{4};
        const auto ask_broken = [&] {
            l.limiter.charge("broken", both, {.member = "m", .now = at(1)}, got.into(0));
            l.limiter.refund("broken", both, {.now = at(1)}, got.into(1));
        };
        if (broken_first)
            ask_broken();
        l.limiter.peek("sound", both, {.member = "a", .now = at(1)}, got.into(2));
        l.limiter.peek("new", both, {.member = "a", .now = at(1)}, got.into(3));
        if (!broken_first)
            ask_broken();
        run_until(l.context, [&] { return got.are_there(); });
        BOOST_TEST((got.of[0]->ec == errc::key_conflict), got.of[0]->ec.message());
        BOOST_TEST((got.of[1]->ec == errc::key_conflict), got.of[1]->ec.message());
        BOOST_TEST(got.of[2]->result.rules[0].balance == 3);
        BOOST_TEST(got.of[2]->result.rules[1].balance == 5);
        BOOST_TEST(got.of[3]->result.rules[0].balance == 5);
        BOOST_TEST(got.of[3]->result.rules[1].balance == 9);
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()
