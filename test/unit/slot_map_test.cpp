// SPDX-License-Identifier: BSL-1.0
//
// The map of a cluster: one representation for one meaning, and changes of single slots compared
// with an array that has an entry for each slot.

#include <redis/cluster/slot_map.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(slot_maps)

namespace {

using colimit::redis::hash_slot_count;
using colimit::redis::host_port;
using colimit::redis::slot_map;
using colimit::test::rng;

[[nodiscard]] host_port node(std::size_t i) {
    return {"h", static_cast<std::uint16_t>(7'000 + i)};
}

[[nodiscard]] std::vector<host_port> nodes(std::size_t first, std::size_t count) {
    auto out = std::vector<host_port>{};
    for (std::size_t i = first; i < first + count; ++i)
        out.push_back(node(i));
    return out;
}

/// The owner of each slot, as the index of a node; -1 without one.
using owners = std::array<int, hash_slot_count>;

void check_equal(const slot_map& map, const owners& expected) {
    auto different = 0;
    for (std::size_t slot = 0; slot < hash_slot_count; ++slot) {
        const auto* const owner = map.owner(static_cast<std::uint16_t>(slot));
        const auto is_right =
            expected[slot] < 0
                ? owner == nullptr
                : owner != nullptr && *owner == node(static_cast<std::size_t>(expected[slot]));
        different += is_right ? 0 : 1;
    }
    BOOST_TEST_REQUIRE(different == 0);
}

/// Makes a map from scratch.
[[nodiscard]] slot_map map_of(const owners& slots, std::size_t node_count,
                              std::vector<host_port> replicas) {
    auto ranges = std::vector<slot_map::range>{};
    for (std::uint16_t slot = 0; slot < hash_slot_count; ++slot)
        if (slots[slot] >= 0)
            ranges.push_back({slot, slot, static_cast<std::uint16_t>(slots[slot])});
    return {nodes(0, node_count), std::move(replicas), std::move(ranges)};
}

} // namespace

BOOST_AUTO_TEST_CASE(an_empty_map_has_no_owners) {
    const auto map = slot_map{};
    BOOST_TEST(map.owner(0) == nullptr);
    BOOST_TEST(map.owner(16'383) == nullptr);
    BOOST_TEST(!map.master_of(8'000).has_value());
    BOOST_TEST(map.masters().empty());
    BOOST_TEST((map == slot_map{nodes(0, 3), {}, {}}));
}

BOOST_AUTO_TEST_CASE(each_slot_of_a_range_has_its_master_and_those_between_have_none) {
    const auto map = slot_map{nodes(0, 2), nodes(5, 2), {{10, 20, 1}, {22, 22, 0}}};
    for (const auto slot : std::vector<std::uint16_t>{0, 9, 21, 23, 16'383})
        BOOST_TEST(map.owner(slot) == nullptr, slot);
    for (const auto slot : std::vector<std::uint16_t>{10, 15, 20})
        BOOST_TEST((*map.owner(slot) == node(1)), slot);
    BOOST_TEST((*map.owner(22) == node(0)));
    BOOST_TEST(map.masters().size() == 2U);
    BOOST_TEST(map.replicas().size() == 2U);
    BOOST_TEST((map.masters()[*map.master_of(15)] == node(1)));
}

BOOST_AUTO_TEST_CASE(maps_with_one_meaning_are_equal) {
    const auto map = slot_map{{node(1), node(0)}, nodes(5, 1), {{0, 99, 1}, {100, 200, 0}}};
    BOOST_TEST(map.ranges().size() == 2U);
    BOOST_TEST((map == slot_map{nodes(0, 2), nodes(5, 1), {{100, 200, 1}, {0, 99, 0}}}));
    BOOST_TEST((map == slot_map{nodes(0, 2),
                                nodes(5, 1),
                                {{150, 200, 1}, {50, 99, 0}, {100, 149, 1}, {0, 49, 0}}}));
    // A master without slots is dropped, and so is a replica that is a master or named twice.
    BOOST_TEST(
        (map == slot_map{nodes(0, 3), {node(5), node(1), node(5)}, {{0, 99, 0}, {100, 200, 1}}}));

    BOOST_TEST((map != slot_map{nodes(0, 2), nodes(5, 1), {{0, 98, 0}, {100, 200, 1}}}));
    BOOST_TEST((map != slot_map{nodes(0, 2), nodes(6, 1), {{0, 99, 0}, {100, 200, 1}}}));
    BOOST_TEST((map != slot_map{nodes(1, 2), nodes(5, 1), {{0, 99, 0}, {100, 200, 1}}}));
}

BOOST_AUTO_TEST_CASE(a_moved_slot_divides_its_range_and_joins_its_neighbours) {
    auto map = slot_map{nodes(0, 2), {}, {{0, 8'191, 0}, {8'192, 16'383, 1}}};
    const auto before = map;
    BOOST_TEST(!map.apply_moved(5, node(0)));
    BOOST_TEST((map == before));
    BOOST_TEST(map.apply_moved(5, node(1)));
    BOOST_TEST(map.ranges().size() == 4U);
    BOOST_TEST(map.apply_moved(5, node(0)));
    BOOST_TEST((map == before));
    BOOST_TEST(map.apply_moved(8'191, node(1)));
    BOOST_TEST(map.ranges().size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_replica_that_gets_a_slot_is_a_master_and_a_master_without_slots_is_dropped) {
    auto map = slot_map{nodes(0, 1), nodes(1, 2), {{7, 7, 0}}};
    BOOST_TEST(map.apply_moved(7, node(1)));
    BOOST_TEST((map == slot_map{nodes(1, 1), nodes(2, 1), {{7, 7, 0}}}));
    for (std::size_t i = 10; i < 1'000; ++i) // a server that sends us around
        map.apply_moved(7, node(i));
    BOOST_TEST(map.masters().size() == 1U);
    BOOST_TEST(map.replicas().size() == 1U);
    BOOST_TEST(map.apply_moved(8, map.masters()[0])); // one of its own addresses
    BOOST_TEST(map.ranges().size() == 1U);
}

BOOST_AUTO_TEST_CASE(moved_slots_give_the_map_that_a_new_reply_would_give) {
    constexpr std::size_t node_count = 6;
    auto random = rng{3};
    for (int round = 0; round < 20; ++round) {
        auto expected = owners{};
        expected.fill(-1);
        for (int n = 0; n < 6; ++n) { // some slots have no owner
            const auto first = random.below(hash_slot_count);
            const auto last = std::min(hash_slot_count - 1, first + random.below(6'000));
            for (auto slot = first; slot <= last; ++slot)
                expected[slot] = static_cast<int>(random.below(3));
        }
        if (round % 2 == 0) // long ranges
            for (std::size_t slot = 0; slot < hash_slot_count; ++slot)
                expected[slot] = expected[slot / 1'000 * 1'000];
        auto map = map_of(expected, node_count, {});
        check_equal(map, expected);
        for (int i = 0; i < 40; ++i) {
            static constexpr std::size_t corners[] = {0, 1, 999, 1'000, 16'382, 16'383};
            const auto slot =
                random.percent(30) ? random.pick(corners) : random.below(hash_slot_count);
            const auto to = random.below(node_count);
            const auto is_new = expected[slot] != static_cast<int>(to);
            expected[slot] = static_cast<int>(to);
            BOOST_TEST_REQUIRE(map.apply_moved(static_cast<std::uint16_t>(slot), node(to)) ==
                               is_new);
            BOOST_TEST_REQUIRE((map == map_of(expected, node_count, {})));
        }
        check_equal(map, expected);
    }
}

BOOST_AUTO_TEST_CASE(gaps_get_the_owners_of_another_map_and_nothing_else_changes) {
    constexpr std::size_t node_count = 6;
    auto random = rng{5};
    const auto random_owners = [&] {
        auto made = owners{};
        made.fill(-1);
        for (auto n = random.below(8); n > 0; --n) {
            const auto first = random.below(hash_slot_count);
            const auto last = std::min(hash_slot_count - 1, first + random.below(5'000));
            const auto of = static_cast<int>(random.below(node_count));
            for (auto slot = first; slot <= last; ++slot)
                made[slot] = random.percent(99) ? of : -1;
        }
        return made;
    };
    for (int round = 0; round < 60; ++round) {
        const auto known = random_owners();
        auto expected = random_owners();
        auto map = map_of(expected, node_count, nodes(10, 1));
        map.fill_gaps(map_of(known, node_count, nodes(11, 1)));
        for (std::size_t slot = 0; slot < hash_slot_count; ++slot)
            expected[slot] = expected[slot] < 0 ? known[slot] : expected[slot];
        check_equal(map, expected);
        BOOST_TEST((map == map_of(expected, node_count, nodes(10, 1))));
    }
}

BOOST_AUTO_TEST_SUITE_END()
