// SPDX-License-Identifier: BSL-1.0
//
// A limiter on a real cluster whose slots move as a whole: no reply is ASK, the source lets writes
// wait for a moment, and then replies MOVED.

#include "cluster_load.hpp"

#include <support/server_version.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

BOOST_AUTO_TEST_SUITE(clusters)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;
using test::redis_cluster;

[[nodiscard]] bool can_move_whole_slots(const test::server_version& v) {
    return v.is_valkey() ? v.is_at_least(9, 0) : v.is_at_least(8, 4);
}

void check_whole_migration(redis_cluster& c, const rule& r, int limit) {
    auto l = live{test::address_of(c), [](config& s) {
                      s.timeout = 10s;
                      s.advanced.deny_cache = 0; // so that nodes decide all the time
                  }};
    test::check_moving_slots(c, l, r, limit, [&c](std::uint16_t slot, auto decide) {
        const auto reply = c.order_whole_migration(slot, 0, 1);
        BOOST_TEST_REQUIRE(!reply.is_error(), reply.text);
        while (!c.owns(1, slot))
            decide(10);
    });
    for (std::size_t node = 0; node < c.size(); ++node)
        BOOST_TEST(c.connect(node).keys().empty() == (node != 1));
}

} // namespace

BOOST_AUTO_TEST_CASE(slots_move_as_a_whole_and_every_call_is_decided_exactly_once) {
    auto c = redis_cluster{};
    auto look = c.connect(0);
    if (can_move_whole_slots(test::version_of(look))) {
        check_whole_migration(c, fixed_window(4'000, 1h).from_first(), 4'000);
    } else {
        const auto reply = c.order_whole_migration(0, 0, 1);
        BOOST_TEST(reply.text.starts_with("ERR unknown subcommand"), reply.text);
        BOOST_TEST(c.owner(0) == 0U);
    }
}

/// A log has two keys, which arrive together: no reply is TRYAGAIN.
BOOST_AUTO_TEST_CASE(calls_on_several_keys_go_on_while_their_slot_moves_as_a_whole) {
    auto c = redis_cluster{};
    auto look = c.connect(0);
    if (can_move_whole_slots(test::version_of(look))) {
        check_whole_migration(c, sliding_log(4'000, 1h), 4'000);
        for (std::size_t node = 0; node < c.size(); ++node)
            BOOST_TEST(c.connect(node).must({"INFO", "errorstats"}).text.find("TRYAGAIN") ==
                       std::string::npos);
    } else {
        const auto reply = c.order_whole_migration(16'383, 2, 1);
        BOOST_TEST(reply.text.starts_with("ERR unknown subcommand"), reply.text);
        BOOST_TEST(c.owner(16'383) == 2U);
    }
}

BOOST_AUTO_TEST_SUITE_END()
