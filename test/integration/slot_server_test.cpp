// SPDX-License-Identifier: BSL-1.0
//
// Slots on a real server, which several limiters share as processes do. Their leases: see
// test/scenario/slot_lease_test.cpp.

#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <utility>
#include <vector>

namespace colimit::slot_server_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using test::live;

const auto two = policy{"two", concurrent(2).lease(1h), fixed_window(100, 24h)};

struct two_limiters {
    /// Acquires a slot, or an empty one.
    static asio::awaitable<slot> acquire(live& l, const policy& p, const acquire_options& o = {}) {
        auto [ec, got] = co_await l.limiter.acquire("k", p, o, asio::as_tuple(asio::deferred));
        BOOST_TEST(!ec);
        co_return std::move(got);
    }
    static asio::awaitable<std::int64_t> holders(live& l, policy p) {
        const auto d = co_await l.limiter.peek("k", p, {.cost = 0});
        co_return d.rules[0].limit - d.rules[0].balance;
    }

    test::redis_server server;
    live a{server.address()};
    live b{server.address()};
};

BOOST_FIXTURE_TEST_SUITE(slots_on_a_server, two_limiters)

BOOST_AUTO_TEST_CASE(limiters_share_the_slots_and_tokens_grow) {
    auto held = std::vector<slot>{};
    a.run([&]() -> asio::awaitable<void> {
        held.push_back(co_await acquire(a, two));
        BOOST_TEST_REQUIRE(static_cast<bool>(held[0]));
    });
    b.run([&]() -> asio::awaitable<void> {
        held.push_back(co_await acquire(b, two));
        BOOST_TEST_REQUIRE(static_cast<bool>(held[1]));
        BOOST_TEST(held[1].fencing_token() > held[0].fencing_token());
        const auto third = co_await acquire(b, two);
        BOOST_TEST(!third);
        BOOST_TEST(third.decision().limiting_rule == 0);
        BOOST_TEST(third.decision().rules[1].balance == 98);
        held[1].release();
        const auto again = co_await acquire(b, two);
        BOOST_TEST(static_cast<bool>(again));
        BOOST_TEST(again.fencing_token() > held[0].fencing_token());
        const auto used = co_await holders(b, two);
        BOOST_TEST(used == 2);
    });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::slot_server_test
