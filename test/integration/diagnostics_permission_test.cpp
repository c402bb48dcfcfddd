// SPDX-License-Identifier: BSL-1.0
//
// last_error for commands and keys that the user may not use, and for read-only servers.

#include <support/problems.hpp>

#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(diagnostics_of_permissions)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::check_last;
using test::has;
using test::last_of;
using test::live;
using test::names_setrange;
using test::until_reported;

const auto rules = policy{"p", gcra(100, 1h)};

} // namespace

BOOST_AUTO_TEST_CASE(a_user_without_a_command_that_every_check_needs_is_refused_by_name) {
    auto server = test::redis_server{};
    auto look = server.connect();
    const auto add = [&](std::string_view name, std::string_view keys, std::string_view minus) {
        look.must({"ACL", "SETUSER", name, "on", ">pw", keys, "+@all", minus});
    };
    add("notime", "~*", "-time");
    add("nomget", "~*", "-mget");
    add("noevalsha", "~*", "-evalsha");
    add("noscript", "~*", "-script");
    add("noset", "~*", "-set");
    add("otherkeys", "~colimit:{*}:p:*", "-set"); // commands are checked for any keys
    const auto refused = [&](const std::string& user, std::string_view words) {
        for (const auto instead : {failure_mode::local, failure_mode::error}) {
            auto l = live{"unix://" + user + ":pw@" + server.socket(),
                          [instead](config& c) { c.on_failure = instead; }};
            l.run([&]() -> asio::awaitable<void> {
                auto ec = co_await l.ready();
                BOOST_TEST((ec == errc::auth_failed), ec.message());
            });
            check_last(l.limiter, errc::auth_failed, phase::handshake, words);
            BOOST_TEST(l.limiter.health().state == health_state::refused);
        }
    };
    refused("notime", "no permissions to run TIME");
    refused("nomget", "no permissions to run MGET");
    refused("noevalsha", "'evalsha'");
    refused("noscript", "'script|load'");
    refused("noset", "no permissions to run SET");
    refused("otherkeys", "no permissions to run SET");
    BOOST_TEST(look.dbsize() == 0);
}

BOOST_AUTO_TEST_CASE(a_user_with_just_the_rights_that_checks_need_is_ready) {
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"ACL", "SETUSER", "plain", "on", ">pw", "~colimit:*", "-@all", "+hello",
               "+script|load", "+evalsha", "+time", "+mget", "+set", "+setrange", "+select"});
    auto l = live{"unix://plain:pw@" + server.socket()};
    l.run([&]() -> asio::awaitable<void> {
        const auto ec = co_await l.ready();
        BOOST_TEST(!ec, ec.message());
        const auto d = co_await l.limiter.allow("k", rules);
        BOOST_TEST(d.remaining == 99);
    });
    BOOST_TEST(!l.limiter.last_error());
}

/// Two policies of which the user may use one. With scripts and without.
BOOST_AUTO_TEST_CASE(a_user_who_may_access_the_keys_of_some_policies_only_can_use_these) {
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"ACL", "SETUSER", "ann", "on", ">pw", "~colimit:{*}:log:*", "+@all"});
    const auto log = policy{"log", sliding_log(5, 1h)};
    const auto other = policy{"other", sliding_log(5, 1h)};
    for (const auto how : {execution_mode::script, execution_mode::multi}) {
        auto seen = std::vector<event>{};
        auto l = live{"unix://ann:pw@" + server.socket(), [&](config& c) {
                          c.advanced.mode = how;
                          c.on_failure = failure_mode::local;
                          c.on_event = [&](const event& e) { seen.push_back(e); };
                      }};
        l.run([&]() -> asio::awaitable<void> {
            const auto ec = co_await l.ready();
            BOOST_TEST(!ec, ec.message());
            check_last(l.limiter, errc::auth_failed, phase::handshake, "may not access the key");
            const auto [fine, d] = co_await l.allow("k", log);
            BOOST_TEST(!fine, fine.message());
            BOOST_TEST((d.source == decision_source::store));
            BOOST_TEST(std::ranges::count(seen, event_kind::permission_denied, &event::kind) == 0);
            const auto [denied, none] = co_await l.allow("k", other);
            BOOST_TEST((denied == errc::auth_failed), denied.message());
            BOOST_TEST(l.limiter.health().state == health_state::ready);
        });
        const auto text = last_of(l.limiter).text;
        BOOST_TEST((has(text, "access one of the keys") || has(text, "access a key")), text);
    }
}

