// SPDX-License-Identifier: BSL-1.0
//
// Decisions without the server: each mode, each verb, each kind of rule.

#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/rules_of_every_kind.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

BOOST_FIXTURE_TEST_SUITE(failure_modes, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using scenario::fake_redis;
using test::live;

const auto rules = policy{"p", gcra(5, 1h)};
const auto ids = bloom_filter{"ids", {.capacity = 1'000, .error_rate = 0.001, .ttl = 1h}};

/// Nothing listens there, and it is tried once.
struct away : live {
    away(asio::io_context& context, failure_mode mode, fraction part = {})
        : live(context, "redis://10.0.9.9", [=](config& c) {
              c.timeout = 20s;
              c.advanced.reconnect_delay_min = 60s;
              c.advanced.reconnect_delay_max = 60s;
              c.on_failure = mode;
              c.local_fraction = part;
          }) {}
};

asio::awaitable<int> allowed_of(live& l, int asked, std::string key, policy p,
                                check_options o = {}) {
    auto n = 0;
    for (int i = 0; i < asked; ++i) {
        const auto d = co_await l.limiter.allow(key, p, o);
        BOOST_TEST((d.source == decision_source::fallback));
        n += d.allowed() ? 1 : 0;
    }
    co_return n;
}

} // namespace

BOOST_AUTO_TEST_CASE(by_default_a_store_in_the_process_enforces_the_limit) {
    BOOST_TEST((config{}.on_failure == failure_mode::local));
    auto l = away{context, failure_mode::local};
    l.run([&]() -> asio::awaitable<void> {
        for (auto left = 4; left >= 0; --left) {
            const auto d = co_await l.limiter.allow("k", rules);
            BOOST_TEST(d.allowed());
            BOOST_TEST(d.remaining == left);
            BOOST_TEST((d.source == decision_source::fallback));
        }
        const auto d = co_await l.limiter.allow("k", rules);
        BOOST_TEST((d.outcome == outcome::denied));
        BOOST_TEST((d.retry_after > 10min));
        BOOST_TEST((d.source == decision_source::fallback));
        const auto other = co_await l.limiter.allow("another", rules);
        BOOST_TEST(other.remaining == 4);
    });
}

BOOST_AUTO_TEST_CASE(every_kind_of_rule_is_enforced_in_the_process) {
    auto kinds = test::rules_of_every_kind(5, 24h);
    kinds.push_back(sliding_log(5, 24h));
    auto l = away{context, failure_mode::local};
    l.run([&]() -> asio::awaitable<void> {
        const auto now = time_point{std::chrono::sys_days{std::chrono::year{2026} / 6 / 10} + 12h};
        for (const auto& one : kinds)
            BOOST_TEST_CONTEXT(to_string(one)) {
                const auto n = co_await allowed_of(l, 9, "k", one, {.now = now});
                BOOST_TEST(n == 5);
            }
    });
}

BOOST_AUTO_TEST_CASE(members_are_told_apart_in_the_process) {
    const auto addresses = policy{"addresses", distinct(2, 24h * 365)};
    auto l = away{context, failure_mode::local};
    auto answers = std::string{};
    auto left = 6;
    for (const std::string_view member : {"a", "b", "a", "c", "b", "d"}) {
        auto key = std::string{"k"};
        auto text = std::string{member};
        l.limiter.allow(key, addresses, {.member = text}, [&](error_code ec, const decision& d) {
            answers += ec ? 'e' : d.allowed() ? 'y' : 'n';
            --left;
        });
        key = text = "gone"; // arguments live no longer than that
    }
    run_until([&] { return left == 0; });
    BOOST_TEST(answers == "yyynyn");
}

BOOST_AUTO_TEST_CASE(every_verb_that_moves_quota_is_answered_in_the_process) {
    auto l = away{context, failure_mode::local};
    l.run([&]() -> asio::awaitable<void> {
        auto d = co_await l.limiter.charge("k", rules, {.cost = 3});
        BOOST_TEST(d.remaining == 2);
        BOOST_TEST((d.source == decision_source::fallback));
        d = co_await l.limiter.peek("k", rules);
        BOOST_TEST(d.remaining == 2);
        d = co_await l.limiter.refund("k", rules, {.cost = 2});
        BOOST_TEST(d.remaining == 4);
        BOOST_TEST((d.source == decision_source::fallback));
        d = co_await l.limiter.allow("k", rules, {.cost = 9, .at_least = 1});
        BOOST_TEST(d.granted == 4);

        d = co_await l.limiter.once("id", 1h);
        BOOST_TEST(d.allowed());
        d = co_await l.limiter.once("id", 1h);
        BOOST_TEST(!d.allowed());
        BOOST_TEST((d.source == decision_source::fallback));
        auto seen = co_await l.limiter.probably_seen("id", ids);
        BOOST_TEST(!seen);
        seen = co_await l.limiter.seen("id", ids);
        BOOST_TEST(!seen);
        seen = co_await l.limiter.seen("id", ids);
        BOOST_TEST(seen);
        seen = co_await l.limiter.probably_seen("id", ids);
        BOOST_TEST(seen);
        auto several = std::vector<seen_item>{{.id = "id"}, {.id = "another"}};
        co_await l.limiter.seen_many(several, ids);
        for (const auto& one : several)
            BOOST_TEST((one.source == decision_source::fallback));
        BOOST_TEST(several[0].seen);
        BOOST_TEST(!several[1].seen);
    });
}

BOOST_AUTO_TEST_CASE(many_checks_are_answered_in_the_process_each_and_all_or_nothing) {
    auto l = away{context, failure_mode::local};
    l.run([&]() -> asio::awaitable<void> {
        auto checks = std::vector<check_item>{{.key = "a", .policy = rules, .options = {.cost = 4}},
                                              {.key = "b", .policy = rules}};
        co_await l.limiter.allow_many(checks);
        for (const auto& c : checks) {
            BOOST_TEST(!c.ec);
            BOOST_TEST(c.result.allowed());
            BOOST_TEST((c.result.source == decision_source::fallback));
        }
        auto d = co_await l.limiter.allow_all(checks); // "a" has 1 left, and 4 are asked for
        BOOST_TEST(!d.allowed());
        BOOST_TEST((d.source == decision_source::fallback));
        BOOST_TEST(!checks[0].result.allowed());
        BOOST_TEST(checks[1].result.granted == 0);
        checks[0].options.cost = 1;
        d = co_await l.limiter.allow_all(checks);
        BOOST_TEST(d.allowed());
        BOOST_TEST(checks[0].result.remaining == 0);
        BOOST_TEST(checks[1].result.remaining == 3);
    });
}

BOOST_AUTO_TEST_CASE(waiting_goes_on_in_the_process_and_a_place_that_is_given_up_is_given_back) {
    const auto fast = policy{"fast", gcra(50, 1s).burst(1)}.with_failure_mode(failure_mode::local);
    auto l = away{context, failure_mode::local};
    l.run([&]() -> asio::awaitable<void> {
        auto served = std::string{};
        for (const auto name : {'a', 'b', 'c'})
            l.limiter.wait("k", fast, [&served, name](error_code ec, const decision& d) {
                served += ec || d.source != decision_source::fallback ? '!' : name;
            });
        co_await test::until([&] { return served.size() == 3; });
        BOOST_TEST(served == "abc");

        const auto slow =
            policy{"slow", gcra(1, 1h).burst(1)}.with_failure_mode(failure_mode::local);
        auto d = co_await l.limiter.allow("k", slow);
        auto cancelled = false;
        auto signal = asio::cancellation_signal{};
        l.limiter.wait("k", slow, {.max_wait = 2h},
                       asio::bind_cancellation_slot(signal.slot(), [&](error_code ec, decision) {
                           cancelled = ec == asio::error::operation_aborted;
                       }));
        co_await test::pause_for(10ms);
        d = co_await l.limiter.peek("k", slow);
        BOOST_TEST((d.retry_after > 1h)); // the place is taken
        signal.emit(asio::cancellation_type::all);
        co_await test::until([&] { return cancelled; });
        d = co_await l.limiter.peek("k", slow);
        BOOST_TEST((d.retry_after <= 1h));
    });
}

BOOST_AUTO_TEST_CASE(waiting_uses_the_local_store_only_where_that_was_chosen) {
    const auto window = policy{"w", fixed_window(5, 1h)};
    auto whole = away{context, failure_mode::local};
    auto part = away{context, failure_mode::local, {1, 5}};
    for (auto* l : {&whole, &part})
        l->run([&]() -> asio::awaitable<void> {
            for (const auto& p : {rules, window}) {
                const auto [ec, d] =
                    co_await l->limiter.wait("k", p, asio::as_tuple(asio::deferred));
                BOOST_TEST((ec == (l == &whole ? error_code{errc::unavailable} : error_code{})));
                const auto chosen = p.with_failure_mode(failure_mode::local);
                const auto here = co_await l->limiter.wait("chosen", chosen);
                BOOST_TEST((here.source == decision_source::fallback));
            }
        });
}

BOOST_AUTO_TEST_CASE(what_only_the_server_can_do_is_an_error_in_every_mode) {
    for (const auto mode : {failure_mode::local, failure_mode::allow, failure_mode::deny}) {
        auto l = away{context, mode};
        l.run([&]() -> asio::awaitable<void> {
            const auto [reset, d] =
                co_await l.limiter.reset("k", rules, asio::as_tuple(asio::deferred));
            BOOST_TEST((reset == errc::unavailable));
            const auto [block, d2] =
                co_await l.limiter.block("k", rules, 1h, asio::as_tuple(asio::deferred));
            BOOST_TEST((block == errc::unavailable));
            const auto [inspect, status] =
                co_await l.limiter.filter_status(ids, asio::as_tuple(asio::deferred));
            BOOST_TEST((inspect == errc::unavailable));
            BOOST_TEST(status.capacity == 0);
            const auto [count, number] = co_await l.limiter.count_distinct(
                "k", policy{"d", distinct(5, 1h)}, asio::as_tuple(asio::deferred));
            BOOST_TEST((count == errc::unavailable));
            BOOST_TEST(number == 0);
        });
    }
}

/// A limit on trial must not stop a service because its counters are away.
BOOST_AUTO_TEST_CASE(what_is_in_shadow_mode_denies_in_no_mode) {
    const auto part = policy{"part", gcra(1, 1h).shadow(), gcra(1, 1h).named("other")};
    for (const auto mode : {failure_mode::local, failure_mode::allow, failure_mode::deny}) {
        auto l = away{context, mode};
        l.run([&]() -> asio::awaitable<void> {
            for (const auto& p : {rules.shadow(), policy{"p2", gcra(1, 1h).shadow()}})
                for (auto i = 0; i < 3; ++i) {
                    const auto d = co_await l.limiter.allow("k", p, {.cost = 1});
                    BOOST_TEST(d.allowed());
                    BOOST_TEST(d.granted == 1);
                }
            (void)co_await l.limiter.allow("k", part);
            const auto d = co_await l.limiter.allow("k", part);
            BOOST_TEST(d.allowed() == (mode == failure_mode::allow));
            auto checks = std::vector<check_item>{{.key = "k", .policy = rules.shadow()},
                                                  {.key = "k", .policy = part}};
            const auto all = co_await l.limiter.allow_all(checks);
            BOOST_TEST(all.allowed() == (mode == failure_mode::allow));
            BOOST_TEST(checks[0].result.allowed());
        });
    }
}

BOOST_AUTO_TEST_CASE(what_is_in_shadow_mode_decides_for_no_other_check) {
    const auto trial = policy{"trial", gcra(1, 1h)}.shadow();
    for (const auto mode : {failure_mode::allow, failure_mode::local})
        for (const auto observing : {failure_mode::deny, failure_mode::error}) {
            auto l = away{context, mode};
            l.run([&]() -> asio::awaitable<void> {
                auto checks = std::vector<check_item>{
                    {.key = "k", .policy = trial.with_failure_mode(observing)},
                    {.key = "k", .policy = policy{"enforced", gcra(1, 1h)}}};
                auto all = co_await l.limiter.allow_all(checks);
                BOOST_TEST(all.allowed());
                all = co_await l.limiter.allow_all(checks);
                BOOST_TEST(all.allowed() == (mode == failure_mode::allow));
            });
        }
}

/// There is nothing to wait for: no process knows the holders of places.
BOOST_AUTO_TEST_CASE(calls_for_places_end_at_once_in_each_mode) {
    const auto places = policy{"places", concurrent(2)};
    for (const auto mode : {failure_mode::error, failure_mode::deny})
        for (const auto longest : {0ms, 10'000ms}) {
            auto l = away{context, mode};
            l.run([&]() -> asio::awaitable<void> {
                const auto began = now();
                auto [ec, got] = co_await l.limiter.acquire("k", places, {.max_wait = longest},
                                                            asio::as_tuple(asio::deferred));
                BOOST_TEST(!got);
                if (mode == failure_mode::error)
                    BOOST_TEST((ec == errc::unavailable));
                else
                    BOOST_TEST((!ec && got.decision().source == decision_source::fail_closed));
                BOOST_TEST((now() - began < 5s));
            });
        }
}

/// A program that makes a filter for each client is told so; nothing is reported as new meanwhile.
BOOST_AUTO_TEST_CASE(ids_of_filters_without_room_end_with_the_error) {
    auto l = away{context, failure_mode::local};
    l.run([&]() -> asio::awaitable<void> {
        for (std::size_t i = 0; i <= limits::max_local_filters; ++i) {
            const auto filter = bloom_filter{"f" + std::to_string(i),
                                             {.capacity = 1, .error_rate = 0.01, .ttl = 1h}};
            const auto [ec, seen] =
                co_await l.limiter.seen("id", filter, asio::as_tuple(asio::deferred));
            BOOST_TEST(ec.failed() == (i == limits::max_local_filters));
            BOOST_TEST(!seen);
        }
    });
}

BOOST_AUTO_TEST_CASE(allowing_and_denying_ask_nobody_and_say_so) {
    for (const auto mode : {failure_mode::allow, failure_mode::deny}) {
        const auto allows = mode == failure_mode::allow;
        auto l = away{context, mode};
        l.run([&]() -> asio::awaitable<void> {
            for (int i = 0; i < 10; ++i) {
                const auto d = co_await l.limiter.allow("k", rules, {.cost = 3});
                BOOST_TEST(d.allowed() == allows);
                BOOST_TEST((d.source ==
                            (allows ? decision_source::fail_open : decision_source::fail_closed)));
                BOOST_TEST(d.granted == (allows ? 3 : 0));
                BOOST_TEST((d.retry_after == (allows ? 0s : 60s)));
                BOOST_TEST(d.limit == 5);
                BOOST_TEST(d.remaining == (allows ? 5 : 0));
                BOOST_TEST(d.rules.size() == 1U);
                BOOST_TEST(d.rules[0].remaining() == d.remaining);
            }
            auto d = co_await l.limiter.charge("k", rules);
            BOOST_TEST(d.allowed() == allows);
            BOOST_TEST(d.granted == 0);
            d = co_await l.limiter.wait("k", rules);
            BOOST_TEST(d.allowed() == allows);
            d = co_await l.limiter.once("id", 1h);
            BOOST_TEST(d.granted == (allows ? 1 : 0));
            auto items = std::vector<seen_item>{{.id = "id"}, {.id = "id"}};
            co_await l.limiter.seen_many(items, ids);
            for (const auto& one : items) {
                BOOST_TEST(!one.ec);
                BOOST_TEST(one.seen != allows);
                BOOST_TEST((one.source ==
                            (allows ? decision_source::fail_open : decision_source::fail_closed)));
            }
            auto seen = co_await l.limiter.seen("id", ids);
            BOOST_TEST(seen != allows);
            seen = co_await l.limiter.probably_seen("id", ids);
            BOOST_TEST(seen != allows);
            auto checks = std::vector<check_item>{{.key = "a", .policy = rules},
                                                  {.key = "b", .policy = rules}};
            d = co_await l.limiter.allow_all(checks);
            BOOST_TEST(d.allowed() == allows);
            BOOST_TEST(checks[1].result.allowed() == allows);
        });
    }
}

BOOST_AUTO_TEST_CASE(with_errors_the_caller_decides) {
    auto l = away{context, failure_mode::error};
    l.run([&]() -> asio::awaitable<void> {
        const auto [ec, d] = co_await l.allow("k", rules);
        BOOST_TEST((ec == errc::unavailable));
    });
}

BOOST_AUTO_TEST_CASE(a_policy_has_its_own_mode_before_that_of_the_limiter) {
    auto l = away{context, failure_mode::error};
    l.run([&]() -> asio::awaitable<void> {
        auto d = co_await l.limiter.allow("k", rules.with_failure_mode(failure_mode::allow));
        BOOST_TEST((d.source == decision_source::fail_open));
        d = co_await l.limiter.allow("k", rules.with_failure_mode(failure_mode::deny));
        BOOST_TEST((d.source == decision_source::fail_closed));
        d = co_await l.limiter.allow("k", rules.with_failure_mode(failure_mode::local));
        BOOST_TEST((d.source == decision_source::fallback));
        const auto [ec, d2] = co_await l.allow("k", rules);
        BOOST_TEST((ec == errc::unavailable));
        // Together the strictest decides.
        auto checks = std::vector<check_item>{
            {.key = "a", .policy = rules.with_failure_mode(failure_mode::allow)},
            {.key = "b", .policy = rules.with_failure_mode(failure_mode::deny)}};
        d = co_await l.limiter.allow_all(checks);
        BOOST_TEST((d.source == decision_source::fail_closed));
        checks[1].policy = rules.with_failure_mode(failure_mode::local);
        d = co_await l.limiter.allow_all(checks);
        BOOST_TEST((d.source == decision_source::fallback));
        checks[0].policy = rules;
        const auto [ec2, d3] = co_await l.limiter.allow_all(checks, asio::as_tuple(asio::deferred));
        BOOST_TEST((ec2 == errc::unavailable));
    });
}

BOOST_AUTO_TEST_CASE(a_process_enforces_its_share) {
    auto l = away{context, failure_mode::local, {1, 4}};
    l.run([&]() -> asio::awaitable<void> {
        const auto n = co_await allowed_of(l, 50, "k", policy{"s", sliding_log(40, 1h)});
        BOOST_TEST(n == 10);
        // Asking for more than the share is not asking for more than the limit.
        const auto big = policy{"big", sliding_log(40, 1h).named("log")};
        auto d = co_await l.limiter.allow("k", big, {.cost = 20});
        BOOST_TEST((d.outcome == outcome::denied));
        BOOST_TEST((d.retry_after == 60s));
        BOOST_TEST((d.rules[0].retry_after == 60s));
        d = co_await l.limiter.allow("k", big, {.cost = 41});
        BOOST_TEST((d.outcome == outcome::never));
        auto checks = std::vector<check_item>{{.key = "a", .policy = big, .options = {.cost = 20}},
                                              {.key = "b", .policy = big}};
        d = co_await l.limiter.allow_all(checks);
        BOOST_TEST((d.outcome == outcome::denied));
        d = co_await l.limiter.once("id", 1h);
        BOOST_TEST(d.allowed());
    });
}

BOOST_AUTO_TEST_CASE(what_was_counted_in_one_outage_still_counts_in_the_next) {
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) {
                      c.advanced.reconnect_delay_max = 20ms;
                      c.on_failure = failure_mode::local;
                      test::give_up_early(c);
                  }};
    l.run([&]() -> asio::awaitable<void> {
        const auto until_from = [&](decision_source who) -> asio::awaitable<void> {
            auto d = co_await l.limiter.peek("other", rules);
            while (d.source != who) {
                co_await test::pause_for(1ms);
                d = co_await l.limiter.peek("other", rules);
            }
        };
        auto left = std::int64_t{4};
        for (int outage = 0; outage < 3; ++outage) {
            co_await until_from(decision_source::store);
            auto d = co_await l.limiter.allow("k", rules);
            BOOST_TEST((d.source == decision_source::store));
            BOOST_TEST(d.remaining == 4); // the server's memory went with it
            server.kill();
            co_await until_from(decision_source::fallback);
            d = co_await l.limiter.allow("k", rules);
            BOOST_TEST((d.source == decision_source::fallback));
            BOOST_TEST(d.remaining == left--);
            server.start();
        }
    });
}

BOOST_AUTO_TEST_CASE(a_lost_reply_is_decided_here_and_not_asked_again) {
    auto server = fake_redis{net};
    auto calls = 0;
    server.refuses = [&](simulation::words command) {
        const auto is_call = command[0] == "EVALSHA" && command[2] != "0";
        calls += is_call ? 1 : 0;
        if (is_call)
            after(0us, [&] { server.drop_connections(); });
        return std::string{};
    };
    auto l = live{context, server.url(), [](config& c) { c.on_failure = failure_mode::local; }};
    run([&]() -> asio::awaitable<void> {
        const auto d = co_await l.limiter.allow("k", rules);
        BOOST_TEST((d.source == decision_source::fallback));
        BOOST_TEST(d.remaining == 4);
        BOOST_TEST((now() < 1s));
        co_await test::pause_for(10s);
    });
    BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_CASE(a_frozen_server_and_too_many_calls_are_decided_here) {
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) {
                      c.timeout = 100ms;
                      c.advanced.max_in_flight = 3;
                      c.on_failure = failure_mode::local;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        server.stop();
        auto here = 0;
        auto allowed = 0;
        for (int i = 0; i < 10; ++i)
            l.limiter.allow("k", rules, [&](error_code ec, const decision& d) {
                here += !ec && d.source == decision_source::fallback ? 1 : 0;
                allowed += d.allowed() ? 1 : 0;
            });
        co_await test::until([&] { return here == 10; });
        BOOST_TEST(allowed == 5);
        server.thaw();
    });
}

