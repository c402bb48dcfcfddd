// SPDX-License-Identifier: BSL-1.0
//
// When events about permissions are sent: one per incident, with its cause.

#include <support/problems.hpp>

#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(diagnostics_events_of_permissions)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::count;
using test::first;
using test::live;

const auto rules = policy{"p", gcra(100'000, 1h)};

/// Puts events into `seen`, and lets a failure mode decide.
[[nodiscard]] auto collecting(std::vector<event>& seen, std::function<void(config&)> more = {}) {
    return [&seen, more](config& c) {
        c.on_event = [&seen](const event& e) { seen.push_back(e); };
        c.on_failure = failure_mode::local;
        c.advanced.deny_cache = 0;
        if (more)
            more(c);
    };
}

/// Makes the state of a key a value of another type.
void spoil(test::raw_client& look, std::string_view part_of_name) {
    for (const auto& name : look.keys())
        if (name.find(part_of_name) != std::string::npos) {
            look.must({"DEL", name});
            look.must({"RPUSH", name, "x"});
        }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_denial_in_turn_with_another_problem_is_one_event) {
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"ACL", "SETUSER", "ann", "on", ">pw", "~colimit:*", "+@all"});
    const auto denied = policy{"denied", gcra(5, 1h)}.with_prefix("denied");
    auto seen = std::vector<event>{};
    auto l = live{"unix://ann:pw@" + server.socket(), collecting(seen)};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        spoil(look, "p");
        for (auto i = 0; i < 20; ++i) {
            const auto [refused, none] = co_await l.allow("k", denied);
            BOOST_TEST((refused == errc::auth_failed), refused.message());
            const auto [conflict, nothing] = co_await l.allow("k", rules);
            BOOST_TEST((conflict == errc::key_conflict), conflict.message());
        }
        co_await test::until([&] { return !seen.empty(); });
    });
    BOOST_TEST(count(seen, event_kind::permission_denied) == 1);
    const auto cause = first(seen, event_kind::permission_denied).cause.value();
    BOOST_TEST((cause.code == errc::auth_failed), cause);
}

BOOST_AUTO_TEST_CASE(a_denial_after_a_call_that_was_permitted_is_an_event_of_its_own) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto seen = std::vector<event>{};
    for (const auto calls : {execution_mode::script, execution_mode::multi}) {
        seen.clear();
        const auto p =
            calls == execution_mode::script ? rules : policy{"log", sliding_log(100, 1h)};
        const auto command = std::string{calls == execution_mode::script ? "setrange" : "zadd"};
        look.must({"ACL", "SETUSER", "ann", "reset", "on", ">pw", "~*", "+@all"});
        auto l = live{"unix://ann:pw@" + server.socket(),
                      collecting(seen, [calls](config& c) { c.advanced.mode = calls; })};
        l.run([&]() -> asio::awaitable<void> {
            co_await l.until_it_works("k", p);
            for (auto i = 1; i <= 2; ++i) { // the second one within a second of the first
                look.must({"ACL", "SETUSER", "ann", "-" + command});
                co_await l.until_code("k", p, errc::auth_failed);
                co_await l.until_code("k", p, errc::auth_failed);
                look.must({"ACL", "SETUSER", "ann", "+" + command});
                co_await l.until_it_works("k", p);
                co_await test::until(
                    [&] { return count(seen, event_kind::permission_denied) >= i; });
            }
        });
        BOOST_TEST(count(seen, event_kind::permission_denied) == 2);
        BOOST_TEST((seen.back().at - first(seen, event_kind::permission_denied).at >= 900ms));
    }
}

BOOST_AUTO_TEST_CASE(a_denied_command_is_an_event_once) {
    auto server = test::redis_server{};
    server.connect().must({"ACL", "SETUSER", "ann", "on", ">pw", "~*", "+@all", "-setrange"});
    auto seen = std::vector<event>{};
    auto l = live{"unix://ann:pw@" + server.socket(),
                  [&](config& c) { c.on_event = [&](const event& e) { seen.push_back(e); }; }};
    l.run([&]() -> asio::awaitable<void> {
        for (auto i = 0; i < 3; ++i)
            (void)co_await l.allow("k", rules);
        co_await test::until([&] { return count(seen, event_kind::permission_denied) != 0; });
        (void)co_await l.allow("k", rules);
    });
    BOOST_TEST(count(seen, event_kind::permission_denied) == 1);
    BOOST_TEST(test::names_setrange(to_string(seen.back())), seen.back());
}

BOOST_AUTO_TEST_SUITE_END()
