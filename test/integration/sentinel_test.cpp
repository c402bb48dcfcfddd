// SPDX-License-Identifier: BSL-1.0
//
// A master behind three Sentinels: which server is used, failovers of every kind, Sentinels that
// are dead, late or of another kind, and addresses and names that are wrong.

#include <support/problems.hpp>

#include <support/live_limiter.hpp>
#include <support/ordered_failover.hpp>
#include <support/scripted_peer.hpp>
#include <support/sentinel_group.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

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
    int unknown = 0;
    int other = 0;

  private:
    asio::awaitable<void> call_on(live& l, policy p) {
        ++running;
        while (!ends) {
            const auto [ec, d] = co_await l.allow("k", p);
            if (!ec)
                ++decided;
            else if (ec == errc::outcome_unknown)
                ++unknown;
            else
                ++other;
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
                              c.resp_version = resp;
                              c.mode = how;
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

/// Two Sentinels are dead, one of them named first; a third is at an address that nothing listens
/// on.
BOOST_AUTO_TEST_CASE(one_sentinel_that_lives_is_enough) {
    auto g = sentinel_group{};
    g.watcher(0).kill();
    g.watcher(2).stop();
    auto l = live{g.address()};
    l.run([&]() -> asio::awaitable<void> {
        const auto [ec, d] = co_await l.allow("k", rules);
        BOOST_TEST(!ec, ec.message());
    });
}

/// The attempts to reach a dead Sentinel go on all the time, and explain nothing while a master is
/// known.
BOOST_AUTO_TEST_CASE(a_dead_sentinel_hides_no_problem_of_the_master) {
    auto g = sentinel_group{{.sentinels = 2, .replicas = 0}};
    g.watcher(0).kill();
    auto seen = std::vector<event>{};
    auto l = live{g.address(), [&](config& c) {
                      c.timeout = 1s;
                      c.reconnect_delay_max = 10ms;
                      c.on_failure = failure_mode::allow;
                      c.on_event = [&](const event& e) { seen.push_back(e); };
                  }};
    const auto is_of_sentinel = [](const problem& p) { return p.text.starts_with("Sentinel"); };
    const auto further_attempts = [&]() -> asio::awaitable<void> {
        const auto enough = test::last_of(l.limiter).count + 10;
        co_await test::until([&] { return test::last_of(l.limiter).count >= enough; });
    };
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        co_await further_attempts();
        BOOST_TEST(is_of_sentinel(test::last_of(l.limiter)));

        g.server(0).stop();
        (void)co_await l.allow("k", rules);
        co_await test::until([&] { return test::count(seen, event_kind::fallback_started) == 1; });
        const auto why = to_string(test::first(seen, event_kind::fallback_started));
        BOOST_TEST(test::has(why, "the server did not reply within config::timeout"), why);

        g.server(0).kill();
        co_await test::until([&] { return test::count(seen, event_kind::disconnected) == 1; });
        for (auto attempts = 0; attempts < 10; ++attempts) {
            co_await further_attempts();
            BOOST_TEST(!is_of_sentinel(test::last_of(l.limiter)));
        }
        co_await test::until([&] { return test::count(seen, event_kind::breaker_opened) == 1; });
    });
    for (const auto& e : seen)
        BOOST_TEST((!e.cause || !is_of_sentinel(*e.cause)), to_string(e));
    BOOST_TEST(test::first(seen, event_kind::disconnected).cause.has_value());
    BOOST_TEST(test::first(seen, event_kind::breaker_opened).cause.has_value());
}

BOOST_AUTO_TEST_CASE(a_killed_master_is_replaced_by_the_one_that_sentinel_names) {
    auto g = sentinel_group{};
    auto l = live{g.address(), [](config& c) { c.timeout = 100ms; }};
    auto all = results{};
    all.start(l, rules);
    for (auto round = 0; round < 2; ++round) {
        g.await_health();
        auto master = std::size_t{0};
        l.run([&]() -> asio::awaitable<void> {
            co_await until_decided(all, 100);
            master = g.named_by(0);
            g.server(master).kill();
            co_await test::until([&] { return l.limiter.health().state != health_state::ready; });
            // The next decision comes from the new master, without help.
            co_await until_decided(all, 100);
        });
        g.server(master).start(); // Sentinel makes it a replica
    }
    l.run([&] { return all.end(); });
}

/// A planned failover loses no call: those that the old master rejects are made on the new one.
BOOST_AUTO_TEST_CASE(calls_that_a_demoted_master_rejects_are_made_on_the_new_one) {
    auto g = sentinel_group{};
    for (const auto how : {execution_mode::script, execution_mode::multi}) {
        const auto p =
            policy{how == execution_mode::script ? "script" : "multi", sliding_log(100'000, 1h)};
        auto l = live{g.address(), [&](config& c) {
                          c.mode = how;
                          c.timeout = 10s;
                      }};
        auto all = results{};
        all.start(l, p);
        g.await_health();
        l.run([&]() -> asio::awaitable<void> {
            co_await until_decided(all, 100);
            // The old master is demoted before Sentinel has named another: for a while there is
            // none, and the connection to the old one is kept by the server.
            const auto old = g.named_by(0);
            const auto other = old == 0 ? 1U : 0U;
            g.server(old).connect().must(
                {"REPLICAOF", "127.0.0.1", std::to_string(g.server(other).port())});
            co_await test::until([&] { return l.limiter.health().state != health_state::ready; });
            co_await test::fail_over(g, 0);
            co_await until_decided(all, 100);
        });
        l.run([&] { return all.end(); });
        BOOST_TEST(all.unknown == 0);
        BOOST_TEST(all.other == 0);
        BOOST_TEST((l.limiter.last_error()->code == errc::unavailable));
    }
}

BOOST_AUTO_TEST_CASE(an_ordered_failover_ends_no_call_with_an_error) {
    auto g = sentinel_group{};
    auto l = live{g.address(), [](config& c) { c.timeout = 10s; }};
    auto all = results{};
    all.start(l, rules);
    for (auto round = 0; round < 2; ++round) {
        g.await_health();
        l.run([&]() -> asio::awaitable<void> {
            co_await until_decided(all, 100);
            const auto reconnects = l.limiter.statistics().reconnects;
            co_await test::fail_over(g, 1);
            co_await test::until([&] { return l.limiter.statistics().reconnects > reconnects; });
            co_await until_decided(all, 100);
        });
    }
    l.run([&] { return all.end(); });
    BOOST_TEST(all.unknown == 0);
    BOOST_TEST(all.other == 0);
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
            c.sentinel_credentials = [&asked, user, password] {
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
