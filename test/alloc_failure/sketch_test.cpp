// SPDX-License-Identifier: BSL-1.0
//
// A sketch that gets no memory counts on with what it has.

#include <alloc_failure/failing_new.hpp>
#include <core/hyperloglog.hpp>
#include <support/unit_test.hpp>

#include <cstdint>

BOOST_AUTO_TEST_SUITE(failing_sketches)

using colimit::core::hyperloglog;
using colimit::test::shortage;

BOOST_AUTO_TEST_CASE(a_sketch_without_memory_for_a_member_stays_as_it_is) {
    auto sketch = hyperloglog{};
    auto refused = 0;
    for (std::uint32_t place = 0; place < 2'000; ++place) {
        const auto mark = hyperloglog::register_update{place, place % 51 + 1};
        const auto count = sketch.count();
        const auto bytes = sketch.bytes();
        auto has_room = false;
        auto is_new = false;
        {
            const auto failing = shortage{1, 1'000};
            has_room = sketch.make_room_for(mark);
            is_new = sketch.add(mark);
        }
        BOOST_TEST_REQUIRE(is_new == has_room);
        if (has_room)
            continue;
        ++refused;
        BOOST_TEST(sketch.count() == count);
        BOOST_TEST(sketch.bytes() == bytes);
        BOOST_TEST(sketch.add(mark));
        BOOST_TEST(sketch.count() > count);
    }
    BOOST_TEST(refused == 11); // ten times for a longer list, once for all registers
}

BOOST_AUTO_TEST_SUITE_END()
