// SPDX-License-Identifier: BSL-1.0
//
// Addresses of another kind of server than the one that they lead to, and nodes that cannot be
// reached under the address that the cluster names.

#include <support/problems.hpp>

#include <support/child_process.hpp>
#include <support/live_limiter.hpp>
#include <support/redis_cluster.hpp>
#include <support/scripted_node.hpp>
#include <support/sentinel_group.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(cluster_addresses)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;

const auto rules = policy{"p", gcra(1'000'000, 1h)};

/// The limiter refuses the server, in every failure mode, and names the right kind of address.
void check_refused(const std::string& address, std::string_view right) {
    for (const auto resp : {2, 3}) {
        auto l = live{address, [&](config& c) {
                          c.advanced.resp_version = resp;
                          c.on_failure = failure_mode::local;
                          c.advanced.reconnect_delay_max =
                              1h; // calls do not wait for the next attempt
                      }};
        l.run([&]() -> asio::awaitable<void> {
            const auto code = co_await l.ready();
            BOOST_TEST((code == errc::bad_reply), address << ": " << code.message());
            const auto [ec, d] = co_await l.allow("k", rules);
            BOOST_TEST((ec == errc::bad_reply), address << ": " << ec.message());
        });
        const auto text = test::last_of(l.limiter).text;
        BOOST_TEST(text.ends_with(right), address << ": " << text);
        BOOST_TEST(l.limiter.health().state == health_state::refused);
    }
}

/// The code of a call, when it ends.
[[nodiscard]] asio::awaitable<error_code> allow(limiter& l) {
    const auto [ec, d] = co_await l.allow("k", rules, asio::as_tuple(asio::deferred));
    co_return ec;
}

} // namespace

/// In `alice:12345`, where `@host` was forgotten, the port is a password.
BOOST_AUTO_TEST_CASE(a_port_of_a_host_that_does_not_exist_is_in_no_line_of_the_log) {
    for (const auto* const scheme : {"redis+cluster", "redis", "redis+sentinel"}) {
        auto lines = std::vector<std::string>{};
        auto l = live{std::string{scheme} + "://alice.invalid:12345" +
                          (std::string_view{scheme} == "redis+sentinel" ? "/main" : ""),
                      [&](config& c) {
                          c.timeout = 50ms;
                          c.advanced.reconnect_delay_max = 10ms;
                          c.log = {.level = log_level::debug,
                                   .write = [&](log_level, std::string_view line) {
                                       lines.emplace_back(line);
                                   }};
                      }};
        const auto has = [&](std::string_view text) {
            return std::ranges::any_of(
                lines, [&](const auto& line) { return line.find(text) != std::string::npos; });
        };
        l.run([&]() -> asio::awaitable<void> {
            while (!has("circuit breaker open"))
                (void)co_await allow(l.limiter);
        });
        BOOST_TEST(has("alice.invalid"), scheme);
        BOOST_TEST(!has("12345"), scheme);
    }
}

BOOST_AUTO_TEST_CASE(an_address_of_another_kind_is_refused_with_the_right_one) {
    auto c = test::redis_cluster{};
    auto g = test::sentinel_group{{.sentinels = 1, .replicas = 0}};
    const auto server = "127.0.0.1:" + std::to_string(g.server(0).port());
    check_refused("redis+cluster://" + server, "its address is redis://host:port");
    check_refused("redis+cluster://" + g.hosts(),
                  "whose address is redis+sentinel://host:port/master");
    check_refused("redis+sentinel://" + c.endpoint(0) + "/mymaster",
                  "whose address is redis+cluster://host:port");
    check_refused("redis+cluster://" + c.endpoint(0) + "/1",
                  "its address is redis+cluster://host:port without /db");
}

