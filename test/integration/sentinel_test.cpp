// SPDX-License-Identifier: BSL-1.0
//
// A master behind real Sentinels: which server is used, a failover, permissions, and addresses and
// names that are wrong. Other failovers, and Sentinels that are dead or silent: see
// test/scenario/sentinel_test.cpp.

#include <support/live_limiter.hpp>
#include <support/ordered_failover.hpp>
#include <support/sentinel_group.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <string>

BOOST_AUTO_TEST_SUITE(sentinels)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;
using test::sentinel_group;

const auto rules = policy{"p", gcra(1'000'000, 1h)};

/// Callers that make one call after the other until told to stop, and what they have got.
struct results {
    void start(live& l, policy p) {
        constexpr auto callers = 20;
        for (auto i = 0; i < callers; ++i)
            asio::co_spawn(l.context, call_on(l, p), test::rethrow);
    }
    asio::awaitable<void> end() {
        ends = true;
        co_await test::until([this] { return running == 0; });
    }

    int decided = 0;
    int failed = 0;

  private:
    asio::awaitable<void> call_on(live& l, policy p) {
        ++running;
        while (!ends) {
            const auto [ec, d] = co_await l.allow("k", p);
            ++(ec ? failed : decided);
            if (ec) // to not fill the processor while there is no server
                co_await test::pause_for(1ms);
        }
        --running;
    }

    bool ends = false;
    int running = 0;
};

/// Calls until the store has decided so many more.
asio::awaitable<void> until_decided(results& all, int more) {
    const auto enough = all.decided + more;
    co_await test::until([&] { return all.decided >= enough; });
}

[[nodiscard]] std::int64_t remaining(sentinel_group& g, std::size_t server) {
    return static_cast<std::int64_t>(g.server(server).connect().keys().size());
}

} // namespace

BOOST_AUTO_TEST_CASE(calls_are_made_on_the_master_with_every_protocol_and_mode) {
    auto g = sentinel_group{};
    for (const auto resp : {2, 3}) {
        for (const auto how : {execution_mode::script, execution_mode::multi}) {
            auto l = live{g.address(), [&](config& c) {
                              c.advanced.resp_version = resp;
                              c.advanced.mode = how;
                          }};
            const auto p =
                policy{how == execution_mode::script ? "script" : "multi", sliding_log(2, 1h)};
            l.run([&]() -> asio::awaitable<void> {
                const auto ec = co_await l.ready();
                BOOST_TEST(!ec, ec.message());
                const auto d = co_await l.limiter.allow("k" + std::to_string(resp), p);
                BOOST_TEST(d.allowed());
                BOOST_TEST((d.source == decision_source::store));
            });
            BOOST_TEST(!l.limiter.last_error());
        }
    }
    BOOST_TEST(remaining(g, 0) >= 4);
}

BOOST_AUTO_TEST_CASE(a_killed_master_is_replaced_by_the_one_that_sentinel_names) {
    auto g = sentinel_group{};
    auto l = live{g.address(), [](config& c) { c.timeout = 100ms; }};
    auto all = results{};
    all.start(l, rules);
    g.await_health();
    l.run([&]() -> asio::awaitable<void> {
        co_await until_decided(all, 100);
        g.server(g.named_by(0)).kill();
        co_await test::until([&] { return l.limiter.health().state != health_state::ready; });
        // The next decision comes from the new master, without help.
        co_await until_decided(all, 100);
        co_await all.end();
    });
}

/// Of several failovers one is enough: where the machine halts, a reply may be lost with the
/// connection that Sentinel ends.
BOOST_AUTO_TEST_CASE(an_ordered_failover_ends_no_call_with_an_error) {
    auto g = sentinel_group{};
    auto l = live{g.address(), [](config& c) { c.timeout = 20s; }};
    auto all = results{};
    all.start(l, rules);
    auto failed = 1;
    for (auto round = 0; round < 5 && failed != 0; ++round) {
        g.await_health();
        l.run([&]() -> asio::awaitable<void> {
            co_await until_decided(all, 100);
            failed = -all.failed;
            const auto reconnects = l.limiter.statistics().reconnects;
            co_await test::fail_over(g, 1);
            co_await test::until([&] { return l.limiter.statistics().reconnects > reconnects; });
            co_await until_decided(all, 100);
            failed += all.failed;
        });
    }
    l.run([&] { return all.end(); });
    BOOST_TEST(failed == 0);
}

