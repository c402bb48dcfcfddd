// SPDX-License-Identifier: BSL-1.0
//
// What last_error and health say of servers that cannot be reached or refuse: the phase, and words
// that lead to the cause.

#include <boost/test/unit_test.hpp>

#include <support/live_limiter.hpp>
#include <support/scripted_peer.hpp>
#include <support/tcp_responder.hpp>
#include <support/tls_server.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(diagnostics)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;

const auto rules = policy{"p", gcra(100, 1h)};

[[nodiscard]] bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// The last problem, or one that no test expects.
[[nodiscard]] problem last_of(const limiter& l) {
    return l.last_error().value_or(problem{.code = errc::closed, .text = "no problem at all"});
}

void check_last(const limiter& l, errc code, phase where, std::string_view part) {
    const auto p = last_of(l);
    BOOST_TEST((p.code == code), to_string(p));
    BOOST_TEST(p.phase == where, to_string(p));
    BOOST_TEST(has(p.text, part), to_string(p));
    BOOST_TEST((p.first <= p.last));
    BOOST_TEST(p.count >= 1U);
}

/// Whether a denial names SETRANGE: in the words of servers since 7.2, or in what the handshake
/// found.
[[nodiscard]] bool names_setrange(std::string_view text) {
    return has(text, "the 'setrange' command") ||
           has(text, "; commands denied in the handshake: SETRANGE");
}

/// Waits until a problem with this text has been reported.
asio::awaitable<void> until_reported(const limiter& l, std::string_view part) {
    co_await test::until([&] { return has(last_of(l).text, part); });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_healthy_limiter_reports_no_problem) {
    auto server = test::redis_server{};
    for (const auto& address : {server.address(), std::string{"memory:"}}) {
        auto l = live{address};
        const auto before = std::chrono::system_clock::now();
        l.run([&]() -> asio::awaitable<void> {
            co_await l.limiter.ready();
            (void)co_await l.limiter.allow("k", rules);
        });
        BOOST_TEST(!l.limiter.last_error());
        BOOST_TEST(l.limiter.health().state == health_state::ready);
        BOOST_TEST((l.limiter.health().since <= std::chrono::system_clock::now()));
        BOOST_TEST((l.limiter.health().since >= before - 1min));
        l.limiter.close();
        BOOST_TEST(l.limiter.health().state == health_state::closed);
    }
}

BOOST_AUTO_TEST_CASE(a_name_that_does_not_resolve_is_named) {
    auto l = live{"redis://no-such-host.invalid:6379"};
    l.run([&]() -> asio::awaitable<void> {
        co_await until_reported(l.limiter, "no-such-host.invalid: Host not found");
    });
    check_last(l.limiter, errc::unavailable, phase::resolve, "no-such-host.invalid");
    BOOST_TEST(l.limiter.health().state != health_state::ready);
}

BOOST_AUTO_TEST_CASE(a_password_that_stands_where_the_port_would_is_not_shown) {
    auto l = live{"redis://no-such-user.invalid:31415"}; // @host was forgotten
    l.run([&]() -> asio::awaitable<void> { co_await until_reported(l.limiter, "not found"); });
    BOOST_TEST(!has(last_of(l.limiter).text, "31415"), last_of(l.limiter));
}

BOOST_AUTO_TEST_CASE(a_port_without_a_server_is_named_and_attempts_are_counted) {
    auto l = live{"redis://127.0.0.1:1", [](config& c) { c.reconnect_most = 20ms; }};
    BOOST_TEST(l.limiter.health().state == health_state::connecting);
    l.run([&]() -> asio::awaitable<void> {
        co_await test::until([&] { return last_of(l.limiter).count >= 6; });
        co_await test::until([&] { return l.limiter.health().state == health_state::degraded; });
    });
    check_last(l.limiter, errc::unavailable, phase::connect, "127.0.0.1:1: Connection refused");
    BOOST_TEST((l.limiter.health().last_problem.value().first < last_of(l.limiter).last));
}

