// SPDX-License-Identifier: BSL-1.0
//
// last_error for servers that are not Redis, or do not use TLS.

#include <scenario/world.hpp>
#include <support/problems.hpp>
#include <support/tcp_responder.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(diagnostics_of_strangers)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using moment = test::tcp_responder::moment;

const auto rules = policy{"p", gcra(100, 1h)};

void check_stranger(const std::string& sentence, moment when, const std::string& scheme,
                    phase where, std::string_view words) {
    auto world = scenario::world{};
    auto& context = world.context;
    auto stranger = test::tcp_responder{context, sentence, when};
    for (const auto instead : {failure_mode::local, failure_mode::allow, failure_mode::error}) {
        auto settings = config{};
        settings.server = stranger.address(scheme);
        settings.on_failure = instead;
        settings.advanced.reconnect_delay_max = 1h; // the call does not wait for the next attempt
        auto l = limiter{context.get_executor(), settings};
        world.run([&]() -> asio::awaitable<void> {
            auto ec = error_code{};
            co_await l.ready(asio::redirect_error(asio::use_awaitable, ec));
            BOOST_TEST((ec == errc::bad_reply), ec.message());
            const auto [call, d] = co_await l.allow("k", rules, asio::as_tuple(asio::deferred));
            BOOST_TEST((call == errc::bad_reply), call.message());
            BOOST_TEST((call == condition::permanent));
            BOOST_TEST((world.now() <= 3s));
        });
        test::check_last(l, errc::bad_reply, where, words);
        BOOST_TEST(l.health().state == health_state::refused);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_server_that_is_not_redis_is_a_bad_reply_in_every_failure_mode) {
    const auto http = std::string{"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"};
    check_stranger(http, moment::after_bytes, "redis", phase::handshake,
                   "HTTP/1.1 400 Bad Request");
    check_stranger("<!DOCTYPE HTML>\r\n", moment::after_bytes, "redis", phase::handshake,
                   "<!DOCTYPE HTML>");
    check_stranger("220 mail.example.org ESMTP\r\n", moment::at_once, "redis", phase::handshake,
                   "220 mail");
    check_stranger("SSH-2.0-OpenSSH_9.2\r\n", moment::at_once, "redis", phase::handshake,
                   "SSH-2.0");
    check_stranger("+OK POP3 ready\r\n", moment::at_once, "redis", phase::handshake, "+OK POP3");
    check_stranger(http, moment::after_bytes, "rediss", phase::tls, "HTTP/1.1 400 Bad Request");
    check_stranger("SSH-2.0-OpenSSH_9.2\r\n", moment::at_once, "rediss", phase::tls,
                   "does not speak TLS");
}

BOOST_AUTO_TEST_SUITE_END()
