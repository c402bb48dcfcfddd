// SPDX-License-Identifier: BSL-1.0
//
// Error replies of real servers: the error of the call, whether the connection continues, and that
// nothing runs twice. Others are in refusal_test, script_flush_test and connection_test; those that
// no server here can be brought to say are in error_reply_test.

#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

BOOST_AUTO_TEST_SUITE(error_table)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;

const auto rules = policy{"p", gcra(1'000, 24h)};
const auto logs = policy{"log", sliding_log(1'000, 24h)};

[[nodiscard]] std::int64_t number_in(std::string_view info, std::string_view name) {
    const auto at = info.find(name);
    auto n = std::int64_t{-1};
    if (at != std::string_view::npos)
        std::from_chars(info.data() + at + name.size(), info.data() + info.size(), n);
    return n;
}

[[nodiscard]] std::int64_t connections_of(test::raw_client& look) {
    return number_in(look.must({"INFO", "stats"}).text, "total_connections_received:");
}

/// A server that replies with errors for a while, and a limiter that was connected before.
struct refusing {
    explicit refusing(test::redis_server_options o = {},
                      execution_mode how = execution_mode::script)
        : server(std::move(o)), l(server.address(), [how](config& c) {
              c.advanced.reconnect_delay_max = 20ms;
              c.advanced.mode = how;
          }) {}

    /// Calls `begin`, sees the error, calls `end`, and sees that everything goes on.
    void run(const policy& p, error_code wanted, const std::function<void()>& begin,
             const std::function<void()>& end) {
        l.run([&]() -> asio::awaitable<void> {
            auto d = co_await l.limiter.allow("k", p);
            BOOST_TEST(d.remaining == 999);
            const auto connections = connections_of(look);
            begin();
            const auto [ec, nobody] = co_await l.allow("k", p);
            BOOST_TEST((ec == wanted), ec.message());
            const auto [other, none] = co_await l.allow("other", p);
            BOOST_TEST((other == wanted), other.message());
            end();
            co_await l.until_it_works("k", p);
            BOOST_TEST(connections_of(look) == connections); // it was kept
            d = co_await l.limiter.peek("k", p);
            BOOST_TEST(d.remaining == 998); // the refused call was not made, then or later
        });
    }

    test::redis_server server;
    test::raw_client look = server.connect();
    live l;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_full_memory_is_an_error_of_the_server_on_a_connection_that_is_kept) {
    for (const auto how : {execution_mode::script, execution_mode::multi}) { // -OOM, -EXECABORT
        auto r = refusing{{}, how};
        r.look.must({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
        r.run(
            how == execution_mode::script ? rules : logs, errc::server_error,
            [&] { r.look.must({"CONFIG", "SET", "maxmemory", "1"}); },
            [&] { r.look.must({"CONFIG", "SET", "maxmemory", "0"}); });
    }
}

BOOST_AUTO_TEST_CASE(too_few_replicas_are_an_error_of_the_server_on_a_connection_that_is_kept) {
    auto r = refusing{};
    r.run(
        rules, errc::server_error,
        [&] { r.look.must({"CONFIG", "SET", "min-replicas-to-write", "1"}); },
        [&] { r.look.must({"CONFIG", "SET", "min-replicas-to-write", "0"}); });
}

BOOST_AUTO_TEST_CASE(a_disk_that_fails_is_an_error_of_the_server_on_a_connection_that_is_kept) {
    auto r = refusing{{.arguments = {"--enable-protected-configs", "yes"}}};
    const auto folder = r.server.folder() + "/gone";
    r.run(
        rules, errc::server_error,
        [&] {
            std::filesystem::create_directory(folder);
            r.look.must({"CONFIG", "SET", "dir", folder});
            std::filesystem::remove(folder);
            r.look.must({"CONFIG", "SET", "save", "3600 1"});
            r.look.must({"BGSAVE"});
            const auto end = std::chrono::steady_clock::now() + test::patience;
            while (r.look.must({"INFO", "persistence"}).text.find("last_bgsave_status:err") ==
                       std::string::npos &&
                   std::chrono::steady_clock::now() < end)
                std::this_thread::sleep_for(1ms);
        },
        [&] { r.look.must({"CONFIG", "SET", "save", ""}); });
}

BOOST_AUTO_TEST_CASE(a_replica_without_its_master_is_unavailable_on_a_connection_that_is_kept) {
    auto r = refusing{};
    r.look.must({"CONFIG", "SET", "replica-serve-stale-data", "no"});
    r.run(
        rules, errc::unavailable, [&] { r.look.must({"REPLICAOF", "127.0.0.1", "1"}); },
        [&] { r.look.must({"REPLICAOF", "NO", "ONE"}); });
}

BOOST_AUTO_TEST_CASE(a_server_that_is_busy_is_unavailable_on_a_connection_that_is_kept) {
    auto r = refusing{{.arguments = {"--busy-reply-threshold", "10"}}};
    auto busy = r.server.connect();
    r.run(
        rules, errc::unavailable,
        [&] {
            busy.send("*3\r\n$4\r\nEVAL\r\n$17\r\nwhile true do end\r\n$1\r\n0\r\n");
            const auto end = std::chrono::steady_clock::now() + test::patience;
            while (!r.look({"PING"}).text.starts_with("BUSY") &&
                   std::chrono::steady_clock::now() < end)
                std::this_thread::sleep_for(1ms);
        },
        [&] { r.look.must({"SCRIPT", "KILL"}); });
}

BOOST_AUTO_TEST_CASE(a_cluster_without_its_slots_is_an_error_on_a_connection_that_is_kept) {
    auto server = test::redis_server{{.tcp = true, .arguments = {"--cluster-enabled", "yes"}}};
    auto look = server.connect();
    auto l = live{server.address()};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        const auto connections = connections_of(look);
        for (int i = 0; i < 3; ++i) {
            const auto [ec, d] = co_await l.allow("k", rules);
            BOOST_TEST((ec == errc::wrong_node));
            BOOST_TEST((ec == condition::permanent));
        }
        BOOST_TEST(connections_of(look) == connections);
        look.must({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
        co_await l.until_it_works("k", rules);
        const auto d = co_await l.limiter.peek("k", rules);
        BOOST_TEST(d.remaining == 999);
    });
}

BOOST_AUTO_TEST_CASE(a_server_that_is_full_of_clients_is_unavailable_until_it_has_room) {
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"CONFIG", "SET", "maxclients", "1"});
    auto l = live{server.address(), [](config& c) {
                      c.advanced.reconnect_delay_max = 20ms;
                      c.timeout = 1s;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_code("k", rules, errc::unavailable);
        look.must({"CONFIG", "SET", "maxclients", "100"});
        co_await l.until_it_works("k", rules);
    });
}

BOOST_AUTO_TEST_CASE(a_server_that_loads_its_data_is_unavailable_and_waited_for) {
    // 20 milliseconds a key until it is told otherwise, and it looks at its clients meanwhile.
    auto server =
        test::redis_server{{.arguments = {"--key-load-delay", "20000",
                                          "--loading-process-events-interval-bytes", "1024"}}};
    auto look = server.connect();
    for (int i = 0; i < 1'000; ++i)
        look.must({"SET", "filler" + std::to_string(i), std::string(64, 'x')});
    auto l = live{server.address(), [](config& c) { c.advanced.reconnect_delay_max = 20ms; }};
    auto hasty = live{l.context, server.address(), [](config& c) {
                          c.advanced.reconnect_delay_max = 20ms;
                          c.timeout = 200ms;
                      }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        look.must({"SAVE"});
        server.kill();
        // The server ends with the thread that started it.
        auto starter = std::jthread{[&](const std::stop_token& stop) {
            server.start();
            while (!stop.stop_requested())
                std::this_thread::sleep_for(1ms);
        }};
        auto was_loading = false;
        const auto end = std::chrono::steady_clock::now() + test::patience;
        while (!was_loading && std::chrono::steady_clock::now() < end) {
            try {
                was_loading = server.connect()({"PING"}).text.starts_with("LOADING");
            } catch (const std::runtime_error&) { // it does not listen yet
            }
        }
        BOOST_TEST(was_loading);
        co_await hasty.until_code("k", rules, errc::unavailable);
        (void)server.connect()({"CONFIG", "SET", "key-load-delay", "0"});
        co_await l.until_it_works("k", rules);
        const auto now = co_await l.limiter.peek("k", rules);
        BOOST_TEST(now.remaining == 998); // what was saved, and one more
    });
}

BOOST_AUTO_TEST_SUITE_END()
