// SPDX-License-Identifier: BSL-1.0
//
// What a session demands of its server: to be a master, a Sentinel, or no Sentinel; and a server
// that moves to another address.

#include <support/unit_test.hpp>
#include <unit/session_bench.hpp>

#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(session_roles)

namespace {

using namespace colimit;
using redis::action;
using redis::server_role;
using redis::session_state;
using test::hello_reply;
using test::mode;
using test::session_bench;

[[nodiscard]] redis::session_settings settings(server_role role, int protocol = 3) {
    return {.role = role, .protocol = protocol, .executes_calls = role != server_role::sentinel};
}

constexpr std::string_view master = "*3\r\n$6\r\nmaster\r\n:1\r\n*0\r\n";
constexpr std::string_view replica =
    "*5\r\n$5\r\nslave\r\n$1\r\nh\r\n:6379\r\n$9\r\nconnected\r\n:1\r\n";

} // namespace

BOOST_AUTO_TEST_CASE(a_server_that_sentinel_has_named_is_used_if_it_says_that_it_is_a_master) {
    auto c = session_bench{settings(server_role::master)};
    c.open("HELLO 3; ROLE");
    c.hear({hello_reply});
    c.serve(master);
}

BOOST_AUTO_TEST_CASE(a_replica_is_left_after_the_shortest_pause_and_never_sees_a_script) {
    auto c = session_bench{settings(server_role::master)};
    c.open();
    c.fail({hello_reply, replica}, errc::unavailable,
           "the server is not a master, although Sentinel has named it");
    BOOST_TEST(c.session.wake_at().value() <= c.now + 10'000);
    BOOST_TEST(c.errors.codes.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_user_who_may_not_run_role_is_a_refusal) {
    auto c = session_bench{settings(server_role::master)};
    c.open();
    c.fail({hello_reply, "-NOPERM this user has no permissions to run the 'role' command\r\n"},
           errc::auth_failed);
}

BOOST_AUTO_TEST_CASE(a_sentinel_gets_hello_and_nothing_else) {
    auto c = session_bench{settings(server_role::sentinel)};
    c.open("HELLO 3");
    c.hear({mode("sentinel")}, action::serve);
    BOOST_TEST(c.session.script_loads() == 0U);
}

BOOST_AUTO_TEST_CASE(a_server_of_the_other_kind_is_refused_with_the_address_that_would_be_right) {
    constexpr std::string_view its_role = "*2\r\n$8\r\nsentinel\r\n*1\r\n$4\r\nmine\r\n";
    const auto refuses = [](const redis::session_settings& s, session_bench::texts replies,
                            std::string_view report) {
        auto c = session_bench{s};
        c.open();
        c.fail(replies, errc::bad_reply, report);
        BOOST_TEST(c.errors.codes.size() == 1U);
    };
    const auto as_sentinel = mode("sentinel");
    constexpr std::string_view right =
        "a Sentinel, whose address is redis+sentinel://host:port/master";
    refuses(settings(server_role::any), {as_sentinel}, right);
    refuses(settings(server_role::master), {as_sentinel, its_role}, right);
    refuses(settings(server_role::any, 2), {test::pong, test::info("sentinel")}, right);
    refuses(settings(server_role::master, 2), {master, test::info("sentinel")}, right);
    refuses(settings(server_role::sentinel), {mode("standalone")},
            "not a Sentinel but a server, whose address is redis://host:port");
    refuses(settings(server_role::sentinel), {mode("cluster")},
            "not a Sentinel but a node of a cluster, whose address is redis+cluster://host:port");
}

BOOST_AUTO_TEST_CASE(a_refusal_is_reported_once_if_the_server_lacks_the_other_commands) {
    auto c = session_bench{settings(server_role::master)};
    c.open();
    c.fail({mode("sentinel"), "-ERR unknown command 'ROLE'\r\n"}, errc::bad_reply);
    BOOST_TEST(c.errors.codes.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_sentinel_must_know_hello) {
    auto c = session_bench{settings(server_role::sentinel)};
    c.open();
    c.hear({test::no_hello}, action::disconnect);
}

BOOST_AUTO_TEST_CASE(a_server_without_a_mode_may_be_of_any_kind) {
    auto c = session_bench{settings(server_role::sentinel)};
    c.open();
    c.hear({hello_reply}, action::serve);
}

BOOST_AUTO_TEST_CASE(a_server_that_moves_is_connected_to_at_once) {
    auto c = session_bench{settings(server_role::master)};
    BOOST_TEST((c.session.moved(c.now) == action::nothing)); // it is not open yet
    BOOST_TEST((c.session.state() == session_state::idle));
    c.open();
    c.hear({hello_reply});
    c.serve(master);
    BOOST_TEST((c.session.moved(c.now) == action::disconnect));
    BOOST_TEST(c.session.wake_at().value() == c.now);
    BOOST_TEST((c.session.wake(c.now) == action::connect));
    BOOST_TEST((c.session.moved(c.now) == action::disconnect)); // while connecting
    (void)c.session.wake(c.now);
    for (auto i = 0; i < 10; ++i) { // the pauses grow
        c.lose();
        (void)c.wait();
    }
    (void)c.session.lost(c.now);
    BOOST_TEST((c.session.moved(c.now) == action::nothing)); // there is no connection
    BOOST_TEST((c.session.wake(c.now) == action::connect));
    (void)c.session.lost(c.now);
    BOOST_TEST(c.session.wake_at().value() <= c.now + 10'000); // they begin again
    c.session.close();
    BOOST_TEST((c.session.moved(c.now) == action::nothing));
}

BOOST_AUTO_TEST_CASE(nothing_that_is_known_of_a_server_is_expected_of_the_next_one) {
    auto old = session_bench{settings(server_role::master)};
    old.open();
    old.hear({"-NOPROTO unsupported protocol version\r\n", master}, action::send);
    (void)old.sent();
    BOOST_TEST((old.session.moved(old.now) == action::disconnect));
    BOOST_TEST(old.session.wake_at().value() == old.now);
    old.open_again("HELLO 3; ROLE");

    auto refused = session_bench{settings(server_role::master)};
    refused.open();
    BOOST_TEST(
        (refused.session.read_garbage(refused.now, "HTTP/1.1 400\r\n") == action::disconnect));
    BOOST_TEST(refused.session.is_refused());
    BOOST_TEST((refused.session.moved(refused.now) == action::nothing));
    BOOST_TEST(!refused.session.is_refused());

    auto demoted = session_bench{};
    demoted.make_ready();
    demoted.lose(redis::recovery::leave_read_only);
    BOOST_TEST((demoted.session.moved(demoted.now) == action::nothing));
    demoted.open_again();
    demoted.introduce();
    demoted.load(test::permissions("", "", "READONLY You can't wri"));
}

BOOST_AUTO_TEST_CASE(a_server_at_another_address_is_asked_for_tls_like_any_new_one) {
    const auto asks_for_tls = [](session_bench& c) {
        auto out = std::string{};
        BOOST_TEST((c.wait() == action::connect));
        BOOST_TEST((c.session.connected() == action::send));
        c.session.append_handshake(out);
        return out.starts_with("\x16\x03\x01");
    };
    const auto silence_until_asked = [&](session_bench& c) {
        auto losses = 0;
        do {
            c.lose(test::connection_reset);
            ++losses;
        } while (losses < 10 && !asks_for_tls(c));
        return losses;
    };
    const auto plain = redis::session_settings{.plain_tcp = true};
    auto ready = session_bench{plain}; // which then cannot be a TLS server
    ready.make_ready();
    (void)ready.session.moved(ready.now);
    BOOST_TEST(!asks_for_tls(ready));
    BOOST_TEST(silence_until_asked(ready) == 3);

    auto secure = session_bench{plain};
    secure.open();
    BOOST_TEST(silence_until_asked(secure) == 3);
    BOOST_TEST((secure.session.read_garbage(secure.now, "\x15\x03\x01") == action::disconnect));
    (void)secure.session.moved(secure.now);
    BOOST_TEST(!asks_for_tls(secure));

    auto silent = session_bench{plain};
    silent.open();
    for (auto i = 0; i < 2; ++i) {
        silent.lose(test::connection_reset);
        BOOST_TEST(!asks_for_tls(silent));
    }
    (void)silent.session.moved(silent.now);
    BOOST_TEST(!asks_for_tls(silent));
    BOOST_TEST(silence_until_asked(silent) == 3);
}

BOOST_AUTO_TEST_CASE(a_cluster_is_known_from_one_of_two_replies_and_for_one_connection) {
    auto c = session_bench{settings(server_role::any)};
    c.open();
    c.serve(mode("cluster"));
    BOOST_TEST(c.session.facts().is_cluster);
    c.lose();
    c.open_again();
    c.introduce(mode("standalone"));
    BOOST_TEST(!c.session.facts().is_cluster);

    auto both = session_bench{{.transactions = true}};
    both.open();
    (void)both.reply(mode("cluster"));
    both.reply_facts(); // INFO is empty
    BOOST_TEST((both.probe() == action::serve));
    BOOST_TEST(both.session.facts().is_cluster);
}

/// The connection is kept while the dataset is loaded.
BOOST_AUTO_TEST_CASE(a_loading_server_that_moves_is_disconnected) {
    auto c = session_bench{settings(server_role::master)};
    c.open();
    c.hear({hello_reply, test::loading});
    BOOST_TEST((c.session.moved(c.now) == action::disconnect));
    BOOST_TEST((c.session.wake(c.now) == action::connect));
}

BOOST_AUTO_TEST_CASE(calls_do_not_wait_for_an_address_that_is_refused) {
    auto c = session_bench{settings(server_role::master)};
    BOOST_TEST(c.session.earliest_ready_at() == 0);
    c.session.set_error(errc::invalid_config);
    BOOST_TEST(c.session.is_refused());
    BOOST_TEST(c.session.earliest_ready_at() > c.now);
    c.session.set_error(errc::unavailable);
    BOOST_TEST(c.session.earliest_ready_at() == 0);
    BOOST_TEST((c.session.start(c.now) == action::connect));
}

BOOST_AUTO_TEST_SUITE_END()
