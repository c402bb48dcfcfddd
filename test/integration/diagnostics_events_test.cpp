// SPDX-License-Identifier: BSL-1.0
//
// When events are sent, and how often: one per incident, with the cause of this incident, and none
// for what is no incident.

#include <boost/test/unit_test.hpp>

#include <support/live_limiter.hpp>
#include <support/scripted_peer.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;

const auto rules = policy{"p", gcra(100'000, 1h)};

[[nodiscard]] int count(const std::vector<event>& all, event_kind kind) {
    return static_cast<int>(std::ranges::count(all, kind, &event::kind));
}

[[nodiscard]] const event& first(const std::vector<event>& all, event_kind kind) {
    const auto found = std::ranges::find(all, kind, &event::kind);
    BOOST_REQUIRE((found != all.end()));
    return *found;
}

/// Puts events into `seen`, and lets a failure mode decide.
[[nodiscard]] auto collecting(std::vector<event>& seen, std::function<void(config&)> more = {}) {
    return [&seen, more](config& c) {
        c.on_event = [&seen](const event& e) { seen.push_back(e); };
        c.on_failure = failure_mode::local;
        c.deny_cache = 0;
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

BOOST_AUTO_TEST_SUITE(diagnostics_events)

BOOST_AUTO_TEST_CASE(a_handler_sees_the_state_that_its_call_has_caused) {
    auto server = test::redis_server{};
    auto l = live{server.address(), [](config& c) {
                      c.on_failure = failure_mode::local;
                      c.timeout = 50ms;
                  }};
    auto checked = 0;
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        server.stop();
        while (checked == 0) {
            auto left = 1;
            l.limiter.allow("k", rules, [&](error_code, const decision&) {
                --left;
                if (l.limiter.statistics().breaker_openings == 0)
                    return;
                BOOST_TEST(l.limiter.health().state == health_state::degraded);
                ++checked;
            });
            co_await test::until([&] { return left == 0; });
        }
        server.cont();
    });
}

// Permissions

BOOST_AUTO_TEST_CASE(a_denial_in_turn_with_another_problem_is_one_event) {
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"ACL", "SETUSER", "ann", "on", ">pw", "~colimit:*", "+@all"});
    const auto denied = policy{"denied", gcra(5, 1h)}.prefixed("denied");
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
    for (const auto calls : {mode::script, mode::transaction}) {
        seen.clear();
        const auto p = calls == mode::script ? rules : policy{"log", sliding_log(100, 1h)};
        const auto command = std::string{calls == mode::script ? "setrange" : "zadd"};
        look.must({"ACL", "SETUSER", "ann", "reset", "on", ">pw", "~*", "+@all"});
        auto l = live{"unix://ann:pw@" + server.socket(),
                      collecting(seen, [calls](config& c) { c.mode = calls; })};
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

BOOST_AUTO_TEST_SUITE_END()
