// SPDX-License-Identifier: BSL-1.0
//
// hyperloglog alone. test/store compares its counts with those of a server.

#include <core/hyperloglog.hpp>
#include <hash/murmur_hash.hpp>
#include <support/unit_test.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(hyperloglog_suite)

using colimit::core::hyperloglog;
using namespace std::string_view_literals;

namespace {

[[nodiscard]] auto mark(int i) {
    return hyperloglog::update_of("member:" + std::to_string(i));
}

constexpr auto registers = 16'384U;
constexpr auto most_value = 51U;

/// Another order of the registers in which each comes once.
[[nodiscard]] std::uint32_t shuffled(std::uint32_t i) {
    return i * 5'003 % registers;
}

/// A value for each register, which differs from those around it.
[[nodiscard]] hyperloglog::register_update mark_at(std::uint32_t place) {
    return {place, place * 7 % most_value + 1};
}

} // namespace

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

BOOST_AUTO_TEST_CASE(a_list_grows_by_half_in_whole_cache_lines) {
    auto sketch = hyperloglog{};
    auto sizes = std::set<std::size_t>{};
    for (std::uint32_t i = 0; i < 1'536; ++i) {
        (void)sketch.add(mark_at(shuffled(i)));
        sizes.insert((sketch.bytes() - 64) / 64);
    }
    BOOST_TEST(sizes == (std::set<std::size_t>{0, 2, 4, 7, 11, 17, 26, 40, 61, 92, 96}),
               boost::test_tools::per_element());
    BOOST_TEST(sketch.bytes() == 64U + 6'144U);
    (void)sketch.add(mark_at(shuffled(1'536)));
    BOOST_TEST(sketch.bytes() > 64U + 12'288U);
}

BOOST_AUTO_TEST_CASE(every_register_keeps_its_own_value) {
    auto sketch = hyperloglog{};
    for (std::uint32_t i = 0; i < registers; ++i)
        BOOST_REQUIRE(sketch.add(mark_at(shuffled(i))));
    const auto count = sketch.count();
    for (std::uint32_t i = 0; i < registers; ++i) {
        const auto [place, value] = mark_at(i);
        BOOST_REQUIRE(!sketch.add({place, value}));
        BOOST_REQUIRE(value == most_value || sketch.count_with({place, value + 1}) >= count);
    }
    BOOST_TEST(sketch.count() == count);
    for (std::uint32_t i = 0; i < registers; ++i) {
        const auto [place, value] = mark_at(i);
        BOOST_REQUIRE(value == most_value || sketch.add({place, value + 1}));
    }
    BOOST_TEST(sketch.count() > count);
}

BOOST_AUTO_TEST_CASE(a_sketch_that_was_emptied_is_as_good_as_new) {
    for (const auto size : {1, 5, 500, 5'000}) {
        auto sketch = hyperloglog{};
        auto counts = std::vector<std::int64_t>{};
        for (int i = 0; i < size; ++i) {
            (void)sketch.add(mark(i));
            counts.push_back(sketch.count());
        }
        sketch.clear();
        BOOST_TEST(sketch.count() == 0);
        BOOST_TEST(sketch.bytes() == 64U);
        for (int i = 0; i < size; ++i) {
            (void)sketch.add(mark(i));
            BOOST_REQUIRE(sketch.count() == counts[static_cast<std::size_t>(i)]);
        }
    }
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

BOOST_AUTO_TEST_CASE(a_member_falls_on_the_end_of_its_hash_and_asks_for_its_next_1) {
    const auto asks = [](std::string_view member, std::uint32_t place, std::uint32_t value) {
        const auto found = hyperloglog::update_of(member);
        return found.index == place && found.value == value;
    };
    // Whose hashes are 2^64 - 1, 2^62 + 7, 2^63 + 6 and 5.
    BOOST_TEST(asks("\x2d\x72\x51\x2e\x8a\x5f\xdb\x3a", registers - 1, 1));
    BOOST_TEST(asks("\x00\x70\x9e\x53\x5e\x1c\x79\x78"sv, 7, 49));
    BOOST_TEST(asks("\x39\x5b\x62\x6e\xd3\x2e\x57\xcd", 6, 50));
    BOOST_TEST(asks("\xf4\x2f\xd7\x00\x8e\x52\x87\x12"sv, 5, most_value));
}

BOOST_AUTO_TEST_CASE(the_hash_sees_every_byte_the_length_and_the_seed) {
    using colimit::hash::murmur_hash;
    BOOST_TEST(murmur_hash("", 0) == 0U);
    BOOST_TEST(murmur_hash("a", 0) != murmur_hash("a", 1));
    BOOST_TEST(murmur_hash("12345678", 0) != murmur_hash("123456789", 0));
    BOOST_TEST(murmur_hash(std::string(1, '\0'), 0) != murmur_hash(std::string(2, '\0'), 0));
}

BOOST_AUTO_TEST_CASE(the_hash_is_that_of_the_server) {
    // With the seed of Redis; test/store counts with both.
    using colimit::hash::murmur_hash;
    constexpr auto seed = 0xadc83b19U;
    BOOST_TEST(murmur_hash("", seed) == 0xd8dfea6585bc9732U);
    BOOST_TEST(murmur_hash("a", seed) == 0x53d2470a9b43b1a7U);
    BOOST_TEST(murmur_hash("abcdefg", seed) == 0x22fe613bb08c9602U);
    BOOST_TEST(murmur_hash("abcdefgh", seed) == 0xf3a65df559914567U);
    BOOST_TEST(murmur_hash("abcdefghi", seed) == 0x834fba4d9152daf7U);
    BOOST_TEST(murmur_hash("abcdefghij\xffklmnopq", seed) == 0x72620506472d47efU);
}

BOOST_AUTO_TEST_SUITE_END()