BOOST_AUTO_TEST_CASE(a_server_on_which_a_needed_command_was_renamed_is_refused_by_name) {
    const auto check = [](execution_mode how, const std::vector<std::string>& renamed,
                          std::string_view words) {
        auto settings = test::redis_server_options{};
        for (const auto& command : renamed)
            settings.arguments.insert(settings.arguments.end(),
                                      {"--rename-command", command, "x" + command});
        auto server = test::redis_server{settings};
        auto l = live{server.address(), [how](config& c) {
                          c.advanced.mode = how;
                          c.on_failure = failure_mode::local;
                          test::give_up_early(c);
                      }};
        l.run([&]() -> asio::awaitable<void> {
            const auto ec = co_await l.ready();
            BOOST_TEST((ec == errc::auth_failed), ec.message());
            const auto [denied, d] = co_await l.allow("k", policy{"log", sliding_log(5, 1h)});
            BOOST_TEST((denied == errc::auth_failed), denied.message());
        });
        check_last(l.limiter, errc::auth_failed, phase::handshake, words);
        BOOST_TEST(l.limiter.health().state == health_state::refused);
    };
    check(execution_mode::script, {"EVALSHA", "EVAL"}, "unknown command 'EVALSHA'");
    check(execution_mode::script, {"EVALSHA", "SCRIPT"}, "unknown command");
    check(execution_mode::script, {"MGET", "SET"}, "MGET SET");
    check(execution_mode::multi, {"MULTI"}, "unknown command 'MULTI'");
    check(execution_mode::multi, {"ZADD"}, "unknown command 'ZADD'");
}

BOOST_AUTO_TEST_CASE(a_command_that_an_acl_denies_within_a_script_is_named) {
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"ACL", "SETUSER", "ann", "on", ">pw", "~*", "+@all", "-setrange"});
    auto l = live{"unix://ann:pw@" + server.socket()};
    l.run([&]() -> asio::awaitable<void> {
        const auto ec = co_await l.ready();
        BOOST_TEST(!ec, ec.message());
        const auto first = co_await l.limiter.allow("k", rules); // by SET
        BOOST_TEST(first.allowed());
        const auto [denied, d] = co_await l.allow("k", rules);
        BOOST_TEST((denied == errc::auth_failed), denied.message());
    });
    check_last(l.limiter, errc::auth_failed, phase::script, "");
    BOOST_TEST(names_setrange(last_of(l.limiter).text), last_of(l.limiter));
}

BOOST_AUTO_TEST_CASE(a_user_without_a_command_that_transactions_need_is_refused_by_name) {
    auto server = test::redis_server{};
    auto look = server.connect();
    const auto refused = [&](std::string_view keys, std::string_view minus,
                             std::string_view words) {
        look.must({"ACL", "SETUSER", "ann", "reset", "on", ">pw", keys, "+@all", minus});
        for (const auto resp : {2, 3}) {
            auto l = live{"unix://ann:pw@" + server.socket(), [resp](config& c) {
                              c.advanced.mode = execution_mode::multi;
                              c.advanced.resp_version = resp;
                          }};
            l.run([&]() -> asio::awaitable<void> {
                const auto ec = co_await l.ready();
                BOOST_TEST((ec == errc::auth_failed), ec.message());
            });
            check_last(l.limiter, errc::auth_failed, phase::handshake, words);
            BOOST_TEST(l.limiter.health().state == health_state::refused);
        }
    };
    for (const std::string command : {"multi", "exec", "zadd", "zremrangebyscore", "zrevrange",
                                      "zcount", "pttl", "pexpire", "zrem", "time", "echo"})
        refused("~*", "-" + command, "'" + command + "'");
    refused("~*", "-multi", "; denied commands: MULTI");
    refused("~*", "-@sortedset", "; denied commands: ZREMRANGEBYSCORE ZREVRANGE ZADD ZCOUNT ZREM");
    refused("~colimit:{*}:p:*", "-zadd", "; denied commands: ZADD");
    BOOST_TEST(look.dbsize() == 0);
}

