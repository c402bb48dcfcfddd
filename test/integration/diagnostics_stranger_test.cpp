// SPDX-License-Identifier: BSL-1.0
//
// last_error for servers over TLS, and for certificates.

#include <support/problems.hpp>

#include <support/live_limiter.hpp>
#include <support/scripted_peer.hpp>
#include <support/tls_server.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/redirect_error.hpp>

#include <chrono>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(diagnostics_of_strangers)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::check_last;
using test::has;
using test::last_of;
using test::live;
using test::until_reported;

const auto rules = policy{"p", gcra(100, 1h)};

} // namespace

BOOST_AUTO_TEST_CASE(a_plain_connection_to_a_tls_server_is_a_bad_reply) {
    auto server = test::tls_server{};
    for (const auto resp : {2, 3}) {
        auto l =
            live{"redis://127.0.0.1:" + std::to_string(server.server.port()), [resp](config& c) {
                     c.advanced.reconnect_delay_max = 1h;
                     c.advanced.resp_version = resp;
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
                      c.advanced.connect_timeout = 200ms;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        co_await until_reported(l.limiter, "no connection within config::advanced.connect_timeout");
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
    say(fine, [](config& c) { c.tls.server_name = "other.example.org"; }, "ostname mismatch");
    say(fine, [](config& c) { c.tls.ca_file = {}; }, "certificate");
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

BOOST_AUTO_TEST_SUITE_END()
