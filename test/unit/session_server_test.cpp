// SPDX-License-Identifier: BSL-1.0
//
// Kinds of servers in a session: Redis, a cluster, one that uses TLS, or another program.

#include <support/unit_test.hpp>
#include <unit/session_bench.hpp>

#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(session_servers)

namespace {

using namespace colimit;
using redis::action;
using test::connection_reset;
using test::session_bench;

} // namespace

BOOST_AUTO_TEST_CASE(the_first_reply_tells_a_stranger_and_a_later_one_does_not) {
    for (const std::string_view bytes : {"HTTP/1.1 400 Bad Request\r\n", "\x15\x03\x01", "220 x"}) {
        auto c = session_bench{};
        c.open();
        BOOST_TEST((c.session.read_garbage(c.now, bytes) == action::disconnect));
        BOOST_TEST((c.session.error() == errc::bad_reply));
        BOOST_TEST(c.session.is_refused());
    }
    auto popular = session_bench{};
    popular.open();
    popular.fail({"+OK POP3 ready\r\n"}, errc::bad_reply);

    auto known = session_bench{};
    known.open();
    known.introduce();
    BOOST_TEST((known.session.read_garbage(known.now, "HTTP/1.1 400\r\n") == action::disconnect));
    BOOST_TEST((known.session.error() == errc::unavailable));
}

BOOST_AUTO_TEST_CASE(a_port_that_closes_silently_is_asked_for_tls_until_it_has_been_ready) {
    const auto is_hello = [](std::string_view sent) { return sent.starts_with("\x16\x03\x01"); };
    const auto next = [](session_bench& c) {
        auto out = std::string{};
        BOOST_TEST((c.wait() == action::connect));
        BOOST_TEST((c.session.connected() == action::send));
        c.session.append_handshake(out);
        return out;
    };
    const auto next_after_loss = [&](session_bench& c) {
        c.lose(connection_reset);
        return next(c);
    };
    auto c = session_bench{{.plain_tcp = true}};
    c.open();
    for (auto i = 0; i < 2; ++i) // as a server does that is starting
        BOOST_TEST(!is_hello(next_after_loss(c)));
    BOOST_TEST(is_hello(next_after_loss(c)));
    // It speaks TLS, and is asked in this way until that ends.
    BOOST_TEST((c.session.read_garbage(c.now, "\x15\x03\x01") == action::disconnect));
    BOOST_TEST((c.session.error() == errc::bad_reply));
    BOOST_TEST(is_hello(next(c)));
    c.lose(connection_reset);
    BOOST_TEST((c.session.error() == errc::unavailable));

    // A plain server does not reply, which is no problem to report and is not tried again soon.
    auto plain = session_bench{{.plain_tcp = true}};
    plain.open();
    for (auto questions = 0, losses = 1; losses <= 19; ++losses) {
        if (is_hello(next_after_loss(plain))) {
            BOOST_TEST(losses == (questions++ == 0 ? 3 : 18));
            BOOST_TEST(plain.session.wake_at().value() == plain.now + 250'000);
            plain.now += 250'000;
            BOOST_TEST(!plain.session.is_too_late(plain.now));
            BOOST_TEST((plain.session.wake(plain.now) == action::disconnect));
            BOOST_TEST(!is_hello(next(plain)));
        }
        BOOST_TEST(questions == (losses < 3 ? 0 : losses < 18 ? 1 : 2));
    }

    auto silent = session_bench{{.plain_tcp = true}}; // a timeout is no reason
    silent.open();
    silent.now += 1'000'000;
    BOOST_TEST((silent.session.wake(silent.now) == action::disconnect));
    BOOST_TEST(!is_hello(next(silent)));

    // An attempt that came too late to connect asked nothing.
    auto slow = session_bench{{.plain_tcp = true}};
    slow.open();
    for (auto i = 0; i < 2; ++i)
        BOOST_TEST(!is_hello(next_after_loss(slow)));
    slow.lose(connection_reset);
    BOOST_TEST((slow.wait() == action::connect));
    BOOST_TEST((slow.wait() == action::disconnect));
    BOOST_TEST(!is_hello(next(slow)));
    for (auto i = 0; i < 2; ++i)
        BOOST_TEST(!is_hello(next_after_loss(slow)));
    BOOST_TEST(is_hello(next_after_loss(slow)));

    auto known = session_bench{{.plain_tcp = true}};
    known.make_ready();
    (void)next_after_loss(known);
    BOOST_TEST(!is_hello(next_after_loss(known)));
}

BOOST_AUTO_TEST_CASE(a_refusal_is_kept_when_the_server_closes_before_its_other_replies) {
    auto c = session_bench{{.database = 3}};
    c.open();
    c.hear({"-DENIED Redis is running in protected mode\r\n"});
    c.lose(connection_reset);
    BOOST_TEST((c.session.error() == errc::auth_failed));
}

BOOST_AUTO_TEST_CASE(a_cluster_is_told_by_hello_or_by_info) {
    auto c = session_bench{};
    c.open();
    c.introduce("%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$4\r\nmode\r\n$7\r\ncluster\r\n");
    BOOST_TEST(c.session.facts().is_cluster);
    auto alone = session_bench{};
    alone.open();
    alone.introduce("%2\r\n$6\r\nserver\r\n$7\r\ncluster\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n");
    BOOST_TEST(!alone.session.facts().is_cluster);
    for (const auto* const info : {"$30\r\n# Server\r\nredis_mode:cluster\r\n\r\n",
                                   "$31\r\n# Server\r\nserver_mode:cluster\r\n\r\n"}) { // Valkey
        auto old = session_bench{{.protocol = 2}};
        old.open();
        old.hear({test::pong});
        old.introduce(info);
        BOOST_TEST(old.session.facts().is_cluster);
    }
}

BOOST_AUTO_TEST_SUITE_END()