BOOST_AUTO_TEST_CASE(a_user_with_just_the_rights_that_transactions_need_is_ready) {
    const auto log = policy{"log", sliding_log(1, 1h)};
    const auto window = policy{"window", fixed_window(1, 1h).from_first()};
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"ACL",        "SETUSER", "plain",  "on",       ">pw",
               "~colimit:*", "-@all",   "+hello", "+echo",    "+client|id",
               "+time",      "+multi",  "+exec",  "+zadd",    "+zremrangebyscore",
               "+zrevrange", "+zcount", "+pttl",  "+pexpire", "+zrem"});
    auto l = live{"unix://plain:pw@" + server.socket(),
                  [](config& c) { c.advanced.mode = execution_mode::multi; }};
    l.run([&]() -> asio::awaitable<void> {
        const auto ec = co_await l.ready();
        BOOST_TEST(!ec, ec.message());
        BOOST_TEST(look.dbsize() == 0);
        for (const auto* command : {"zadd", "pexpire", "zcount", "set", "incrby"})
            BOOST_TEST(test::calls_of(look, command) == 0, command << " was executed");
        auto d = co_await l.limiter.allow("k", log);
        BOOST_TEST(d.allowed());
        d = co_await l.limiter.allow("k", log);
        BOOST_TEST(!d.allowed());
        BOOST_TEST(!l.limiter.last_error());
        const auto [denied, none] = co_await l.allow("k", window);
        BOOST_TEST((denied == errc::auth_failed));
        look.must(
            {"ACL", "SETUSER", "plain", "+set", "+incrby", "+decrby", "+pexpireat", "+renamenx"});
        d = co_await l.limiter.allow("k", window);
        BOOST_TEST(d.allowed());
        d = co_await l.limiter.allow("k", window);
        BOOST_TEST(!d.allowed());
        co_await test::until([&] { return test::calls_of(look, "decrby") == 1; });
        BOOST_TEST(look.dbsize() == 2);
    });
}

BOOST_AUTO_TEST_CASE(
    a_command_that_is_denied_after_the_handshake_is_told_from_those_denied_before) {
    auto server = test::redis_server{};
    auto look = server.connect();
    for (const std::string command : {"setrange", "mget", "time", "evalsha"}) {
        look.must({"ACL", "SETUSER", "ann", "reset", "on", ">pw", "~*", "+@all", "-pfadd"});
        auto l = live{"unix://ann:pw@" + server.socket()};
        l.run([&]() -> asio::awaitable<void> {
            co_await l.until_it_works("k", rules);
            look.must({"ACL", "SETUSER", "ann", "-" + command});
            const auto [ec, d] = co_await l.allow("k", rules);
            BOOST_TEST((ec == errc::auth_failed), ec.message());
        });
        const auto text = last_of(l.limiter).text;
        // Before 7.2 a server does not say which command a script may not run.
        if (has(text, "can't run this command"))
            BOOST_TEST(has(text, "; commands denied in the handshake: PFADD"), text);
        else
            BOOST_TEST((has(text, "'" + command + "'") && !has(text, "PFADD")), text);
    }
}

