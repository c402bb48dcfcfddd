// SPDX-License-Identifier: BSL-1.0
//
// config::advanced.server_module on servers with the module, without it, and with another version
// of it; on servers that lose it and get it while calls are made; and on servers that replace each
// other.

#include "calls_that_wait.hpp"
#include <support/problems.hpp>

#include <core/policy_encoding.hpp>
#include <policy/policy_data.hpp>
#include <support/fresh_folder.hpp>
#include <support/live_limiter.hpp>
#include <support/ordered_failover.hpp>
#include <support/readme_acl.hpp>
#include <support/redis_cluster.hpp>
#include <support/redis_replica.hpp>
#include <support/sentinel_group.hpp>
#include <support/server_module.hpp>
#include <support/server_version.hpp>
#include <support/unit_test.hpp>
#include <support/usual_tags.hpp>

#include <boost/asio/co_spawn.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(server_module)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::calls_of;
using test::check_last;
using test::live;
using test::load_server_module;
using test::unload_server_module;

constexpr auto capacity = std::int64_t{1'000'000};
/// So slow that no token comes back while a test runs.
const auto rules = policy{"p", gcra(capacity, 24h * 36'500)};

const auto advice =
    std::string{"config::advanced.server_module is required, but the server lacks the "
                "module: load colimit.so with MODULE LOAD; it replied: ERR unknown "
                "command"};
const auto incompatible = std::string{"the server module has another wire version (got "};

void be_patient(config& c) {
    c.timeout = 20s;
}

void require_module(config& c) {
    c.advanced.server_module = module_use::required;
    c.advanced.reconnect_delay_max = 20ms;
}

[[nodiscard]] test::redis_server server_with_module() {
    return test::redis_server{{.arguments = test::with_server_module()}};
}

[[nodiscard]] test::redis_server server_without_module() {
    return test::redis_server{{.arguments = test::accepting_modules()}};
}

/// Redis 8.0 crashes when a client repeats a command that was unloaded: it keeps its last command,
/// which is freed.
[[nodiscard]] bool survives_unloading(test::raw_client& look) {
    const auto version = test::version_of(look);
    return !version.is_redis() || !version.is_at_least(8, 0);
}

/// The number of present connections that use the module.
[[nodiscard]] std::uint64_t uses(const live& l) {
    return l.limiter.statistics().module_connections;
}

/// Calls until so many connections use the module. Each call is executed once, as `last`, what is
/// left of the key, shows.
asio::awaitable<void> call_until_used(live& l, std::int64_t& last, std::uint64_t wanted) {
    const auto end = std::chrono::steady_clock::now() + test::patience;
    while (uses(l) != wanted) {
        const auto [ec, d] = co_await l.allow("k", rules);
        BOOST_TEST(!ec, ec.message());
        BOOST_REQUIRE(d.remaining == --last);
        if (std::chrono::steady_clock::now() > end)
            throw std::runtime_error{"connections with the module: " + std::to_string(uses(l))};
        co_await test::pause_for(1ms);
    }
}

asio::awaitable<void> check_one(live& l, std::int64_t& last) {
    const auto [ec, d] = co_await l.allow("k", rules);
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(d.remaining == --last);
}

void check_not_scripted(test::raw_client& look) {
    for (const auto* command : {"eval", "evalsha", "script|load", "fcall"})
        BOOST_TEST(calls_of(look, command) == 0, command);
}

} // namespace

BOOST_AUTO_TEST_CASE(with_the_module_no_script_is_sent_in_any_mode) {
    for (const auto use : {module_use::if_available, module_use::required})
        for (const auto mode : {execution_mode::script, execution_mode::function})
            for (const auto version : {2, 3}) {
                const auto server = server_with_module();
                auto look = server.connect();
                auto l = live{server.address(), [=](config& c) {
                                  c.advanced.server_module = use;
                                  c.advanced.mode = mode;
                                  c.advanced.resp_version = version;
                              }};
                auto last = capacity;
                l.run([&]() -> asio::awaitable<void> {
                    for (auto i = 0; i < 3; ++i)
                        co_await check_one(l, last);
                });
                check_not_scripted(look);
                const auto s = l.limiter.statistics();
                BOOST_TEST(s.module_calls == 3U);
                BOOST_TEST(s.batch_calls == 3U);
                BOOST_TEST(s.module_connections == 1U);
                BOOST_TEST(s.script_loads == 0U);
                BOOST_TEST(!l.limiter.last_error());
            }
}

BOOST_AUTO_TEST_CASE(the_script_gives_places_where_there_is_the_module) {
    const auto places = policy{"places", concurrent(1).lease(1h)};
    for (const auto use : {module_use::if_available, module_use::required}) {
        const auto server = server_with_module();
        auto look = server.connect();
        auto l = live{server.address(), [=](config& c) {
                          be_patient(c);
                          c.advanced.server_module = use;
                      }};
        auto last = capacity;
        l.run([&]() -> asio::awaitable<void> {
            co_await check_one(l, last);
            auto held = co_await l.limiter.acquire("k", places);
            BOOST_TEST(static_cast<bool>(held));
            const auto denied = co_await l.limiter.acquire("k", places);
            BOOST_TEST(!denied);
            held.release();
            const auto d = co_await l.limiter.peek("k", places);
            BOOST_TEST(d.remaining == 1);
            co_await check_one(l, last);
        });
        BOOST_TEST(test::calls_of(look, "evalsha") != 0);
        const auto s = l.limiter.statistics();
        BOOST_TEST(s.module_calls == 2U);
        BOOST_TEST(s.batch_calls == 7U); // one was sent again, with the script
        BOOST_TEST(s.module_connections == 1U);
        BOOST_TEST(s.script_loads == 1U);
        BOOST_TEST(!l.limiter.last_error());
    }
}

BOOST_AUTO_TEST_CASE(without_the_module_scripts_are_used_and_nothing_is_reported) {
    const auto server = server_without_module();
    auto l = live{server.address()};
    auto last = capacity;
    l.run([&]() -> asio::awaitable<void> { co_await check_one(l, last); });
    const auto s = l.limiter.statistics();
    BOOST_TEST(s.module_calls == 0U);
    BOOST_TEST(s.module_connections == 0U);
    BOOST_TEST(s.batch_calls == 1U);
    BOOST_TEST(!l.limiter.last_error());
}

/// A rollout.
BOOST_AUTO_TEST_CASE(limiters_with_and_without_the_module_count_on_the_same_keys) {
    const auto server = server_with_module();
    auto look = server.connect();
    auto with = live{server.address(), require_module};
    auto without =
        live{server.address(), [](config& c) { c.advanced.server_module = module_use::never; }};
    auto last = capacity;
    for (auto i = 0; i < 3; ++i) {
        with.run([&]() -> asio::awaitable<void> { co_await check_one(with, last); });
        without.run([&]() -> asio::awaitable<void> { co_await check_one(without, last); });
    }
    BOOST_TEST(without.limiter.statistics().module_calls == 0U);
    BOOST_TEST(calls_of(look, "evalsha") == 4); // and the test of permissions
}

BOOST_AUTO_TEST_CASE(a_module_that_is_loaded_is_used_without_another_connection) {
    const auto server = server_without_module();
    auto look = server.connect();
    auto l = live{server.address(), be_patient};
    auto last = capacity;
    l.run([&]() -> asio::awaitable<void> {
        co_await check_one(l, last);
        load_server_module(look);
        co_await call_until_used(l, last, 1);
        unload_server_module(look);
        co_await check_one(l, last); // at once
        BOOST_TEST(uses(l) == 0U);
        load_server_module(look);
        co_await call_until_used(l, last, 1);
    });
    BOOST_TEST(l.limiter.statistics().reconnects == 0U);
    BOOST_TEST(!l.limiter.last_error());
}

/// As scripts that are flushed. The module is away for a moment each time, and its return is
/// noticed after a second; so connections that begin with it are what makes for many losses.
BOOST_AUTO_TEST_CASE(unloading_at_any_moment_costs_no_call_and_charges_none_twice) {
    constexpr auto callers = 32;
    constexpr auto least = 100; // calls of each
    constexpr auto losses_wanted = 10;
    const auto server = server_with_module();
    auto first = server.connect();
    if (!survives_unloading(first))
        return;
    auto stop = std::atomic<bool>{false};
    auto administrator = std::thread{[&] {
        auto look = server.connect();
        while (!stop) {
            unload_server_module(look);
            std::this_thread::sleep_for(1ms); // calls are made meanwhile
            load_server_module(look);
            std::this_thread::sleep_for(5ms); // connections are made meanwhile
        }
    }};
    auto spent = std::int64_t{0};
    auto errors = 0;
    constexpr auto most = 100 * losses_wanted; // connections
    auto losses = 0;
    for (auto connections = 0; losses < losses_wanted && connections < most; ++connections) {
        auto l = live{server.address(), [](config& c) {
                          be_patient(c);
                          c.advanced.batch_size =
                              8; // many batches, so that losses fall between them
                      }};
        auto running = callers;
        auto last = capacity - spent;
        for (auto i = 0; i < callers; ++i)
            asio::co_spawn(
                l.context,
                [&]() -> asio::awaitable<void> {
                    for (auto n = 0; n < least; ++n) {
                        const auto [ec, d] = co_await l.allow("shared", rules);
                        errors += ec || d.remaining >= last ? 1 : 0;
                        last = d.remaining;
                        ++spent;
                    }
                    --running;
                },
                test::rethrow);
        test::run_until(l.context, [&] { return running == 0; });
        const auto s = l.limiter.statistics();
        losses += s.module_calls != 0 && s.module_connections == 0 ? 1 : 0;
        BOOST_REQUIRE(errors == 0);
        BOOST_REQUIRE(s.reconnects == 0U);
        l.run([&]() -> asio::awaitable<void> {
            const auto d = co_await l.limiter.peek("shared", rules);
            BOOST_REQUIRE(d.remaining == capacity - spent);
        });
    }
    stop = true;
    administrator.join();
    BOOST_TEST(losses == losses_wanted);
}

BOOST_AUTO_TEST_CASE(a_permission_that_is_withdrawn_costs_no_call_and_may_be_given_back) {
    const auto server = server_with_module();
    auto look = server.connect();
    look.must({"ACL", "SETUSER", "app", "on", ">pw", "~*", "+@all"});
    auto l = live{"unix://app:pw@" + server.socket(), be_patient};
    auto last = capacity;
    l.run([&]() -> asio::awaitable<void> {
        co_await check_one(l, last);
        BOOST_TEST(uses(l) == 1U);
        look.must({"ACL", "SETUSER", "app", "-colimit.check"});
        co_await check_one(l, last);
        BOOST_TEST(uses(l) == 0U);
        check_last(l.limiter, errc::auth_failed, phase::script, "colimit.check");
        look.must({"ACL", "SETUSER", "app", "+colimit.check"});
        co_await call_until_used(l, last, 1);
    });
    BOOST_TEST(l.limiter.statistics().reconnects == 0U);
}

BOOST_AUTO_TEST_CASE(a_user_who_may_not_run_its_command_has_scripts_and_reads_why) {
    const auto server = server_with_module();
    auto look = server.connect();
    look.must({"ACL", "SETUSER", "app", "on", ">pw", "~*", "+@all", "-colimit.check"});
    const auto address = "unix://app:pw@" + server.socket();
    auto l = live{address};
    auto last = capacity;
    l.run([&]() -> asio::awaitable<void> { co_await check_one(l, last); });
    BOOST_TEST(uses(l) == 0U);
    check_last(l.limiter, errc::auth_failed, phase::handshake, "colimit.check");
    auto requiring = live{address, require_module};
    requiring.run([&]() -> asio::awaitable<void> {
        const auto code = co_await requiring.ready();
        BOOST_TEST((code == errc::auth_failed), code.message());
        check_last(requiring.limiter, errc::auth_failed, phase::handshake, "colimit.check");
        look.must({"ACL", "SETUSER", "app", "+colimit.check"});
        co_await requiring.until_it_works("k", rules);
    });
}

/// Redis 8.0 and Valkey 8.1 would end, as their rules are read again.
BOOST_AUTO_TEST_CASE(it_is_not_unloaded_while_rules_of_users_name_its_commands) {
    const auto server = server_with_module();
    auto look = server.connect();
    for (const auto* rule : {"+colimit.check", "-colimit.seen", "+cl.throttle"}) {
        const auto* others = rule[0] == '+' ? "-@all" : "+@all";
        look.must({"ACL", "SETUSER", "app", "on", ">pw", "~*", others, rule});
        BOOST_TEST(look({"MODULE", "UNLOAD", "colimit"}).is_error(), rule);
        BOOST_TEST(!look({"COLIMIT.CHECK", "0"}).is_error());
        look.must({"ACL", "DELUSER", "app"});
    }
    look.must({"ACL", "SETUSER", "other", "on", ">pw", "~colimit.check", "+@all", "-eval"});
    unload_server_module(look);
}

/// What it lacks on a demoted server is one that accepts writes, and not a permission.
BOOST_AUTO_TEST_CASE(a_user_with_the_least_privilege_waits_for_a_server_that_accepts_writes) {
    const auto server = server_with_module();
    auto look = server.connect();
    look.must({"ACL", "SETUSER", "app", "on", ">pw", "~*", "+colimit.check"});
    auto l = live{"unix://app:pw@" + server.socket(), [](config& c) {
                      c.timeout = 50ms;
                      c.advanced.reconnect_delay_max = 20ms;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        look.must({"REPLICAOF", "127.0.0.1", "1"});
        co_await l.until_code("k", rules, errc::unavailable);
        co_await test::until_reported(l.limiter, "READONLY");
        for (auto i = 0; i < 3; ++i) {
            const auto [ec, d] = co_await l.allow("k", rules);
            BOOST_TEST((ec == condition::transient), ec.message());
        }
        look.must({"REPLICAOF", "NO", "ONE"});
        co_await l.until_it_works("k", rules);
    });
    check_not_scripted(look);
}

BOOST_AUTO_TEST_CASE(on_a_demoted_server_peek_works_with_the_script) {
    const auto server = server_with_module();
    auto look = server.connect();
    look.must({"REPLICAOF", "127.0.0.1", "1"});
    auto l = live{server.address()};
    l.run([&]() -> asio::awaitable<void> {
        const auto d = co_await l.limiter.peek("k", rules);
        BOOST_TEST(d.remaining == capacity);
    });
    BOOST_TEST(l.limiter.statistics().module_calls == 0U);
}

BOOST_AUTO_TEST_CASE(an_incompatible_module_is_not_given_a_call_and_named) {
    const auto server = server_without_module();
    auto look = server.connect();
    test::load_incompatible_module(look);
    auto l = live{server.address(), be_patient};
    auto requiring = live{server.address(), require_module};
    auto last = capacity;
    l.run([&]() -> asio::awaitable<void> {
        co_await check_one(l, last);
        BOOST_TEST(uses(l) == 0U);
        check_last(l.limiter, errc::invalid_config, phase::handshake, incompatible);
        unload_server_module(look);
        load_server_module(look);
        co_await call_until_used(l, last, 1);
        // A connection that does not notice the exchange at once would misunderstand each reply.
        unload_server_module(look);
        co_await check_one(l, last);
        test::load_incompatible_module(look);
        const auto end = std::chrono::steady_clock::now() + test::patience;
        while (test::last_of(l.limiter).phase != phase::script &&
               std::chrono::steady_clock::now() < end) {
            co_await check_one(l, last);
            co_await test::pause_for(1ms);
        }
        check_last(l.limiter, errc::invalid_config, phase::script, incompatible);
        BOOST_TEST(uses(l) == 0U);
    });
    requiring.run([&]() -> asio::awaitable<void> {
        const auto code = co_await requiring.ready();
        BOOST_TEST((code == errc::invalid_config), code.message());
        check_last(requiring.limiter, errc::invalid_config, phase::handshake, incompatible);
    });
}

BOOST_AUTO_TEST_CASE(a_required_module_is_named_in_every_mode_until_it_is_loaded) {
    for (const auto mode : {failure_mode::local, failure_mode::error}) {
        const auto server = server_without_module();
        auto look = server.connect();
        auto l = live{server.address(), [mode](config& c) {
                          require_module(c);
                          c.on_failure = mode;
                          c.timeout = 50ms;
                      }};
        l.run([&]() -> asio::awaitable<void> {
            const auto code = co_await l.ready();
            BOOST_TEST((code == errc::invalid_config), code.message());
            const auto [ec, d] = co_await l.allow("k", rules);
            BOOST_TEST((ec == errc::invalid_config), ec.message());
            BOOST_TEST(l.limiter.health().state == health_state::refused);
            check_last(l.limiter, errc::invalid_config, phase::handshake, advice);
            load_server_module(look);
            co_await l.until_it_works("k", rules);
        });
        check_not_scripted(look);
    }
}

BOOST_AUTO_TEST_CASE(calls_wait_for_a_required_module_that_is_unloaded) {
    const auto server = server_with_module();
    auto look = server.connect();
    if (!survives_unloading(look))
        return;
    auto l = live{server.address(), [](config& c) {
                      require_module(c);
                      c.timeout = 20s;
                  }};
    test::check_calls_that_wait(
        l, rules, capacity, advice, [&] { unload_server_module(look); },
        [&] { load_server_module(look); });
    check_not_scripted(look);
}

/// The module of the first master, and its effects on servers without it.
BOOST_AUTO_TEST_CASE(behind_sentinel_each_master_is_asked_for_the_module) {
    auto g = test::sentinel_group{{.arguments = test::accepting_modules()}};
    auto look = g.server(0).connect();
    load_server_module(look);
    auto l = live{g.address(), be_patient};
    auto last = capacity;
    l.run([&]() -> asio::awaitable<void> {
        co_await check_one(l, last);
        BOOST_TEST(uses(l) == 1U);
        for (const auto expected : {0U, 1U}) {
            auto master = g.server(g.named_by(0)).connect();
            master.must({"SET", "last", "write"});
            BOOST_TEST(master.must({"WAIT", "2", "10000"}).integer == 2);
            if (expected == 1U) // also for the one that is the master at present
                for (auto i = 1U; i < g.servers(); ++i) {
                    auto other = g.server(i).connect();
                    load_server_module(other);
                }
            co_await test::fail_over_calmly(g, l, rules);
            co_await check_one(l, last);
            BOOST_TEST(uses(l) == expected);
        }
    });
}

BOOST_AUTO_TEST_CASE(in_a_cluster_each_node_decides_for_itself_and_batches_take_its_form) {
    auto c = test::redis_cluster{{.arguments = test::accepting_modules()}};
    const auto slot = std::size_t{test::slot_of("k")};
    const auto with = c.owner(slot);
    const auto without = (with + 1) % c.size();
    for (std::size_t i = 0; i < c.size(); ++i)
        if (i != without) {
            auto look = c.connect(i);
            load_server_module(look);
        }
    auto l = live{"redis+cluster://" + c.endpoint(0), be_patient};
    auto last = capacity;
    l.run([&]() -> asio::awaitable<void> {
        for (auto i = 0; i < 200; ++i)
            co_await l.until_it_works("other " + std::to_string(i), rules);
        BOOST_TEST(uses(l) == c.size() - 1);
        co_await check_one(l, last);
        c.begin_migration(slot, with, without);
        c.move_keys(slot, with, without);
        co_await check_one(l, last); // ASK
        c.end_migration(slot, with, without);
        co_await check_one(l, last); // MOVED
        c.migrate_slot(slot, without, with);
        co_await check_one(l, last);
    });
    auto look = c.connect(without);
    BOOST_TEST(calls_of(look, "evalsha") > 0);
    BOOST_TEST(calls_of(look, "colimit.check") == 0);
    BOOST_TEST(!l.limiter.last_error());
}

/// Only a master and the AOF tell the time at which another server has decided.
BOOST_AUTO_TEST_CASE(a_client_cannot_claim_the_time_of_another_server) {
    auto words = test::with_server_module();
    words.insert(words.end(), {"replicate", "command"});
    const auto server = test::redis_server{{.tcp = true, .arguments = words}};
    auto replica = test::redis_replica{server, test::with_server_module()};
    auto look = server.connect();
    auto& copy = replica.client;

    const auto bytes = core::encode_policy(detail::access::data(rules)->compiled);
    const auto ask = [&](std::string_view clock) {
        return look({"COLIMIT.CHECK", "1", "k", bytes, "nonce", clock, "0", ""});
    };
    BOOST_TEST(ask("@1795000000000000").text.starts_with("ERR colimit.check: clock: "));
    BOOST_TEST(look.keys().empty());

    BOOST_TEST(!redis::resp::is_error(ask("").kind)); // propagated with `@` and its time
    BOOST_TEST(look.must({"WAIT", "1", "60000"}).integer == 1);
    BOOST_TEST((look.get("k") == copy.get("k")));
    BOOST_TEST(look.must({"PEXPIRETIME", "k"}).integer == copy.must({"PEXPIRETIME", "k"}).integer);
}

/// Redis 6.2 does not know how many arguments the commands of a module have. For this module every
/// server is like it: it looks for the function that tells under a name that no server has.
BOOST_AUTO_TEST_CASE(commands_without_arguments_are_refused_where_the_server_does_not_count_them) {
    auto words = test::with_server_module();
    auto original = std::ifstream{words.back(), std::ios::binary};
    auto bytes = std::string{std::istreambuf_iterator<char>{original}, {}};
    const auto name = bytes.find("RedisModule_SetCommandInfo");
    BOOST_TEST_REQUIRE(name != std::string::npos);
    bytes[name] = '?';
    const auto folder = test::fresh_folder{};
    words.back() = folder.path() + "/colimit.so";
    std::ofstream{words.back(), std::ios::binary} << bytes;
    std::filesystem::permissions(words.back(), std::filesystem::perms::owner_all);

    const auto server = test::redis_server{{.arguments = words}};
    auto look = server.connect();
    for (const auto* command : {"COLIMIT.CHECK", "COLIMIT.SEEN", "COLIMIT.ALLOW", "CL.THROTTLE"}) {
        const auto r = look({command});
        BOOST_TEST(r.is_error());
        BOOST_TEST(r.text.find(": arguments: ") != std::string::npos, r.text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