BOOST_AUTO_TEST_CASE(a_wrong_password_is_reported_without_the_password) {
    auto server = test::redis_server{{.arguments = {"--requirepass", "right-one"}}};
    for (const auto resp : {2, 3}) {
        auto l =
            live{"unix://wrong-secret@" + server.socket(), [resp](config& c) { c.resp = resp; }};
        l.run([&]() -> asio::awaitable<void> {
            const auto ec = co_await l.ready();
            BOOST_TEST((ec == errc::auth_failed));
        });
        check_last(l.limiter, errc::auth_failed, phase::handshake, "WRONGPASS");
        BOOST_TEST(!has(last_of(l.limiter).text, "wrong-secret"));
        BOOST_TEST(l.limiter.health().state == health_state::refused);
    }
    auto l = live{server.address()};
    l.run([&]() -> asio::awaitable<void> { (void)co_await l.ready(); });
    check_last(l.limiter, errc::auth_failed, phase::handshake, "NOAUTH");
}

BOOST_AUTO_TEST_CASE(an_old_server_that_repeats_the_arguments_reveals_no_password) {
    auto context = asio::io_context{1};
    auto peer =
        test::scripted_peer{context, [](test::peer_connection& c) -> asio::awaitable<void> {
                                (void)co_await c.next();
                                co_await c.send("-NOPERM `HELLO` hidden-secret, with args "
                                                "beginning with: `3` `AUTH` `hidden-se\r\n");
                                (void)co_await c.next();
                            }};
    auto settings = config{};
    settings.server = "unix://hidden-secret@" + peer.address().substr(5);
    auto l = limiter{context.get_executor(), settings};
    test::run(context, [&]() -> asio::awaitable<void> { co_await until_reported(l, "NOPERM"); });
    BOOST_TEST(last_of(l).text == "NOPERM `HELLO` ***,");
}

/// What is reported of a server that is not Redis and says this.
[[nodiscard]] std::string report_of(const std::string& sentence, const std::string& credentials) {
    auto context = asio::io_context{1};
    auto stranger = test::tcp_responder{context, sentence};
    auto settings = config{};
    settings.server = "redis://" + credentials + "@" + stranger.address("redis").substr(8);
    auto l = limiter{context.get_executor(), settings};
    test::run(context,
              [&]() -> asio::awaitable<void> { co_await until_reported(l, "it replied:"); });
    return last_of(l).text;
}

BOOST_AUTO_TEST_CASE(a_stranger_that_repeats_what_it_was_sent_reveals_no_password) {
    const auto user = std::string(88, 'u');
    const auto long_one = report_of("500 " + user + " hunter2-secret: command not understood\r\n",
                                    user + ":hunter2-secret");
    BOOST_TEST(has(long_one, user + " ***: command not understood"), long_one);
    BOOST_TEST(has(report_of("500 ab:\r\n", "ann:ab"), "(left out: "));
    BOOST_TEST(has(report_of("500 /hunter2%2Dsecret\r\n", "hunter2-secret"), " 500 /***"));
    BOOST_TEST(has(report_of("500 hunter2-sec", "hunter2-secret"), " 500 ***"));
}

BOOST_AUTO_TEST_CASE(a_binary_greeting_is_quoted_beyond_its_first_zero) {
    const auto text = report_of(std::string{"\0\0\x12\4\0http2 settings", 19}, "hunter2");
    BOOST_TEST(has(text, "it replied: \\x00\\x00\\x12\\x04\\x00http2 settings"), text);
}