BOOST_AUTO_TEST_CASE(a_command_that_is_denied_after_the_handshake_is_named_without_scripts) {
    const auto log = policy{"log", sliding_log(5, 1h)};
    auto server = test::redis_server{};
    auto look = server.connect();
    for (const std::string command : {"multi", "exec", "zadd", "zcount", "pexpire"}) {
        look.must({"ACL", "SETUSER", "ann", "reset", "on", ">pw", "~*", "+@all"});
        auto causes = std::vector<problem>{};
        auto l = live{"unix://ann:pw@" + server.socket(), [&](config& c) {
                          c.advanced.mode = execution_mode::multi;
                          c.on_event = [&](const event& e) {
                              if (e.kind == event_kind::permission_denied)
                                  causes.push_back(e.cause.value());
                          };
                      }};
        l.run([&]() -> asio::awaitable<void> {
            co_await l.until_it_works("k", log);
            look.must({"ACL", "SETUSER", "ann", "-" + command});
            const auto [ec, d] = co_await l.allow("k", log);
            // Without MULTI the other commands are executed one by one.
            BOOST_TEST((ec == (command == "multi" ? errc::outcome_unknown : errc::auth_failed)),
                       ec.message());
            co_await test::until([&] { return !causes.empty(); });
        });
        check_last(l.limiter, errc::auth_failed, phase::reply, "'" + command + "'");
        BOOST_TEST(has(causes[0].text, "'" + command + "'"), causes[0]);
    }
}

BOOST_AUTO_TEST_CASE(a_command_that_is_denied_when_tokens_are_given_back_is_named) {
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"ACL", "SETUSER", "ann", "on", ">pw", "~*", "+@all", "-renamenx"});
    auto l = live{"unix://ann:pw@" + server.socket(),
                  [](config& c) { c.advanced.mode = execution_mode::multi; }};
    l.run([&]() -> asio::awaitable<void> {
        const auto window = policy{"window", fixed_window(1, 1h).from_first()};
        (void)co_await l.limiter.allow("k", window);
        (void)co_await l.limiter.allow("k", window);
        co_await test::until([&] { return l.limiter.last_error().has_value(); });
        (void)co_await l.limiter.peek("k", window);
    });
    check_last(l.limiter, errc::auth_failed, phase::reply, "'renamenx'");
}

BOOST_AUTO_TEST_CASE(a_read_only_server_is_ready_for_transactions_until_a_call_was_refused) {
    const auto log = policy{"log", sliding_log(1, 1h)};
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"REPLICAOF", "127.0.0.1", "1"});
    auto l = live{server.address(), [](config& c) {
                      c.advanced.mode = execution_mode::multi;
                      c.advanced.reconnect_delay_max = 10ms;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        const auto d = co_await l.limiter.peek("k", log);
        BOOST_TEST(d.remaining == 1);
        (void)co_await l.allow("k", log);
        co_await test::until([&] { return l.limiter.health().state == health_state::degraded; });
        check_last(l.limiter, errc::unavailable, phase::handshake, "READONLY");
        look.must({"REPLICAOF", "NO", "ONE"});
        co_await l.until_it_works("k", log);
    });
}

BOOST_AUTO_TEST_CASE(a_read_only_server_opens_the_breaker_and_is_used_when_it_is_writable) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{server.address(), [](config& c) { c.advanced.reconnect_delay_max = 10ms; }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        look.must({"REPLICAOF", "127.0.0.1", "1"});
        const auto served = l.limiter.statistics().reconnects;
        (void)co_await l.allow("k", rules);
        co_await test::until([&] {
            return l.limiter.health().state == health_state::degraded &&
                   last_of(l.limiter).count >= 10;
        });
        check_last(l.limiter, errc::unavailable, phase::handshake, "READONLY");
        BOOST_TEST(l.limiter.statistics().reconnects == served); // no connection was served
        BOOST_TEST(l.limiter.statistics().breaker_openings == 1U);
        look.must({"REPLICAOF", "NO", "ONE"});
        co_await l.until_it_works("k", rules);
        co_await test::until([&] { return l.limiter.health().state == health_state::ready; });
    });
}

BOOST_AUTO_TEST_CASE(a_read_only_server_can_be_peeked_at) {
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"REPLICAOF", "127.0.0.1", "1"});
    auto l = live{server.address()};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        const auto d = co_await l.limiter.peek("k", rules);
        BOOST_TEST(d.remaining == 100);
    });
    BOOST_TEST(!l.limiter.last_error());
}

BOOST_AUTO_TEST_SUITE_END()
