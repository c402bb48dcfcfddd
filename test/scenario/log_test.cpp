// SPDX-License-Identifier: BSL-1.0
//
// `config::log`: the lines of each level, in order, while servers are there, refuse, or are not.

#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <simulation/sentinel_deployment.hpp>
#include <support/live_limiter.hpp>
#include <support/problems.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

BOOST_FIXTURE_TEST_SUITE(logs, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using scenario::fake_redis;
using test::live;

const auto rules = policy{"p", gcra(100, 1h)};

/// The lines of a limiter, each with its level.
struct lines {
    [[nodiscard]] live::adjustment at(log_level level) {
        return [this, level](config& c) {
            c.log = {.level = level, .write = [this](log_level l, std::string_view line) {
                         all.push_back(std::string{to_string(l)} + ": " + std::string{line});
                     }};
        };
    }
    /// Returns whether these texts are in lines, in this order.
    [[nodiscard]] bool has(const std::vector<std::string>& texts) const {
        auto next = texts.begin();
        for (const auto& line : all)
            if (next != texts.end() && line.find(*next) != std::string::npos)
                ++next;
        return next == texts.end();
    }

    std::vector<std::string> all;
};

} // namespace

BOOST_AUTO_TEST_CASE(every_step_to_a_call_is_logged_in_order) {
    auto server = fake_redis{net};
    auto said = lines{};
    auto l = live{context, server.url(), said.at(log_level::debug)};
    run([&]() -> asio::awaitable<void> { co_await l.until_it_works("user=ann", rules); });
    BOOST_TEST(said.has({"debug: 10.0.0.1:6379: connecting", "debug: 10.0.0.1:6379: connected",
                         "debug: 10.0.0.1:6379: sending ", "HELLO: accepted",
                         "SCRIPT LOAD: accepted", "permissions: accepted",
                         "info: 10.0.0.1:6379: ready", "debug: batch: calls 1, bytes ",
                         "debug: 10.0.0.1:6379: sending ", "debug: 10.0.0.1:6379: received "}));
    for (const auto& line : said.all)
        BOOST_TEST(line.find("ann") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(losses_and_the_breaker_are_information_and_a_problem_is_one_warning) {
    auto server = fake_redis{net};
    auto said = lines{};
    auto l = live{context, server.url(), said.at(log_level::info)};
    run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        server.kill();
        co_await test::until([&] { return l.limiter.health().state == health_state::degraded; });
        co_await test::until([&] { return test::last_of(l.limiter).count >= 6; });
    });
    BOOST_TEST(said.has({"info: 10.0.0.1:6379: ready", "warning: reply: the connection was lost",
                         "info: 10.0.0.1:6379: no connection; the next attempt comes in ",
                         "warning: connect: 10.0.0.1:6379: Connection refused",
                         "info: 10.0.0.1:6379: circuit breaker open"}));
    auto refused = 0;
    for (const auto& line : said.all) {
        BOOST_TEST(!line.starts_with("debug"));
        refused += line.starts_with("warning: connect") ? 1 : 0;
    }
    BOOST_TEST(refused == 1);
}

BOOST_AUTO_TEST_CASE(warnings_alone_say_nothing_about_a_server_that_works) {
    auto server = fake_redis{net};
    auto said = lines{};
    auto l = live{context, server.url(), said.at(log_level::warning)};
    run([&]() -> asio::awaitable<void> { co_await l.until_it_works("k", rules); });
    BOOST_TEST(said.all.empty());
}

BOOST_AUTO_TEST_CASE(an_exception_of_the_function_loses_the_line_only) {
    auto server = fake_redis{net};
    auto count = 0;
    auto l =
        live{context, server.url(), [&](config& c) {
                 c.log = {.level = log_level::debug, .write = [&](log_level, std::string_view) {
                              ++count;
                              throw std::runtime_error{"the disk is full"};
                          }};
             }};
    run([&]() -> asio::awaitable<void> { co_await l.until_it_works("k", rules); });
    BOOST_TEST(count > 8);
}

/// In `alice:12345`, where `@host` was forgotten, the port is a password.
BOOST_AUTO_TEST_CASE(a_password_at_the_place_of_a_port_is_in_no_line) {
    const auto check = [this](const std::string& address, bool has_credentials) {
        auto said = lines{};
        auto l = live{context, address, [&](config& c) {
                          said.at(log_level::debug)(c);
                          c.on_event = [&](const event& e) {
                              auto text = std::ostringstream{};
                              text << e;
                              said.all.push_back(text.str());
                          };
                          const auto fail = []() -> credentials {
                              throw std::runtime_error{"the vault is sealed"};
                          };
                          if (!has_credentials)
                              c.credentials = fail;
                          if (!has_credentials && address.find("sentinel") != std::string::npos)
                              c.advanced.sentinel_credentials = fail;
                      }};
        run([&]() -> asio::awaitable<void> {
            co_await test::until([&] { return said.has({"alice"}) && l.limiter.last_error(); });
            for (auto i = 0; i < 20; ++i)
                (void)co_await l.allow("k", rules);
        });
        said.all.push_back(test::last_of(l.limiter).text);
        for (const auto& line : said.all)
            BOOST_TEST(line.find("12345") == std::string::npos, address << ": " << line);
    };
    for (const std::string tls : {"", "s"})
        for (const auto has_credentials : {true, false}) {
            check("redis" + tls + "://alice:12345", has_credentials);
            for (const std::string hosts :
                 {"alice:12345", "127.0.0.1:1,alice:12345", "alice:12345,[::1]:1"}) {
                check("redis" + tls + "+cluster://" + hosts, has_credentials);
                check("redis" + tls + "+sentinel://" + hosts + "/main", has_credentials);
            }
        }
}

BOOST_AUTO_TEST_CASE(the_master_that_sentinels_name_is_logged) {
    auto group = simulation::sentinel_deployment{
        net, [this](simulation::place where, simulation::slot_rules* of_cluster) {
            return std::make_unique<fake_redis>(net, where, of_cluster);
        }};
    auto said = lines{};
    auto l = live{context, group.address(), said.at(log_level::debug)};
    run([&]() -> asio::awaitable<void> { co_await l.until_it_works("k", rules); });
    BOOST_TEST(said.has({"debug: Sentinel ", "info: the master is ", "ready"}));
}

BOOST_AUTO_TEST_SUITE_END()
