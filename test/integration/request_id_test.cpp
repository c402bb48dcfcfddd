// SPDX-License-Identifier: BSL-1.0
//
// Calls with ids on a real server: each is charged once, however often it is made. What happens to
// their replies: see test/scenario/request_id_test.cpp.

#include <support/function_library.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(request_ids)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;

/// So slow that no token comes back while a test runs.
const auto rules = policy{"p", gcra(100, 24h * 36'500)};

const policy of_every_form[] = {
    rules,
    policy{"packed", gcra(100, 24h * 7)}.with_storage(storage::shared_hash),
    policy{"log", sliding_log(100, 24h * 365)},
    policy{"members", distinct(100, 24h * 365)},
    policy{"all", sliding_log(100, 24h * 365), distinct(100, 24h * 365),
           fixed_window(100, 24h * 365), gcra(100, 24h * 36'500)},
};

[[nodiscard]] std::size_t records_of(test::raw_client& server) {
    return static_cast<std::size_t>(std::ranges::count_if(server.keys(), [](std::string_view key) {
        return key.find(":r:") != std::string_view::npos;
    }));
}

} // namespace

BOOST_AUTO_TEST_CASE(the_same_call_gets_the_same_answer_and_is_charged_once) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto a = live{server.address()};
    auto b = live{server.address()};
    for (const auto& p : of_every_form) {
        decision first;
        decision again;
        decision other;
        a.run([&]() -> asio::awaitable<void> {
            first = co_await a.limiter.allow(
                "k", p, {.cost = 3, .at_least = 2, .member = "m", .request = "1"});
            again = co_await a.limiter.allow(
                "k", p, {.cost = 3, .at_least = 2, .member = "m", .request = "1"});
        });
        b.run([&]() -> asio::awaitable<void> {
            other = co_await b.limiter.allow(
                "k", p, {.cost = 3, .at_least = 2, .member = "m", .request = "1"});
            (void)co_await b.limiter.charge("k", p, {.member = "n", .request = "2"});
            (void)co_await b.limiter.charge("k", p, {.member = "n", .request = "2"});
            (void)co_await b.limiter.refund("k", p, {.request = "3"});
            (void)co_await b.limiter.refund("k", p, {.request = "3"});
            other = co_await b.limiter.allow(
                "k", p, {.cost = 3, .at_least = 2, .member = "m", .request = "1"});
        });
        BOOST_TEST(first.allowed());
        BOOST_TEST((first == again));
        BOOST_TEST((first == other));
        a.run([&]() -> asio::awaitable<void> {
            const auto now = co_await a.limiter.peek("k", p, {.cost = 0});
            for (const auto& r : now.rules)
                BOOST_TEST((r.balance == 97 || r.balance == 98), p.name() << " " << r.balance);
        });
    }
    BOOST_TEST(records_of(look) == 3 * std::size(of_every_form));
    for (const auto& key : look.keys())
        if (key.find(":r:") != std::string::npos)
            BOOST_TEST((look.pttl(key) > 0 && look.pttl(key) <= 300'000));
}

BOOST_AUTO_TEST_CASE(a_denial_is_remembered_too) {
    auto server = test::redis_server{};
    auto l = live{server.address()};
    l.run([&]() -> asio::awaitable<void> {
        (void)co_await l.limiter.allow("k", rules, {.cost = 100});
        const auto denied = co_await l.limiter.allow("k", rules, {.request = "1"});
        BOOST_TEST(!denied.allowed());
        (void)co_await l.limiter.refund("k", rules, {.cost = 100});
        const auto again = co_await l.limiter.allow("k", rules, {.request = "1"});
        BOOST_TEST((denied == again));
        const auto other = co_await l.limiter.allow("k", rules, {.request = "2"});
        BOOST_TEST(other.allowed());
    });
}

BOOST_AUTO_TEST_CASE(an_id_belongs_to_one_call) {
    auto server = test::redis_server{};
    auto l = live{server.address()};
    const auto refused = [&](error_code ec, std::string_view what) {
        BOOST_TEST((ec == errc::invalid_argument), ec.message());
        BOOST_TEST(ec.message() == "request: the id was used for another " + std::string{what} +
                                       " (expected the arguments of that call, or a new id)");
    };
    const auto members = policy{"members", distinct(5, 24h * 365)};
    l.run([&]() -> asio::awaitable<void> {
        (void)co_await l.limiter.allow("k", rules, {.cost = 2, .request = "1"});
        const auto [cost, d1] = co_await l.allow("k", rules, {.cost = 3, .request = "1"});
        refused(cost, "cost");
        const auto [at_least, d2] =
            co_await l.allow("k", rules, {.cost = 2, .at_least = 1, .request = "1"});
        refused(at_least, "at_least");
        const auto [verb, d3] = co_await l.limiter.charge("k", rules, {.cost = 2, .request = "1"},
                                                          asio::as_tuple(asio::deferred));
        refused(verb, "verb");
        const auto stricter = policy{"p", gcra(50, 24h * 36'500)};
        const auto [version, d4] = co_await l.allow("k", stricter, {.cost = 2, .request = "1"});
        refused(version, "version of the policy");
        const auto longer = policy{"p", gcra(100, 24h * 36'500), sliding_log(50, 24h)};
        const auto [rule, d5] = co_await l.allow("k", longer, {.cost = 2, .request = "1"});
        refused(rule, "version of the policy");
        (void)co_await l.limiter.allow("k", members, {.member = "a", .request = "1"});
        const auto [member, d6] = co_await l.allow("k", members, {.member = "b", .request = "1"});
        refused(member, "member");
        const auto left = co_await l.limiter.peek("k", rules, {.cost = 0});
        BOOST_TEST(left.remaining == 98);
        // Another key or policy has ids of its own.
        const auto other_key = co_await l.limiter.allow("l", rules, {.cost = 3, .request = "1"});
        BOOST_TEST(other_key.remaining == 97);
        const auto other_policy =
            co_await l.limiter.allow("k", policy{"q", gcra(5, 24h)}, {.request = "1"});
        BOOST_TEST(other_policy.remaining == 4);
    });
}

// One batch has many calls of one key, with several ids of which some are equal.
BOOST_AUTO_TEST_CASE(concurrent_calls_of_one_key_are_decided_in_order_and_each_id_once) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{server.address()};
    for (const auto& p : of_every_form) {
        constexpr auto calls = 60;
        auto ids = std::vector<std::string>{};
        for (auto i = 0; i < calls; ++i)
            ids.push_back(std::to_string(i % 20));
        auto answers = std::vector<decision>(calls);
        auto left = calls;
        for (auto i = 0; i < calls; ++i)
            l.limiter.allow("k", p,
                            {.member = ids[static_cast<std::size_t>(i)],
                             .request = ids[static_cast<std::size_t>(i)]},
                            [&, i](error_code ec, const decision& d) {
                                BOOST_TEST(!ec, ec.message());
                                answers[static_cast<std::size_t>(i)] = d;
                                --left;
                            });
        test::run_until(l.context, [&] { return left == 0; });
        for (std::size_t i = 0; i < calls; ++i) {
            BOOST_TEST(answers[i].allowed());
            BOOST_TEST((answers[i] == answers[i % 20]));
            BOOST_TEST(answers[i].rules[0].balance == 99 - static_cast<std::int64_t>(i % 20));
        }
        l.run([&]() -> asio::awaitable<void> {
            const auto now = co_await l.limiter.peek("k", p, {.cost = 0});
            for (const auto& r : now.rules)
                BOOST_TEST(r.balance == 80, p.name());
        });
    }
    BOOST_TEST(l.limiter.statistics().batches < 20 * std::size(of_every_form));
}

BOOST_AUTO_TEST_CASE(what_is_not_a_record_is_a_conflict_and_charges_nothing) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{server.address()};
    for (const auto& p : of_every_form) {
        look.must({"FLUSHALL"});
        auto record = std::string{};
        l.run([&]() -> asio::awaitable<void> {
            (void)co_await l.limiter.allow("k", p, {.member = "m", .request = "1"});
        });
        for (const auto& key : look.keys())
            if (key.find(":r:") != std::string::npos)
                record = key;
        const auto bytes = look.get(record).value();
        look.must({"FLUSHALL"});
        const auto check = [&](std::string_view what) {
            l.run([&]() -> asio::awaitable<void> {
                const auto [ec, d] = co_await l.allow("k", p, {.member = "m", .request = "1"});
                BOOST_TEST((ec == errc::key_conflict), what << ": " << ec.message());
            });
            BOOST_TEST(look.dbsize() == 1, what);
            look.must({"DEL", record});
        };
        look.must({"RPUSH", record, "x"});
        check("a list");
        look.must({"SET", record, ""});
        check("an empty string");
        look.must({"SET", record, bytes.substr(0, 42)});
        check("a short one");
        look.must({"SET", record, "x" + bytes.substr(1)});
        check("another mark");
        look.must({"SET", record, bytes + std::string(10'000, 'x')});
        check("a long one");
        look.must({"SET", record, bytes.substr(0, 1) + "\1" + bytes.substr(2)});
        check("another verb");
    }
}

BOOST_AUTO_TEST_CASE(a_full_server_refuses_calls_before_they_charge_and_knows_the_others) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{server.address()};
    for (const auto& p : of_every_form) {
        look.must({"FLUSHALL"});
        l.run([&]() -> asio::awaitable<void> {
            const auto first = co_await l.limiter.allow("k", p, {.member = "m", .request = "1"});
            look.must({"CONFIG", "SET", "maxmemory", "1"});
            const auto again = co_await l.limiter.allow("k", p, {.member = "m", .request = "1"});
            BOOST_TEST((first == again));
            const auto [ec, d] =
                co_await l.limiter.refund("k", p, {.request = "2"}, asio::as_tuple(asio::deferred));
            BOOST_TEST((ec == errc::server_error), ec.message());
            const auto [ec2, d2] = co_await l.allow("k", p, {.member = "n", .request = "3"});
            BOOST_TEST((ec2 == errc::server_error), ec2.message());
            look.must({"CONFIG", "SET", "maxmemory", "0"});
            const auto now = co_await l.limiter.peek("k", p, {.cost = 0});
            BOOST_TEST(now.remaining == 99);
        });
        BOOST_TEST(records_of(look) == 1);
    }
}

BOOST_AUTO_TEST_CASE(functions_decide_them_also_on_a_full_server) {
    auto server = test::redis_server{};
    auto look = server.connect();
    test::load_function_library(look);
    auto l = live{server.address(), [](config& c) { c.advanced.mode = execution_mode::function; }};
    for (const auto& p : of_every_form)
        l.run([&]() -> asio::awaitable<void> {
            const auto first = co_await l.limiter.allow("k", p, {.member = "m", .request = "1"});
            look.must({"CONFIG", "SET", "maxmemory", "1"});
            const auto again = co_await l.limiter.allow("k", p, {.member = "m", .request = "1"});
            BOOST_TEST((first == again));
            const auto [ec, d] = co_await l.allow("k", p, {.member = "n", .request = "2"});
            BOOST_TEST((ec == errc::server_error), ec.message());
            look.must({"CONFIG", "SET", "maxmemory", "0"});
            const auto now = co_await l.limiter.peek("k", p, {.cost = 0});
            BOOST_TEST(now.remaining == 99);
        });
    BOOST_TEST(records_of(look) == std::size(of_every_form));
}

BOOST_AUTO_TEST_CASE(the_deny_cache_does_not_answer_them) {
    auto server = test::redis_server{};
    auto l = live{server.address(), [](config& c) { c.advanced.deny_cache_max_age = 1h; }};
    l.run([&]() -> asio::awaitable<void> {
        const auto first = co_await l.limiter.allow("k", rules, {.cost = 100, .request = "1"});
        BOOST_TEST(first.allowed());
        (void)co_await l.limiter.allow("k", rules, {.cost = 100});
        const auto cached = co_await l.limiter.allow("k", rules, {.cost = 100});
        BOOST_TEST((cached.source == decision_source::deny_cache));
        const auto again = co_await l.limiter.allow("k", rules, {.cost = 100, .request = "1"});
        BOOST_TEST((first == again));
        // A denied call with an id leaves the cached denial.
        const auto refused = co_await l.limiter.allow("k", rules, {.cost = 100, .request = "3"});
        BOOST_TEST(!refused.allowed());
        (void)co_await l.limiter.allow("k", rules, {.cost = 100});
        const auto kept = co_await l.limiter.allow("k", rules, {.cost = 100, .request = "3"});
        BOOST_TEST(!kept.allowed());
        const auto still = co_await l.limiter.allow("k", rules, {.cost = 100});
        BOOST_TEST((still.source == decision_source::deny_cache));
        // A denial that is known has nothing to say about later calls.
        const auto denied = co_await l.limiter.allow("l", rules, {.cost = 101, .request = "1"});
        BOOST_TEST(!denied.allowed());
        const auto taken = co_await l.limiter.allow("l", rules, {.cost = 60});
        BOOST_TEST(taken.allowed());
        const auto small = co_await l.limiter.allow("l", rules, {.cost = 60, .request = "2"});
        BOOST_TEST(!small.allowed());
        (void)co_await l.limiter.reset("l", rules);
        (void)co_await l.limiter.allow("l", rules, {.cost = 60, .request = "2"});
        const auto fresh = co_await l.limiter.allow("l", rules, {.cost = 60});
        BOOST_TEST(fresh.allowed());
    });
}

BOOST_AUTO_TEST_CASE(leases_neither_decide_them_nor_count_them) {
    auto server = test::redis_server{};
    auto l = live{server.address()};
    const auto leased = policy{"leased", fixed_window(1'000'000, 24h * 36'500)}.with_leases(10min);
    l.run([&]() -> asio::awaitable<void> {
        for (auto i = 0; i < 100; ++i)
            (void)co_await l.limiter.allow("k", leased);
        const auto by_lease = co_await l.limiter.allow("k", leased);
        BOOST_TEST((by_lease.source == decision_source::lease));
        for (auto i = 0; i < 100; ++i) {
            const auto id = std::to_string(i);
            const auto d = co_await l.limiter.allow("l", leased, {.request = id});
            BOOST_TEST((d.source == decision_source::store));
            BOOST_TEST(d.rules[0].balance == d.rules[0].limit - 1 - i);
        }
    });
}

BOOST_AUTO_TEST_CASE(a_record_ends_after_request_ttl) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{server.address(), [](config& c) { c.advanced.request_ttl = 24h; }};
    l.run([&]() -> asio::awaitable<void> {
        (void)co_await l.limiter.allow("k", rules, {.request = "1"});
        const auto keys = look.keys();
        const auto record =
            *std::ranges::find_if(keys, [](const auto& k) { return k.find(":r:") != k.npos; });
        const auto left = look.pttl(record);
        BOOST_TEST((left > 0 && left <= 86'400'000));
        BOOST_TEST(left > 86'400'000 - 600'000);
        look.must({"PEXPIRE", record, "1"});
        co_await test::until([&] { return look.pttl(record) == -2; });
        const auto d = co_await l.limiter.allow("k", rules, {.request = "1"});
        BOOST_TEST(d.remaining == 98);
    });
}

BOOST_AUTO_TEST_CASE(allow_many_has_an_id_for_each_check) {
    auto server = test::redis_server{};
    auto l = live{server.address()};
    auto checks = std::vector<check_item>{{"a", rules, {.request = "1"}, {}, {}},
                                          {"b", rules, {.request = "1"}, {}, {}},
                                          {"a", rules, {.request = "1"}, {}, {}},
                                          {"a", rules, {}, {}, {}}};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.allow_many(checks);
        co_await l.limiter.allow_many(checks);
    });
    for (const auto& c : checks)
        BOOST_TEST(!c.ec);
    BOOST_TEST((checks[0].result == checks[2].result));
    BOOST_TEST(checks[1].result.remaining == 99);
    l.run([&]() -> asio::awaitable<void> {
        const auto a = co_await l.limiter.peek("a", rules, {.cost = 0});
        BOOST_TEST(a.remaining == 97); // one id, and two checks without
    });
}

BOOST_AUTO_TEST_SUITE_END()