/// It may be a cluster of one node, so that the first call elsewhere shows it.
BOOST_AUTO_TEST_CASE(a_call_on_a_node_that_does_not_serve_its_key_names_the_right_address) {
    auto c = test::redis_cluster{};
    auto l = live{c.address(0), [](config& s) { s.on_failure = failure_mode::local; }};
    l.run([&]() -> asio::awaitable<void> {
        for (auto i = 0; i < 64; ++i) {
            const auto [ec, d] = co_await l.allow("k" + std::to_string(i), rules);
            if (!ec)
                continue;
            BOOST_TEST((ec == errc::wrong_node));
            BOOST_TEST(test::has(ec.message(), "use a redis+cluster:// address"), ec.message());
            co_return;
        }
        BOOST_ERROR("one node serves all keys");
    });
}

BOOST_AUTO_TEST_CASE(a_node_that_announces_an_unreachable_address_is_named) {
    auto context = asio::io_context{1};
    const auto nowhere = test::free_port();
    const auto node = test::scripted_node{
        context,
        {.map = [&] { return std::vector<test::slot_range>{{0, 16'383, nowhere}}; },
         .call = [](const test::command&) { return std::string{"-ERR no call\r\n"}; }}};
    auto settings = config{};
    settings.server = "redis+cluster://127.0.0.1:" + std::to_string(node.port());
    settings.on_failure = failure_mode::error;
    auto l = limiter{context.get_executor(), settings};
    test::run(context, [&]() -> asio::awaitable<void> {
        const auto text = "node 127.0.0.1:" + std::to_string(nowhere) + ": Connection refused";
        do { // the first call may end before there is a map
            const auto ec = co_await allow(l);
            BOOST_TEST((ec == errc::unavailable), ec.message());
        } while (!test::has(test::last_of(l).text, text));
    });
}

/// Calls a node that serves all slots, whose first maps do not lead to it. Returns the number of
/// maps that it was asked for.
[[nodiscard]] int maps_until_found(int maps_before,
                                   const std::function<std::vector<test::slot_range>()>& wrong_map,
                                   std::uint16_t forbidden) {
    auto context = asio::io_context{1};
    auto script = test::script_double{rules};
    auto maps = 0;
    auto own = std::uint16_t{0};
    const auto node = test::scripted_node{
        context,
        {.map =
             [&] {
                 return maps++ < maps_before ? wrong_map()
                                             : std::vector<test::slot_range>{{0, 16'383, own}};
             },
         .call = [&](const test::command& words) { return script.answer(words); }}};
    own = node.port();
    auto settings = config{};
    settings.server = "redis+cluster://127.0.0.1:" + std::to_string(own);
    settings.timeout = 10s; // a third of the time after which a map is asked for in any case
    settings.on_failure = failure_mode::error;
    settings.advanced.may_connect = [&](std::string_view /*host*/, std::uint16_t port) {
        return port != forbidden;
    };
    auto l = limiter{context.get_executor(), settings};
    test::run(context, [&]() -> asio::awaitable<void> {
        const auto ec = co_await allow(l);
        BOOST_TEST(!ec, ec.message());
    });
    return maps;
}

/// If the machine halts while a map is on its way, another one is asked for, and rightly so. That
/// does not happen every time.
void check_found_after(int maps_before,
                       const std::function<std::vector<test::slot_range>()>& wrong_map,
                       std::uint16_t forbidden) {
    auto maps = 0;
    for (auto tries = 0; maps != maps_before + 1 && tries < 5; ++tries)
        maps = maps_until_found(maps_before, wrong_map, forbidden);
    BOOST_TEST(maps == maps_before + 1);
}

/// Its slots may have moved to another one, which one of the next maps says.
BOOST_AUTO_TEST_CASE(a_forbidden_node_is_soon_forgotten_if_another_one_serves_its_slots) {
    const auto forbidden = test::free_port();
    for (const auto maps : {1, 3})
        check_found_after(
            maps, [&] { return std::vector<test::slot_range>{{0, 16'383, forbidden}}; }, forbidden);
}

BOOST_AUTO_TEST_CASE(a_call_that_waits_for_the_owner_of_its_slot_asks_for_maps_until_one_has_it) {
    for (const auto maps : {1, 3})
        check_found_after(maps, [] { return std::vector<test::slot_range>{}; }, 0);
}

BOOST_AUTO_TEST_SUITE_END()