BOOST_AUTO_TEST_CASE(error_replies_to_calls_are_reported_in_the_words_of_the_server) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{server.address()};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        look.must({"CONFIG", "SET", "maxmemory", "1"});
        for (auto i = 0; i < 3; ++i) {
            const auto [ec, d] = co_await l.allow("k", rules);
            BOOST_TEST((ec == errc::server_error));
        }
        BOOST_TEST(last_of(l.limiter).count == 3U);
        look.must({"CONFIG", "SET", "maxmemory", "0"});
        co_await l.limiter.allow("k", rules);
    });
    check_last(l.limiter, errc::server_error, phase::script, "OOM command not allowed");
    BOOST_TEST(l.limiter.health().state == health_state::ready);
}

BOOST_AUTO_TEST_CASE(error_replies_in_transaction_mode_are_reported) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{server.address(), [](config& c) { c.mode = mode::transaction; }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        look.must({"CONFIG", "SET", "maxmemory", "1"});
        const auto [ec, d] = co_await l.allow("k", policy{"log", sliding_log(5, 1h)});
        BOOST_TEST((ec == errc::server_error));
    });
    check_last(l.limiter, errc::server_error, phase::reply, "OOM command not allowed");
}

BOOST_AUTO_TEST_CASE(a_foreign_value_is_reported) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{server.address()};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.allow("k", rules);
        const auto name = look.keys().at(0);
        look.must({"DEL", name});
        look.must({"RPUSH", name, "x"});
        const auto [ec, d] = co_await l.allow("k", rules);
        BOOST_TEST((ec == errc::key_conflict));
    });
    check_last(l.limiter, errc::key_conflict, phase::script, "another type");
}

BOOST_AUTO_TEST_CASE(a_lost_connection_and_a_silent_server_are_reported) {
    auto server = test::redis_server{};
    auto l = live{server.address(), [](config& c) { c.timeout = 50ms; }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        server.stop();
        (void)co_await l.allow("k", rules);
        check_last(l.limiter, errc::unavailable, phase::reply, "did not reply within");
        server.cont();
        co_await l.until_it_works("k", rules);
        server.kill();
        co_await until_reported(l.limiter, "the connection was lost");
        co_await until_reported(l.limiter, server.socket() + ": Connection refused");
    });
}

// Servers that are not Redis, or not with TLS

