// SPDX-License-Identifier: BSL-1.0
//
// Calls with ids whose replies are lost or late: they are sent again until their deadline, and
// charged once.

#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

BOOST_FIXTURE_TEST_SUITE(request_ids_without_replies, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using scenario::fake_redis;
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

/// The replies to calls on so many connections are lost with the connection.
void lose_replies(fake_redis& server, scenario::world& w, std::int64_t connections) {
    const auto last = server.connections() + connections;
    server.refuses = [&server, &w, last](simulation::words command) {
        if (command[0] == "EVALSHA" && command[2] != "0" && server.connections() <= last)
            w.after(0us, [&server] { server.drop_connections(); });
        return std::string{};
    };
}

} // namespace

BOOST_AUTO_TEST_CASE(a_lost_reply_is_asked_for_again) {
    for (const auto& p : of_every_form) {
        auto server = fake_redis{net};
        auto l = live{context, server.url()};
        lose_replies(server, *this, 3);
        run([&]() -> asio::awaitable<void> {
            const auto options = check_options{.cost = 3, .member = "m", .request = "1"};
            const auto d = co_await l.limiter.allow("k", p, options);
            BOOST_TEST(d.allowed());
            BOOST_TEST(server.connections() == 4);
            const auto now = co_await l.limiter.peek("k", p, {.cost = 0});
            BOOST_TEST((now.remaining == 97 || now.remaining == 99)); // members
        });
    }
}

BOOST_AUTO_TEST_CASE(without_an_answer_until_the_deadline_the_outcome_is_unknown_and_harmless) {
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) { c.timeout = 100ms; }};
    lose_replies(server, *this, 1'000);
    run([&]() -> asio::awaitable<void> {
        const auto options = check_options{.request = "1"};
        const auto [ec, d] = co_await l.allow("k", rules, options);
        BOOST_TEST((ec == errc::outcome_unknown), ec.message());
        const auto attempts = server.attempts.size();
        BOOST_TEST(attempts >= 3U);
        BOOST_TEST((now() <= 100ms));
        // It ends as soon as the next attempt would come too late.
        co_await test::pause_for(1s);
        BOOST_TEST((server.attempts.at(attempts) - server.attempts.front() >= 99ms));
        server.refuses = nullptr;
        auto other = live{context, server.url()};
        const auto first = co_await other.limiter.allow("k", rules, options);
        BOOST_TEST(first.remaining == 99);
        const auto left = co_await other.limiter.peek("k", rules, {.cost = 0});
        BOOST_TEST(left.remaining == 99);
    });
}

/// It executes the call after its caller has heard of the deadline.
BOOST_AUTO_TEST_CASE(a_call_that_a_frozen_server_makes_late_is_made_once) {
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) { c.timeout = 100ms; }};
    run([&]() -> asio::awaitable<void> {
        const auto options = check_options{.cost = 3, .request = "1"};
        co_await l.limiter.ready();
        server.stop();
        const auto begin = now();
        const auto [ec, d] = co_await l.allow("k", rules, options);
        BOOST_TEST((ec == errc::outcome_unknown), ec.message());
        BOOST_TEST((now() - begin == 100ms));
        server.thaw();
        co_await l.limiter.ready();
        const auto made = co_await l.limiter.peek("k", rules, {.cost = 0});
        BOOST_TEST(made.remaining == 97); // by the thawed server, before the call is repeated
        const auto again = co_await l.limiter.allow("k", rules, options);
        BOOST_TEST(again.remaining == 97);
        const auto left = co_await l.limiter.peek("k", rules, {.cost = 0});
        BOOST_TEST(left.remaining == 97);
    });
}

/// The record of a call ends with request_ttl, to the millisecond.
BOOST_AUTO_TEST_CASE(a_call_is_another_one_after_request_ttl) {
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) { c.advanced.request_ttl = 1h; }};
    run([&]() -> asio::awaitable<void> {
        const auto options = check_options{.request = "1"};
        (void)co_await l.limiter.allow("k", rules, options);
        co_await test::pause_for(1h - 5ms);
        const auto same = co_await l.limiter.allow("k", rules, options);
        BOOST_TEST(same.remaining == 99);
        co_await test::pause_for(10ms);
        const auto other = co_await l.limiter.allow("k", rules, options);
        BOOST_TEST(other.remaining == 98);
    });
}

