// SPDX-License-Identifier: BSL-1.0
//
// Servers over TLS that work: every verb, names and addresses, client certificates, threads, and
// connections that end and are made again.

#include <colimit/bloom_filter.hpp>
#include <support/live_limiter.hpp>
#include <support/tls_server.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(servers_by_tls)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;
using test::tls_server;

const auto rules = policy{"p", gcra(1'000'000, 24h * 36'500)};

} // namespace

BOOST_AUTO_TEST_CASE(every_verb_works) {
    auto s = tls_server{};
    auto l = live{s.address(), s.trusted()};
    const auto five = policy{"five", gcra(5, 24h)};
    const bloom_filter ids{"ids", {.capacity = 1'000}};
    l.run([&]() -> asio::awaitable<void> {
        auto& limiter = l.limiter;
        co_await limiter.ready();
        auto d = co_await limiter.allow("k", five, {.cost = 2});
        BOOST_TEST(d.remaining == 3);
        d = co_await limiter.peek("k", five);
        BOOST_TEST(d.remaining == 3);
        d = co_await limiter.charge("k", five);
        BOOST_TEST(d.remaining == 2);
        d = co_await limiter.refund("k", five, {.cost = 3});
        BOOST_TEST(d.remaining == 5);
        d = co_await limiter.allow("k", five, {.cost = 9, .at_least = 1});
        BOOST_TEST(d.granted == 5);
        d = co_await limiter.allow("k", five);
        BOOST_TEST(!d.allowed());
        (void)co_await limiter.reset("k", five);
        (void)co_await limiter.block("k", five, 1h);
        d = co_await limiter.allow("k", five);
        BOOST_TEST(!d.allowed());
        d = co_await limiter.wait("turn", rules);
        BOOST_TEST(d.allowed());
        d = co_await limiter.once("id", 1h);
        BOOST_TEST(d.allowed());
        d = co_await limiter.once("id", 1h);
        BOOST_TEST(!d.allowed());
        const auto known = co_await limiter.seen("id", ids);
        BOOST_TEST(!known);
        auto checks = std::vector<check_item>{{"a", five}, {"b", five}, {"a", rules}};
        co_await limiter.allow_many(checks);
        BOOST_TEST(checks[1].result.remaining == 4);
        d = co_await limiter.allow_all(checks);
        BOOST_TEST(d.remaining == 3);
    });
    BOOST_TEST(s.server.connect().dbsize() > 4);
}

BOOST_AUTO_TEST_CASE(so_does_the_other_way_to_ask_with_a_password_in_resp2_in_a_database) {
    auto s = tls_server{{}, {"--requirepass", "s3cret"}};
    auto l = live{s.address(":s3cret@127.0.0.1") + "/2", [&](config& c) {
                      s.trusted()(c);
                      c.advanced.resp_version = 2;
                      c.advanced.mode = execution_mode::multi;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        const auto d = co_await l.limiter.allow("k", sliding_log(3, 1h));
        BOOST_TEST(d.remaining == 2);
    });
    auto look = s.server.connect();
    look.must({"AUTH", "s3cret"});
    look.must({"SELECT", "2"});
    BOOST_TEST(look.dbsize() == 1);
}

BOOST_AUTO_TEST_CASE(a_server_is_known_by_name_by_address_or_by_a_name_that_is_given) {
    auto s = tls_server{};
    auto named = tls_server{{.names = "DNS:cache.example.org"}};
    for (const auto& [address, adjust] :
         {std::pair{s.address(), s.trusted()}, std::pair{s.address("localhost"), s.trusted()},
          std::pair{named.address(), named.trusted("cache.example.org")}}) {
        auto l = live{address, adjust};
        l.run([&]() -> asio::awaitable<void> {
            const auto ec = co_await l.ready();
            BOOST_TEST(!ec, ec.message());
        });
    }
}

BOOST_AUTO_TEST_CASE(without_verification_any_certificate_will_do) {
    auto s = tls_server{{.names = "DNS:other", .until = -1h}};
    auto l = live{s.address(), [](config& c) { c.tls.verify_peer = false; }};
    l.run([&]() -> asio::awaitable<void> { co_await l.until_it_works("k", rules); });
}

BOOST_AUTO_TEST_CASE(a_server_that_demands_a_certificate_gets_it) {
    auto s = tls_server{{}, {}, true};
    const auto we = s.authority.sign("we", {.names = "DNS:we"});
    auto l = live{s.address(), [&](config& c) {
                      s.trusted()(c);
                      c.tls.cert_file = we.certificate;
                      c.tls.key_file = we.key;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        const auto ec = co_await l.ready();
        BOOST_TEST(!ec, ec.message());
        co_await l.until_it_works("k", rules);
    });
}

BOOST_AUTO_TEST_CASE(large_batches_of_long_keys_go_both_ways) {
    auto s = tls_server{};
    auto l = live{s.address(), [&](config& c) {
                      s.trusted()(c);
                      c.advanced.batch_size = 1'024;
                      c.timeout = 20s;
                  }};
    auto answered = 0;
    auto wrong = 0;
    for (auto i = 0; i < 4'096; ++i)
        l.limiter.allow(std::string(200, 'k') + std::to_string(i), rules,
                        [&](error_code ec, const decision& d) {
                            ++answered;
                            wrong += ec || d.remaining != 999'999 ? 1 : 0;
                        });
    test::run_until(l.context, [&] { return answered == 4'096; });
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(the_threads_of_a_pool_share_one_connection) {
    auto s = tls_server{};
    auto pool = asio::thread_pool{4};
    auto settings = config{};
    settings.server = s.address();
    settings.timeout = 20s;
    settings.advanced.connect_timeout = 20s;
    settings.on_failure = failure_mode::error;
    settings.thread_safe = true;
    s.trusted()(settings);
    auto limiter = colimit::limiter{pool.get_executor(), settings};
    const auto limit = policy{"limit", gcra(3'000, 24h * 36'500)};
    auto granted = std::atomic<int>{0};
    auto failed = std::atomic<int>{0};
    auto callers = std::vector<std::future<void>>{};
    for (auto i = 0; i < 16; ++i)
        callers.push_back(asio::co_spawn(
            pool,
            [&]() -> asio::awaitable<void> {
                for (auto n = 0; n < 250; ++n) {
                    const auto [ec, d] =
                        co_await limiter.allow("k", limit, {}, asio::as_tuple(asio::deferred));
                    granted += !ec && d.allowed() ? 1 : 0;
                    failed += ec ? 1 : 0;
                }
            },
            asio::use_future));
    for (auto& c : callers)
        c.get();
    BOOST_TEST(granted == 3'000);
    BOOST_TEST(failed == 0);
    limiter.close();
    pool.join();
}

BOOST_AUTO_TEST_CASE(after_a_restart_and_after_client_kill_calls_work_again_by_themselves) {
    auto s = tls_server{};
    auto l = live{s.address(), [&](config& c) {
                      s.trusted()(c);
                      c.advanced.reconnect_delay_max = 50ms;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        s.server.restart();
        co_await l.until_it_works("k", rules);
        for (auto i = 0; i < 3; ++i) {
            auto look = s.server.connect();
            look.must({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
            co_await l.until_it_works("k", rules);
        }
    });
    BOOST_TEST(l.limiter.statistics().reconnects >= 4U);
}

BOOST_AUTO_TEST_CASE(the_server_is_told_of_the_end) {
    auto s = tls_server{{}, {"--loglevel", "verbose"}};
    auto l = live{s.address(), s.trusted()};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        auto look = s.server.connect();
        l.limiter.close();
        co_await test::until([&] {
            const auto clients = look.must({"INFO", "clients"}).text;
            return test::count_of(clients, "connected_clients:1\r") == 1;
        });
    });
    BOOST_TEST(test::count_of(s.server.log(), "unexpected eof") == 0);
}

/// A server without TLS waits for the end of a command that never ends, until it is made to reply.
BOOST_AUTO_TEST_CASE(a_server_without_tls_is_named_by_its_reply) {
    using words = std::vector<std::string>;
    for (const auto& password : {words{}, words{"--requirepass", "s3cret"}}) {
        const auto server = test::redis_server{{.tcp = true, .arguments = password}};
        auto l = live{"rediss" + server.address().substr(5), [](config& c) {
                          c.advanced.connect_timeout = 400ms;
                          c.timeout = 1s;
                      }};
        l.run(
            [&]() -> asio::awaitable<void> { co_await l.until_code("k", rules, errc::bad_reply); });
        const auto text = l.limiter.last_error().value().text;
        BOOST_TEST(text.find("does not speak TLS; it replied: -") != text.npos, text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
