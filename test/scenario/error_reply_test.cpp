// SPDX-License-Identifier: BSL-1.0
//
// Error replies that a single real server does not send: the error of the call, and that nothing is
// sent twice.

#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/scripted_peer.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <string>
#include <string_view>

BOOST_FIXTURE_TEST_SUITE(error_replies, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

const auto rules = policy{"p", gcra(100, 1h)};

/// Replies to the first script call with this error, and works afterwards. The outcome:
struct outcome_of {
    explicit outcome_of(const std::string& error) {
        auto context = asio::io_context{1};
        auto script = test::script_double{rules};
        auto peer =
            test::scripted_peer{context, [&](test::peer_connection& c) -> asio::awaitable<void> {
                                    co_await c.greet();
                                    if (c.number == 1) {
                                        const auto words = co_await c.next();
                                        nonce = test::script_call{words}.nonce;
                                        const auto bytes = "-" + error + "\r\n";
                                        co_await c.send(bytes);
                                    }
                                    for (;;) {
                                        const auto words = co_await c.next();
                                        repeated =
                                            repeated || test::script_call{words}.nonce == nonce;
                                        const auto bytes = script.answer(words);
                                        co_await c.send(bytes);
                                    }
                                }};
        auto settings = peer.settings();
        settings.advanced.reconnect_delay_max = 10ms;
        auto limiter = colimit::limiter{context.get_executor(), settings};
        test::run(context, [&]() -> asio::awaitable<void> {
            const auto [ec, d] = co_await limiter.allow("k", rules, asio::as_tuple(asio::deferred));
            code = ec;
            refused = limiter.health().state;
            const auto [fine, d2] =
                co_await limiter.allow("k", rules, asio::as_tuple(asio::deferred));
            BOOST_TEST(!fine);
            BOOST_TEST(d2.remaining == 99);
            served = limiter.health().state;
        });
        connections = peer.connections();
        executed = script.calls();
    }

    error_code code;
    health_state refused{}; ///< after the error
    health_state served{};  ///< after the next call
    int connections = 0;
    int executed = 0;
    bool repeated = false;
    std::string nonce;
};

void expect(const std::string& error, errc code, condition what, bool keeps_connection) {
    BOOST_TEST_CONTEXT(error) {
        const auto o = outcome_of{error};
        BOOST_TEST((o.code == code), o.code.message());
        BOOST_TEST((o.code == what));
        BOOST_TEST(o.connections == (keeps_connection ? 1 : 2));
        BOOST_TEST(!o.repeated);
        BOOST_TEST(o.executed == 1);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(what_was_not_run_may_be_asked_again_later) {
    using enum condition;
    expect("TRYAGAIN Multiple keys request during rehashing of slot", errc::server_error, transient,
           true);
    expect("CLUSTERDOWN The cluster is down", errc::unavailable, transient, true);
    expect("LOADING Redis is loading the dataset in memory", errc::unavailable, transient, true);
    expect("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
           errc::unavailable, transient, true);
    expect("EXECABORT Transaction discarded because of previous errors.", errc::server_error,
           transient, true);
}

BOOST_AUTO_TEST_CASE(a_server_that_refuses_to_write_is_degraded_until_it_grants_a_call) {
    for (const std::string error :
         {"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist "
          "to disk.",
          "NOREPLICAS Not enough good replicas to write.",
          "EXECABORT Transaction discarded because of: NOREPLICAS Not enough good replicas."})
        BOOST_TEST_CONTEXT(error) {
            const auto o = outcome_of{error};
            BOOST_TEST((o.code == errc::server_error));
            BOOST_TEST(o.refused == health_state::degraded);
            BOOST_TEST(o.served == health_state::ready);
        }
    const auto o = outcome_of{"READONLY You can't write against a read only replica."};
    BOOST_TEST(o.refused != health_state::ready);
    BOOST_TEST(o.served == health_state::ready);
}

BOOST_AUTO_TEST_CASE(what_ends_the_connection_is_not_asked_again_on_the_next) {
    using enum condition;
    expect("READONLY You can't write against a read only replica.", errc::unavailable, transient,
           false);
    expect("ERR max number of clients reached", errc::unavailable, transient, false);
    expect("NOAUTH Authentication required.", errc::auth_failed, permanent, false);
    expect("WRONGPASS invalid username-password pair or user is disabled.", errc::auth_failed,
           permanent, false);
}

BOOST_AUTO_TEST_CASE(what_must_be_changed_first_is_told_apart) {
    using enum condition;
    expect("NOPERM this user has no permissions to run the 'evalsha' command", errc::auth_failed,
           permanent, true);
    expect("ERR The user executing the script can't run this command or subcommand script: 0123, "
           "on @user_script:12.",
           errc::auth_failed, permanent, true);
    expect(
        "ERR ACL failure in script: User ann has no permissions to run the 'mget' command script: "
        "0123, on @user_script:12.",
        errc::auth_failed, permanent, true);
    expect("ERR unknown command 'EVALSHA', with args beginning with: ", errc::auth_failed,
           permanent, true);
    expect("WRONGTYPE Operation against a key holding the wrong kind of value", errc::key_conflict,
           permanent, true);
    expect("MOVED 3999 127.0.0.1:6381", errc::wrong_node, permanent, true);
    expect("ASK 3999 127.0.0.1:6381", errc::wrong_node, permanent, true);
    expect("CROSSSLOT Keys in request don't hash to the same slot", errc::wrong_node, permanent,
           true);
    expect("CLUSTERDOWN Hash slot not served", errc::wrong_node, permanent, true);
}

BOOST_AUTO_TEST_CASE(an_error_of_the_script_itself_may_have_charged) {
    expect("ERR user_script:12: boom script: 0123456789, on @user_script:12.",
           errc::outcome_unknown, condition::maybe_charged, true);
}

BOOST_AUTO_TEST_CASE(the_message_of_a_server_that_closes_is_the_last_error) {
    for (const std::string message :
         {"ERR max number of clients reached",
          "DENIED Redis is running in protected mode because protected mode is enabled",
          "LOADING Redis is loading the dataset in memory", "NOAUTH Authentication required."})
        BOOST_TEST_CONTEXT(message) {
            auto context = asio::io_context{1};
            auto peer = test::scripted_peer{context,
                                            [&](test::peer_connection& c) -> asio::awaitable<void> {
                                                const auto bytes = "-" + message + "\r\n";
                                                co_await c.send(bytes);
                                                (void)co_await c.next();
                                                c.close();
                                            }};
            auto settings = peer.settings();
            settings.advanced.reconnect_delay_min = settings.advanced.reconnect_delay_max = 1h;
            auto limiter = colimit::limiter{context.get_executor(), settings};
            test::run(context, [&]() -> asio::awaitable<void> {
                const auto [ec, d] =
                    co_await limiter.allow("k", rules, asio::as_tuple(asio::deferred));
                BOOST_TEST(!!ec);
            });
            const auto last = limiter.last_error();
            BOOST_TEST_REQUIRE(last.has_value());
            BOOST_TEST(last->text.find(message) != std::string::npos, last->text);
            BOOST_TEST((last->phase == phase::handshake));
        }
}

BOOST_AUTO_TEST_SUITE_END()