BOOST_AUTO_TEST_CASE(a_name_that_no_sentinel_knows_is_an_error_with_the_names_that_they_know) {
    auto g = sentinel_group{{.replicas = 0}};
    auto l = live{"redis+sentinel://" + g.hosts() + "/my%20master", test::give_up_early};
    l.run([&]() -> asio::awaitable<void> {
        const auto code = co_await l.ready();
        BOOST_TEST((code == errc::invalid_config), code.message());
        const auto [ec, d] = co_await l.allow("k", rules);
        BOOST_TEST((ec == errc::invalid_config), ec.message());
    });
    BOOST_TEST(l.limiter.health().state == health_state::refused);
    const auto last = l.limiter.last_error().value();
    BOOST_TEST((last.code == errc::invalid_config));
    BOOST_TEST(last.text.ends_with("it knows no master my master; it knows mymaster"), last.text);
    BOOST_TEST(last.text.starts_with("Sentinel 127.0.0.1:"), last.text);
}

/// In `alice:12345`, where `@host` was forgotten, the port is a password.
BOOST_AUTO_TEST_CASE(a_port_of_a_host_that_does_not_exist_is_not_shown) {
    auto l =
        live{"redis+sentinel://alice.invalid:12345/mymaster", [](config& c) { c.timeout = 50ms; }};
    l.run([&]() -> asio::awaitable<void> {
        co_await test::until([&] { return l.limiter.last_error().has_value(); });
    });
    const auto text = l.limiter.last_error()->text;
    BOOST_TEST(text.starts_with("Sentinel alice.invalid: "), text);
    BOOST_TEST(text.find("12345") == std::string::npos, text);
}

/// A master that was named, but does not answer, is an outage, which the failure mode decides.
BOOST_AUTO_TEST_CASE(a_refusal_is_over_as_soon_as_a_master_is_known) {
    auto g = sentinel_group{{.sentinels = 1, .replicas = 0}};
    auto l = live{"redis+sentinel://" + g.hosts() + "/later", [](config& c) {
                      c.timeout = 50ms;
                      c.on_failure = failure_mode::allow;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        const auto code = co_await l.ready();
        BOOST_TEST((code == errc::invalid_config), code.message());
        g.server(0).stop();
        g.watcher(0).connect().must(
            {"SENTINEL", "MONITOR", "later", "127.0.0.1", std::to_string(g.server(0).port()), "1"});
        co_await test::until([&] { return l.limiter.health().state != health_state::refused; });
        const auto [ec, d] = co_await l.allow("k", rules);
        BOOST_TEST(!ec, ec.message());
        BOOST_TEST((d.source == decision_source::fail_open));
    });
    g.server(0).cont();
    l.run([&]() -> asio::awaitable<void> {
        const auto code = co_await l.ready();
        BOOST_TEST(!code, code.message());
    });
}

BOOST_AUTO_TEST_CASE(a_master_that_sentinel_comes_to_know_later_is_used) {
    auto g = sentinel_group{{.sentinels = 1, .replicas = 0}};
    auto l = live{"redis+sentinel://" + g.hosts() + "/later"};
    l.run([&]() -> asio::awaitable<void> {
        auto code = co_await l.ready();
        BOOST_TEST((code == errc::invalid_config), code.message());
        g.watcher(0).connect().must(
            {"SENTINEL", "MONITOR", "later", "127.0.0.1", std::to_string(g.server(0).port()), "1"});
        co_await l.until_it_works("k", rules);
    });
}

