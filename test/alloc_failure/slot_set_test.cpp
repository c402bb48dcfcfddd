// SPDX-License-Identifier: BSL-1.0
//
// A set of holders that gets no memory for one more stays as it is.

#include <alloc_failure/failing_new.hpp>
#include <core/slot_set.hpp>
#include <support/unit_test.hpp>

#include <cstdint>
#include <string>

BOOST_AUTO_TEST_SUITE(failing_slot_sets)

using colimit::core::slot_set;
using colimit::test::shortage;

BOOST_AUTO_TEST_CASE(a_set_without_memory_for_a_holder_says_so_and_stays_as_it_is) {
    constexpr auto now = std::int64_t{1'700'000'000'000'000};
    auto set = slot_set{};
    auto refused = 0;
    for (auto i = 100; i < 150; ++i) {
        const auto bytes = set.bytes();
        auto has_room = false;
        {
            const auto failing = shortage{1, 1'000};
            has_room = set.make_room(now);
        }
        BOOST_TEST(set.bytes() == bytes);
        BOOST_TEST_REQUIRE(has_room == (set.bytes_with_room(now) == bytes));
        refused += has_room ? 0 : 1;
        BOOST_TEST_REQUIRE(set.make_room(now));
        set.add("holder no" + std::to_string(i), now, 1'000);
    }
    BOOST_TEST(refused == 5); // for 4, 8, 16, 32 and 64 holders
}

BOOST_AUTO_TEST_SUITE_END()