/// On a server request_ttl is time of its clock, also for calls with a supplied time; in process it
/// is time of the calls.
BOOST_AUTO_TEST_CASE(request_ttl_is_time_of_the_store) {
    auto server = fake_redis{net};
    for (const auto in_process : {false, true}) {
        auto l = live{context, in_process ? "memory:" : server.url(),
                      [](config& c) { c.advanced.request_ttl = 1h; }};
        auto time = time_point{24h * 20'000};
        run([&]() -> asio::awaitable<void> {
            const auto remaining = [&]() -> asio::awaitable<std::int64_t> {
                const auto d = co_await l.limiter.allow("k", rules, {.request = "1", .now = time});
                co_return d.remaining;
            };
            BOOST_TEST(co_await remaining() == 99);
            co_await test::pause_for(1h - 5ms);
            BOOST_TEST(co_await remaining() == 99);
            co_await test::pause_for(10ms);
            BOOST_TEST(co_await remaining() == (in_process ? 99 : 98));
            time += 1h - 5ms;
            BOOST_TEST(co_await remaining() == (in_process ? 99 : 98));
            time += 10ms;
            BOOST_TEST(co_await remaining() == 98);
        });
    }
}

/// A policy that changes its storage finds no state. Its ids are new, too, or refused: where key
/// and shard have the same tag, one record serves both.
BOOST_AUTO_TEST_CASE(an_id_is_new_or_refused_under_another_storage) {
    auto server = fake_redis{net};
    const auto packed = rules.with_storage(storage::shared_hash);
    auto l = live{context, server.url()};
    auto is_refused = std::array{0, 0};
    run([&]() -> asio::awaitable<void> {
        for (auto i = 0; i < 100; ++i)
            for (const auto& [before, after] :
                 {std::pair{rules, packed}, std::pair{packed, rules}}) {
                const auto key = std::to_string(i) + (before == packed ? " packed" : "");
                const auto options = check_options{.cost = 3, .request = "1"};
                const auto first = co_await l.limiter.allow(key, before, options);
                co_await test::pause_for(1s);
                const auto [ec, other] = co_await l.allow(key, after, options);
                if (ec) {
                    BOOST_TEST((ec == errc::invalid_argument));
                    ++is_refused.at(before == packed ? 1 : 0);
                } else {
                    BOOST_TEST((other.server_time - first.server_time >= 1s));
                    const auto again = co_await l.limiter.allow(key, after, options);
                    BOOST_TEST((again == other));
                }
                const auto first_again = co_await l.limiter.allow(key, before, options);
                BOOST_TEST((first_again == first));
                for (const auto& p : {before, after}) {
                    const auto now = co_await l.limiter.peek(key, p, {.cost = 0});
                    BOOST_TEST(now.remaining == (p == after && ec ? 100 : 97));
                }
            }
    });
    for (const auto n : is_refused) { // about an eighth
        BOOST_TEST(n > 0);
        BOOST_TEST(n < 30);
    }
}

/// There the state stays, so a call that was charged is not charged again.
BOOST_AUTO_TEST_CASE(in_process_an_id_is_refused_under_another_storage) {
    const auto packed = rules.with_storage(storage::shared_hash);
    auto l = live{context, "memory:"};
    run([&]() -> asio::awaitable<void> {
        const auto options = check_options{.cost = 3, .request = "1"};
        const auto first = co_await l.limiter.allow("k", rules, options);
        const auto [ec, none] = co_await l.allow("k", packed, options);
        BOOST_TEST((ec == errc::invalid_argument));
        const auto now = co_await l.limiter.peek("k", packed, {.cost = 0});
        BOOST_TEST(now.remaining == 97);
        const auto again = co_await l.limiter.allow("k", rules, options);
        BOOST_TEST((again == first));
    });
}

BOOST_AUTO_TEST_SUITE_END()