BOOST_AUTO_TEST_CASE(a_server_is_not_a_sentinel_and_a_sentinel_not_a_server) {
    auto g = sentinel_group{{.sentinels = 1, .replicas = 0}};
    struct wrong {
        std::string address;
        std::string reason;
    };
    const auto server = "127.0.0.1:" + std::to_string(g.server(0).port());
    for (const auto& [address, reason] :
         {wrong{"redis://" + g.hosts(),
                "a Sentinel, whose address is redis+sentinel://host:port/master"},
          wrong{"redis+sentinel://" + server + "/mymaster",
                "Sentinel " + server +
                    ": not a Sentinel but a server, whose address is redis://host:port"}}) {
        auto l = live{address, test::give_up_early};
        l.run([&]() -> asio::awaitable<void> {
            const auto code = co_await l.ready();
            BOOST_TEST((code == errc::bad_reply), code.message());
            const auto [ec, d] = co_await l.allow("k", rules);
            BOOST_TEST((ec == errc::bad_reply), ec.message());
        });
        BOOST_TEST(l.limiter.last_error()->text == reason);
    }
}

BOOST_AUTO_TEST_CASE(sentinels_and_the_master_have_passwords_of_their_own) {
    auto g = sentinel_group{
        {.sentinels = 1,
         .replicas = 0,
         .lines = {"user default off", "user test on >pw allchannels +@all",
                   "user ann on >sentinel-secret allchannels -@all +hello +auth +ping +subscribe "
                   "+info +sentinel|get-master-addr-by-name +sentinel|master"},
         .look_as = "test:pw@"}};
    g.server(0).connect().must({"ACL", "SETUSER", "bob", "on", ">master-secret", "~*", "+@all"});
    const auto tail = g.hosts() + "/mymaster";
    auto asked = 0;
    const auto of = [&](std::string user, std::string password) {
        return [&asked, user, password](config& c) {
            c.advanced.sentinel_credentials = [&asked, user, password] {
                ++asked;
                return credentials{.user = user, .password = password};
            };
        };
    };
    {
        auto l = live{"redis+sentinel://bob:master-secret@" + tail, of("ann", "sentinel-secret")};
        l.run([&]() -> asio::awaitable<void> {
            const auto [ec, d] = co_await l.allow("k", rules);
            BOOST_TEST(!ec, ec.message());
        });
        BOOST_TEST(asked == 1);
        BOOST_TEST(!l.limiter.last_error());
    }
    {
        auto l = live{"redis+sentinel://bob:master-secret@" + tail, of("ann", "wrong-secret")};
        l.run([&]() -> asio::awaitable<void> {
            const auto code = co_await l.ready();
            BOOST_TEST((code == errc::auth_failed), code.message());
        });
        const auto text = l.limiter.last_error()->text;
        BOOST_TEST(text.starts_with("Sentinel " + g.hosts() + ": WRONGPASS"), text);
    }
    {
        auto l = live{"redis+sentinel://bob:wrong@" + tail, of("ann", "sentinel-secret")};
        l.run([&]() -> asio::awaitable<void> {
            const auto code = co_await l.ready();
            BOOST_TEST((code == errc::auth_failed), code.message());
        });
        const auto text = l.limiter.last_error()->text;
        BOOST_TEST(text.starts_with("WRONGPASS"), text);
    }
}

BOOST_AUTO_TEST_CASE(over_tls_nothing_is_sent_in_plain_text) {
    auto authority = test::certificate_authority{};
    auto g = sentinel_group{{.sentinels = 3,
                             .replicas = 1,
                             .tls = authority.sign("server"),
                             .authority = authority.file()}};
    auto l = live{g.address(), [&](config& c) { c.tls.ca_file = authority.file(); }};
    auto all = results{};
    all.start(l, rules);
    l.run([&]() -> asio::awaitable<void> {
        co_await until_decided(all, 10);
        const auto before = l.limiter.statistics().reconnects;
        co_await test::fail_over(g, 0);
        co_await test::until([&] { return l.limiter.statistics().reconnects > before; });
        co_await until_decided(all, 10);
        co_await all.end();
    });
    // The servers have no port without TLS. A client that does not trust their CA gets no further
    // than to the Sentinels.
    auto stranger = live{g.address()};
    stranger.run([&]() -> asio::awaitable<void> {
        const auto code = co_await stranger.ready();
        BOOST_TEST((code == errc::untrusted_server), code.message());
    });
}

BOOST_AUTO_TEST_SUITE_END()
