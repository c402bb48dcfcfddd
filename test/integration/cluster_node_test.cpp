// SPDX-License-Identifier: BSL-1.0
//
// A cluster of one node works as a server on its own, for every storage and verb; a node that does
// not serve a key's hash slot is an error in every failure mode.

#include <redis/protocol/key.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>
#include <support/usual_tags.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(cluster_nodes)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;

constexpr std::size_t callers = 200; // more than there are tags

[[nodiscard]] std::string name(std::size_t i) {
    return "key" + std::to_string(i);
}

/// A cluster of one node, which serves all slots.
struct cluster {
    cluster() {
        look.must({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
        while (look.must({"CLUSTER", "INFO"}).text.find("cluster_state:ok") == std::string::npos)
            ;
    }

    test::redis_server server{{.tcp = true, .arguments = {"--cluster-enabled", "yes"}}};
    test::raw_client look = server.connect();
};

/// Every call is made at once, so that batches hold many keys, and twice for each key.
asio::awaitable<void> check_exact(limiter& l, const policy& p) {
    auto left = 2 * callers;
    auto allowed = std::vector<int>(callers);
    for (std::size_t i = 0; i < 2 * callers; ++i)
        l.allow(name(i % callers), p, [&, i](error_code ec, const decision& d) {
            BOOST_TEST(!ec, ec.message());
            BOOST_TEST((d.source == decision_source::store));
            allowed[i % callers] += d.allowed() ? 1 : 0;
            --left;
        });
    co_await test::until([&] { return left == 0; });
    for (const auto n : allowed)
        BOOST_TEST(n == 1);
}

} // namespace

BOOST_AUTO_TEST_CASE(many_callers_on_a_cluster_of_one_node_are_decided_exactly) {
    auto c = cluster{};
    for (const auto resp : {2, 3}) {
        // The first calls are made before it is known that the server is a cluster.
        for (const auto is_connected : {false, true}) {
            const auto tag = std::to_string(resp) + (is_connected ? "a" : "b");
            auto l = live{c.server.address(), [resp](config& s) {
                              s.advanced.resp_version = resp;
                              s.on_failure = failure_mode::local; // which must not decide anything
                          }};
            l.run([&]() -> asio::awaitable<void> {
                if (is_connected)
                    co_await l.limiter.ready();
                co_await check_exact(l.limiter, policy{"bucket" + tag, gcra(1, 1h)});
                co_await check_exact(l.limiter, policy{"log" + tag, sliding_log(1, 1h)});
                co_await check_exact(l.limiter,
                                     policy{"several" + tag, gcra(1, 1h), fixed_window(5, 1h)});
                co_await check_exact(l.limiter, policy{"packed" + tag, gcra(1, 1h)}.with_storage(
                                                    storage::shared_hash));
            });
            BOOST_TEST(!l.limiter.last_error());
        }
    }
}

/// With RESP 2 only INFO shows that a server is a cluster; here the error reply to the first batch
/// does.
BOOST_AUTO_TEST_CASE(many_callers_of_a_user_without_info_are_decided_exactly) {
    auto c = cluster{};
    c.look.must({"ACL", "SETUSER", "ann", "on", ">pw", "~*", "+@all", "-info"});
    auto l = live{"unix://ann:pw@" + c.server.socket(), [](config& s) {
                      s.advanced.resp_version = 2;
                      s.advanced.batch_size = 32; // several batches are refused
                      s.on_failure = failure_mode::local;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        co_await check_exact(l.limiter, policy{"bucket", gcra(1, 1h)});
        co_await check_exact(l.limiter, policy{"log", sliding_log(1, 1h)});
        co_await check_exact(l.limiter,
                             policy{"packed", gcra(1, 1h)}.with_storage(storage::shared_hash));
    });
    BOOST_TEST(!l.limiter.last_error());
}

BOOST_AUTO_TEST_CASE(members_and_ids_keep_their_keys_when_batches_are_divided) {
    auto c = cluster{};
    auto l = live{c.server.address()};
    const auto few = policy{"few", distinct(1, 24h * 365)};
    const auto filter = bloom_filter{"ids", {.capacity = 100'000, .error_rate = 0.0001}};
    l.run([&]() -> asio::awaitable<void> {
        auto left = 3 * callers;
        auto fresh = std::size_t{0};
        for (std::size_t i = 0; i < callers; ++i) {
            const auto member = "member" + std::to_string(i);
            for (auto n = 0; n < 2; ++n) // the same member counts once
                l.limiter.allow(name(i), few, {.member = member},
                                [&](error_code ec, const decision& d) {
                                    BOOST_TEST(!ec, ec.message());
                                    BOOST_TEST(d.allowed());
                                    --left;
                                });
            l.limiter.seen(name(i), filter, [&](error_code ec, bool seen) {
                BOOST_TEST(!ec, ec.message());
                fresh += seen ? 0U : 1U;
                --left;
            });
        }
        co_await test::until([&] { return left == 0; });
        BOOST_TEST(fresh == callers);
        for (std::size_t i = 0; i < callers; i += 10) {
            const auto member = "member" + std::to_string(i);
            auto d = co_await l.limiter.peek(name(i), few, {.member = member});
            BOOST_TEST(d.allowed());
            d = co_await l.limiter.peek(name(i), few, {.member = "another"});
            BOOST_TEST(!d.allowed());
            const auto seen = co_await l.limiter.seen(name(i), filter);
            BOOST_TEST(seen);
        }
    });
}

BOOST_AUTO_TEST_CASE(calls_that_are_cancelled_while_they_wait_are_not_made_after_the_division) {
    auto c = cluster{};
    auto l = live{c.server.address()};
    const auto p = policy{"p", gcra(2, 1h)};
    l.run([&]() -> asio::awaitable<void> {
        auto left = 2 * callers;
        auto signals = std::vector<asio::cancellation_signal>(callers);
        for (std::size_t i = 0; i < callers; ++i) {
            l.limiter.allow(name(i), p,
                            asio::bind_cancellation_slot(
                                signals[i].slot(), [&](error_code ec, const decision& /*none*/) {
                                    BOOST_TEST((ec == asio::error::operation_aborted));
                                    --left;
                                }));
            l.limiter.allow(name(i), p, [&](error_code ec, const decision& d) {
                BOOST_TEST(!ec, ec.message());
                BOOST_TEST(d.remaining == 1);
                --left;
            });
        }
        for (auto& s : signals)
            s.emit(asio::cancellation_type::terminal);
        co_await test::until([&] { return left == 0; });
        const auto d = co_await l.limiter.peek(name(0), p);
        BOOST_TEST(d.remaining == 1);
    });
    BOOST_TEST(l.limiter.statistics().count(errc::too_many_in_flight) == 0U);
}

BOOST_AUTO_TEST_CASE(checks_in_several_slots_are_an_invalid_argument_with_the_reason) {
    auto c = cluster{};
    for (const auto is_connected : {false, true}) {
        auto l = live{c.server.address()};
        const auto user = policy{is_connected ? "user1" : "user0", gcra(5, 1h)};
        const auto tenant = policy{is_connected ? "tenant1" : "tenant0", gcra(5, 1h)};
        // Two keys with one tag, and one with another.
        auto same = std::size_t{1};
        while (test::tag_of(name(same)) != test::tag_of(name(0)))
            ++same;
        auto other = std::size_t{1};
        while (test::tag_of(name(other)) == test::tag_of(name(0)))
            ++other;
        const auto first = name(0);
        const auto fits = name(same);
        const auto strays = name(other);
        l.run([&]() -> asio::awaitable<void> {
            if (is_connected)
                co_await l.limiter.ready();
            auto apart = std::vector<check_item>{{.key = first, .policy = user},
                                                 {.key = strays, .policy = tenant}};
            const auto [ec, d] =
                co_await l.limiter.allow_all(apart, asio::as_tuple(asio::deferred));
            BOOST_TEST((ec == errc::invalid_argument));
            BOOST_TEST(ec.message() == "checks: the keys are in several hash slots of a cluster "
                                       "(expected keys with a common tag: scoped_key::tagged)");
            auto together = std::vector<check_item>{{.key = first, .policy = user},
                                                    {.key = fits, .policy = tenant}};
            const auto all = co_await l.limiter.allow_all(together);
            BOOST_TEST(all.remaining == 4);
        });
    }
}

BOOST_AUTO_TEST_CASE(a_slot_that_is_served_elsewhere_is_an_error_in_every_failure_mode) {
    auto server = test::redis_server{{.tcp = true, .arguments = {"--cluster-enabled", "yes"}}};
    for (const auto instead : {failure_mode::local, failure_mode::allow, failure_mode::error}) {
        for (const auto how : {execution_mode::script, execution_mode::multi}) {
            auto l = live{server.address(), [&](config& s) {
                              s.on_failure = instead;
                              s.advanced.mode = how;
                          }};
            l.run([&]() -> asio::awaitable<void> {
                for (auto i = 0; i < 10; ++i) { // more than open the circuit breaker
                    const auto [ec, d] = co_await l.allow("k", policy{"p", sliding_log(5, 1h)});
                    BOOST_TEST((ec == errc::wrong_node), ec.message());
                    BOOST_TEST((ec == condition::permanent));
                }
            });
            const auto last = l.limiter.last_error().value();
            BOOST_TEST((last.code == errc::wrong_node));
            BOOST_TEST(last.text.starts_with("CLUSTERDOWN Hash slot not served"), last.text);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