namespace {

void check_stranger(const std::string& sentence, bool greets, const std::string& scheme,
                    phase where, std::string_view words) {
    auto context = asio::io_context{1};
    auto stranger = test::tcp_responder{context, sentence, greets};
    for (const auto instead : {failure_mode::local, failure_mode::allow, failure_mode::error}) {
        auto settings = config{};
        settings.server = stranger.address(scheme);
        settings.on_failure = instead;
        settings.timeout = 10s;
        settings.connect_timeout = 10s;
        settings.reconnect_most = 1h; // the call does not wait for the next attempt
        auto l = limiter{context.get_executor(), settings};
        test::run(context, [&]() -> asio::awaitable<void> {
            auto ec = error_code{};
            co_await l.ready(asio::redirect_error(asio::use_awaitable, ec));
            BOOST_TEST((ec == errc::bad_reply), ec.message());
            const auto [call, d] = co_await l.allow("k", rules, asio::as_tuple(asio::deferred));
            BOOST_TEST((call == errc::bad_reply), call.message());
            BOOST_TEST((call == condition::fix_the_cause));
        });
        check_last(l, errc::bad_reply, where, words);
        BOOST_TEST(l.health().state == health_state::refused);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_server_that_is_not_redis_is_a_bad_reply_in_every_failure_mode) {
    const auto http = std::string{"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"};
    check_stranger(http, false, "redis", phase::handshake, "HTTP/1.1 400 Bad Request");
    check_stranger("<!DOCTYPE HTML>\r\n", false, "redis", phase::handshake, "<!DOCTYPE HTML>");
    check_stranger("220 mail.example.org ESMTP\r\n", true, "redis", phase::handshake, "220 mail");
    check_stranger("SSH-2.0-OpenSSH_9.2\r\n", true, "redis", phase::handshake, "SSH-2.0");
    check_stranger("+OK POP3 ready\r\n", true, "redis", phase::handshake, "+OK POP3");
    check_stranger(http, false, "rediss", phase::tls, "HTTP/1.1 400 Bad Request");
    check_stranger("SSH-2.0-OpenSSH_9.2\r\n", true, "rediss", phase::tls, "does not speak TLS");
}

BOOST_AUTO_TEST_CASE(tls_against_a_plain_server_is_a_bad_reply) {
    auto server = test::redis_server{{.tcp = true}};
    for (const std::string arguments : {"", "secret"}) {
        if (!arguments.empty())
            server.connect().must({"CONFIG", "SET", "requirepass", arguments});
        auto l = live{"rediss://127.0.0.1:" + std::to_string(server.port()),
                      [](config& c) { c.reconnect_most = 1h; }};
        l.run([&]() -> asio::awaitable<void> {
            const auto ec = co_await l.ready();
            BOOST_TEST((ec == errc::bad_reply), ec.message());
        });
        check_last(l.limiter, errc::bad_reply, phase::tls, "does not speak TLS; it replied: -");
    }
}

BOOST_AUTO_TEST_CASE(a_plain_connection_to_a_tls_server_is_a_bad_reply) {
    auto server = test::tls_server{};
    for (const auto resp : {2, 3}) {
        auto l =
            live{"redis://127.0.0.1:" + std::to_string(server.server.port()), [resp](config& c) {
                     c.reconnect_most = 1h;
                     c.resp = resp;
                 }};
        l.run([&]() -> asio::awaitable<void> {
            const auto ec = co_await l.ready();
            BOOST_TEST((ec == errc::bad_reply), ec.message());
        });
        check_last(l.limiter, errc::bad_reply, phase::handshake, "use a rediss:// address");
    }
}

BOOST_AUTO_TEST_CASE(a_silent_server_behind_tls_is_unavailable_and_no_stranger) {
    auto server = test::tls_server{};
    server.server.stop(); // the kernel takes connections and bytes
    auto l = live{server.address(), [&](config& c) {
                      server.trusted()(c);
                      c.connect_timeout = 200ms;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        co_await until_reported(l.limiter, "no connection within config::connect_timeout");
        check_last(l.limiter, errc::unavailable, phase::tls, "127.0.0.1");
        server.server.cont();
        co_await l.until_it_works("k", rules);
    });
}

BOOST_AUTO_TEST_CASE(a_certificate_that_is_not_accepted_is_explained) {
    const auto say = [](const test::tls_server& server, auto adjust, std::string_view words) {
        auto l = live{server.address(), [&](config& c) {
                          server.trusted()(c);
                          adjust(c);
                      }};
        l.run([&]() -> asio::awaitable<void> {
            const auto ec = co_await l.ready();
            BOOST_TEST((ec == errc::untrusted_server), ec.message());
        });
        check_last(l.limiter, errc::untrusted_server, phase::tls, words);
    };
    const auto expired = test::tls_server{{.from = -48h, .until = -24h}};
    say(expired, [](config&) {}, "certificate has expired");
    const auto fine = test::tls_server{};
    say(fine, [](config& c) { c.tls.name = "other.example.org"; }, "ostname mismatch");
    say(fine, [](config& c) { c.tls.authorities = {}; }, "certificate");
}

BOOST_AUTO_TEST_CASE(a_missing_client_certificate_is_explained) {
    const auto server = test::tls_server{{}, {}, true};
    auto l = live{server.address(), server.trusted()};
    l.run([&]() -> asio::awaitable<void> {
        const auto ec = co_await l.ready();
        BOOST_TEST((ec == errc::auth_failed), ec.message());
    });
    BOOST_TEST(has(last_of(l.limiter).text, "certificate required"), to_string(last_of(l.limiter)));
}

// Permissions

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
    for (const auto how : {mode::script, mode::transaction}) {
        auto seen = std::vector<event>{};
        auto l = live{"unix://ann:pw@" + server.socket(), [&](config& c) {
                          c.mode = how;
                          c.on_failure = failure_mode::local;
                          c.on_event = [&](const event& e) { seen.push_back(e); };
                      }};
        l.run([&]() -> asio::awaitable<void> {
            const auto ec = co_await l.ready();
            BOOST_TEST(!ec, ec.message());
            check_last(l.limiter, errc::auth_failed, phase::handshake, "may not access the key");
            const auto [fine, d] = co_await l.allow("k", log);
            BOOST_TEST(!fine, fine.message());
            BOOST_TEST((d.origin == origin::store));
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
    const auto check = [](mode how, const std::vector<std::string>& renamed,
                          std::string_view words) {
        auto settings = test::redis_server_options{};
        for (const auto& command : renamed)
            settings.arguments.insert(settings.arguments.end(),
                                      {"--rename-command", command, "x" + command});
        auto server = test::redis_server{settings};
        auto l = live{server.address(), [how](config& c) {
                          c.mode = how;
                          c.on_failure = failure_mode::local;
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
    check(mode::script, {"EVALSHA", "EVAL"}, "unknown command 'EVALSHA'");
    check(mode::script, {"EVALSHA", "SCRIPT"}, "unknown command");
    check(mode::script, {"MGET", "SET"}, "MGET SET");
    check(mode::transaction, {"MULTI"}, "unknown command 'MULTI'");
    check(mode::transaction, {"ZADD"}, "unknown command 'ZADD'");
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
                              c.mode = mode::transaction;
                              c.resp = resp;
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
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"ACL",        "SETUSER", "plain",  "on",       ">pw",
               "~colimit:*", "-@all",   "+hello", "+echo",    "+client|id",
               "+time",      "+multi",  "+exec",  "+zadd",    "+zremrangebyscore",
               "+zrevrange", "+zcount", "+pttl",  "+pexpire", "+zrem"});
    auto l =
        live{"unix://plain:pw@" + server.socket(), [](config& c) { c.mode = mode::transaction; }};
    l.run([&]() -> asio::awaitable<void> {
        const auto ec = co_await l.ready();
        BOOST_TEST(!ec, ec.message());
        BOOST_TEST(look.dbsize() == 0);
        for (const auto* command : {"zadd", "pexpire", "zcount"})
            BOOST_TEST(test::calls_of(look, command) == 0, command << " was executed");
        auto d = co_await l.limiter.allow("k", log);
        BOOST_TEST(d.allowed());
        d = co_await l.limiter.allow("k", log);
        BOOST_TEST(!d.allowed());
    });
    BOOST_TEST(!l.limiter.last_error());
}

BOOST_AUTO_TEST_CASE(a_read_only_server_is_ready_for_transactions_until_a_call_was_refused) {
    const auto log = policy{"log", sliding_log(1, 1h)};
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"REPLICAOF", "127.0.0.1", "1"});
    auto l = live{server.address(), [](config& c) {
                      c.mode = mode::transaction;
                      c.reconnect_most = 10ms;
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
                          c.mode = mode::transaction;
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

// Read-only servers

BOOST_AUTO_TEST_CASE(a_read_only_server_opens_the_breaker_and_is_used_when_it_is_writable) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{server.address(), [](config& c) { c.reconnect_most = 10ms; }};
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

// Events

namespace {

[[nodiscard]] int count(const std::vector<event>& all, event_kind kind) {
    return static_cast<int>(std::ranges::count(all, kind, &event::kind));
}

} // namespace

BOOST_AUTO_TEST_CASE(an_outage_is_told_by_its_events_in_order) {
    using enum event_kind;
    auto server = test::redis_server{};
    for (const auto threads : {false, true}) {
        auto seen = std::vector<event>{};
        auto l = live{server.address(), [&](config& c) {
                          c.on_failure = failure_mode::local;
                          c.reconnect_most = 10ms;
                          c.timeout = 100ms;
                          c.thread_safe = threads;
                          c.on_event = [&](const event& e) { seen.push_back(e); };
                      }};
        BOOST_TEST(seen.empty()); // nothing is called from within
        l.run([&]() -> asio::awaitable<void> {
            co_await l.limiter.ready();
            (void)co_await l.allow("k", rules);
            co_await test::until([&] { return count(seen, script_loaded) == 1; });
            BOOST_TEST(count(seen, connected) == 1);
            server.kill();
            co_await test::until([&] { return count(seen, breaker_opened) == 1; });
            const auto [ec, d] = co_await l.allow("k", rules);
            BOOST_TEST((d.origin == origin::fallback));
            co_await test::until([&] { return count(seen, fallback_started) == 1; });
            server.start();
            co_await test::until([&] { return count(seen, breaker_closed) == 1; });
            co_await test::until([&] { return count(seen, connected) == 2; });
            auto by_server = false;
            while (!by_server) {
                const auto [fine, now] = co_await l.allow("k", rules);
                by_server = now.origin == origin::store;
            }
            co_await test::until([&] { return count(seen, fallback_ended) == 1; });
        });
        BOOST_TEST(count(seen, disconnected) == 1);
        BOOST_TEST(count(seen, fallback_started) == 1);
        BOOST_TEST(count(seen, permission_denied) == 0);
        const auto at = [&](event_kind kind) {
            return std::ranges::find(seen, kind, &event::kind);
        };
        BOOST_TEST((at(disconnected) < at(breaker_opened)));
        BOOST_TEST((at(breaker_opened) < at(fallback_started)));
        BOOST_TEST((at(fallback_started) < at(breaker_closed)));
        BOOST_TEST((at(breaker_closed) < at(fallback_ended)));
        BOOST_TEST(has(to_string(*at(disconnected)), "the connection was lost"));
        BOOST_TEST(has(to_string(*at(breaker_opened)), "Connection refused"));
        BOOST_TEST(std::ranges::is_sorted(seen, {}, &event::at));
    }
}

BOOST_AUTO_TEST_CASE(a_denied_command_is_an_event_once) {
    auto server = test::redis_server{};
    server.connect().must({"ACL", "SETUSER", "ann", "on", ">pw", "~*", "+@all", "-setrange"});
    auto seen = std::vector<event>{};
    auto l = live{"unix://ann:pw@" + server.socket(),
                  [&](config& c) { c.on_event = [&](const event& e) { seen.push_back(e); }; }};
    l.run([&]() -> asio::awaitable<void> {
        for (auto i = 0; i < 3; ++i)
            (void)co_await l.allow("k", rules);
        co_await test::until([&] { return count(seen, event_kind::permission_denied) != 0; });
        (void)co_await l.allow("k", rules);
    });
    BOOST_TEST(count(seen, event_kind::permission_denied) == 1);
    BOOST_TEST(names_setrange(to_string(seen.back())), seen.back());
}

BOOST_AUTO_TEST_CASE(an_event_may_use_close_and_destroy_the_limiter_and_may_throw) {
    auto server = test::redis_server{};
    auto context = asio::io_context{1};
    auto l = std::unique_ptr<limiter>{};
    auto settings = config{};
    settings.server = server.address();
    settings.on_event = [&](const event& e) {
        if (e.kind != event_kind::connected)
            return;
        BOOST_TEST(l->health().state == health_state::ready);
        l->allow("k", rules, [](error_code ec, const decision&) {
            BOOST_TEST((ec == errc::closed), ec.message());
        });
        l.reset();
        throw std::runtime_error{"from an event"};
    };
    l = std::make_unique<limiter>(context.get_executor(), settings);
    BOOST_CHECK_THROW(context.run(), std::runtime_error);
    context.run(); // and goes on to its end
    BOOST_TEST(!l);
}

BOOST_AUTO_TEST_SUITE_END()