BOOST_AUTO_TEST_CASE(what_another_store_would_not_make_good_is_an_error_in_every_mode) {
    for (const auto mode : {failure_mode::local, failure_mode::allow, failure_mode::deny}) {
        auto server = fake_redis{net};
        const auto with_mode = [mode](config& c) { c.on_failure = mode; };
        auto l = live{context, server.url(), with_mode};
        run([&]() -> asio::awaitable<void> {
            const auto cost = co_await l.allow("k", rules, {.cost = -1});
            BOOST_TEST((std::get<0>(cost) == errc::invalid_argument));
            const auto key = co_await l.allow(std::string(70'000, 'k'), rules);
            BOOST_TEST((std::get<0>(key) == errc::invalid_key));
            (void)co_await l.allow("list", rules);
            const auto name = server.keys().keys().begin()->first;
            (void)server.run({"DEL", name});
            (void)server.run({"RPUSH", name, "x"});
            const auto foreign = co_await l.allow("list", rules);
            BOOST_TEST((std::get<0>(foreign) == errc::key_conflict));
            l.limiter.close();
            const auto closed = co_await l.allow("k", rules);
            BOOST_TEST((std::get<0>(closed) == errc::closed));
        });
        server.password = "pw";
        server.denied = {"evalsha", "eval"};
        for (const std::string user : {"nobody:pw@", "nobody:wrong@"}) {
            auto refused = live{context, server.url(user), with_mode};
            run([&]() -> asio::awaitable<void> {
                const auto [ec, d] = co_await refused.allow("k", rules);
                BOOST_TEST((ec == errc::auth_failed), ec.message());
            });
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
