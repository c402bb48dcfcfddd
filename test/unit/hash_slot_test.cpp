// SPDX-License-Identifier: BSL-1.0
//
// Hash slots: the values that the cluster specification gives, the rule of braces, and a second
// computation bit by bit. test/integration/redis_cluster_test.cpp compares them with a server's.

#include <redis/protocol/hash_slot.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(hash_slots)

namespace {

using colimit::redis::crc16;
using colimit::redis::hash_slot;
using colimit::redis::hashed_part;

/// CRC-16/XMODEM bit by bit, as the cluster specification defines it.
[[nodiscard]] unsigned crc_by_bits(std::string_view text) {
    auto crc = 0U;
    for (const auto c : text) {
        crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8U;
        for (int bit = 0; bit < 8; ++bit)
            crc = ((crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U) & 0xFFFFU;
    }
    return crc;
}

static_assert(crc16("123456789") == 0x31C3);
static_assert(hash_slot("foo") == 12182 && hash_slot("") == 0); // CLUSTER KEYSLOT says so

} // namespace

BOOST_AUTO_TEST_CASE(the_crc_is_that_of_the_cluster_specification) {
    BOOST_TEST(crc_by_bits("123456789") == 0x31C3U);
    auto random = colimit::test::rng{1};
    for (int i = 0; i < 10'000; ++i) {
        auto bytes = std::string(random.below(40), '\0');
        for (auto& b : bytes)
            b = static_cast<char>(random.bits());
        BOOST_TEST_REQUIRE(crc16(bytes) == crc_by_bits(bytes));
    }
}

BOOST_AUTO_TEST_CASE(the_text_between_the_first_braces_is_hashed_unless_it_is_empty) {
    BOOST_TEST(hashed_part("{user1000}.following") == "user1000");
    BOOST_TEST(hashed_part("foo{}{bar}") == "foo{}{bar}");
    BOOST_TEST(hashed_part("foo{{bar}}zap") == "{bar");
    BOOST_TEST(hashed_part("foo{bar}{zap}") == "bar");
    BOOST_TEST(hashed_part("foo}{bar") == "foo}{bar");
    BOOST_TEST(hashed_part("}{a}") == "a");
    BOOST_TEST(hashed_part("{") == "{");
    BOOST_TEST(hashed_part("{}") == "{}");
    BOOST_TEST(hashed_part("") == "");
    BOOST_TEST(hash_slot("a{user1000}") == hash_slot("{user1000}b"));
}

BOOST_AUTO_TEST_SUITE_END()
