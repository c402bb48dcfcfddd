// SPDX-License-Identifier: BSL-1.0
//
// hyperloglog on its own. That its counts are those of a server is in test/store.

#include <core/hyperloglog.hpp>
#include <core/murmur_hash.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <string>

using colimit::core::hyperloglog;

namespace {

[[nodiscard]] auto mark(int i) {
    return hyperloglog::mark_of("member:" + std::to_string(i));
}

} // namespace

BOOST_AUTO_TEST_SUITE(hyperloglog_suite)

BOOST_AUTO_TEST_CASE(nothing_is_counted_as_0_and_one_member_as_1) {
    auto sketch = hyperloglog{};
    BOOST_TEST(sketch.count() == 0);
    BOOST_TEST(sketch.count_with(mark(1)) == 1);
    BOOST_TEST(sketch.count() == 0);
    BOOST_TEST(sketch.add(mark(1)));
    BOOST_TEST(!sketch.add(mark(1)));
    BOOST_TEST(sketch.count() == 1);
}

BOOST_AUTO_TEST_CASE(the_count_foretold_is_the_count_after) {
    auto sketch = hyperloglog{};
    for (int i = 0; i < 20'000; ++i) {
        const auto foretold = sketch.count_with(mark(i));
        const auto bytes = sketch.bytes_with(mark(i));
        (void)sketch.add(mark(i));
        BOOST_REQUIRE(sketch.count() == foretold);
        BOOST_REQUIRE(sketch.bytes() == bytes);
    }
}

BOOST_AUTO_TEST_CASE(the_error_is_about_one_percent) {
    auto sketch = hyperloglog{};
    for (int i = 1; i <= 300'000; ++i) {
        (void)sketch.add(mark(i));
        if (i % 1'000 == 0)
            BOOST_REQUIRE(std::abs(static_cast<double>(sketch.count()) / i - 1) < 0.03);
    }
}

BOOST_AUTO_TEST_CASE(few_members_take_little_memory_and_many_12_kib) {
    auto sketch = hyperloglog{};
    auto i = 0;
    const auto add_until = [&](int n) {
        for (; i < n; ++i)
            (void)sketch.add(mark(i));
    };
    BOOST_TEST(sketch.bytes() == 64U);
    add_until(11);
    BOOST_TEST(sketch.bytes() == 64U);
    add_until(100);
    BOOST_TEST(sketch.bytes() <= 64U + 640U);
    add_until(1'000);
    BOOST_TEST(sketch.bytes() <= 64U + 6'144U);
    add_until(100'000);
    BOOST_TEST(sketch.bytes() <= 64U + 12'288U + 104U);
}

BOOST_AUTO_TEST_CASE(what_becomes_dense_keeps_every_register) {
    auto sketch = hyperloglog{};
    auto before = std::int64_t{0};
    for (int i = 0; i < 5'000; ++i) {
        (void)sketch.add(mark(i));
        const auto after = sketch.count();
        BOOST_REQUIRE(after >= before);
        before = after;
    }
    for (int i = 0; i < 5'000; ++i)
        BOOST_REQUIRE(!sketch.add(mark(i)));
}

BOOST_AUTO_TEST_CASE(the_hash_sees_every_byte_the_length_and_the_seed) {
    using colimit::core::murmur_hash;
    BOOST_TEST(murmur_hash("", 0) == 0U);
    BOOST_TEST(murmur_hash("a", 0) != murmur_hash("a", 1));
    BOOST_TEST(murmur_hash("12345678", 0) != murmur_hash("123456789", 0));
    BOOST_TEST(murmur_hash(std::string(1, '\0'), 0) != murmur_hash(std::string(2, '\0'), 0));
}

BOOST_AUTO_TEST_CASE(the_hash_is_that_of_the_server) {
    // With the seed of Redis; test/store counts with both.
    using colimit::core::murmur_hash;
    constexpr auto seed = 0xadc83b19U;
    BOOST_TEST(murmur_hash("", seed) == 0xd8dfea6585bc9732U);
    BOOST_TEST(murmur_hash("a", seed) == 0x53d2470a9b43b1a7U);
    BOOST_TEST(murmur_hash("abcdefg", seed) == 0x22fe613bb08c9602U);
    BOOST_TEST(murmur_hash("abcdefgh", seed) == 0xf3a65df559914567U);
    BOOST_TEST(murmur_hash("abcdefghi", seed) == 0x834fba4d9152daf7U);
    BOOST_TEST(murmur_hash("abcdefghij\xffklmnopq", seed) == 0x72620506472d47efU);
}

BOOST_AUTO_TEST_SUITE_END()
