// SPDX-License-Identifier: BSL-1.0
//
// The tags of keys, for each number of them: where their slots are, which keys have which tag, and
// that they never change, since servers hold keys with them.

#include <colimit/key.hpp>
#include <colimit/limits.hpp>
#include <redis/protocol/key_tags.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(tags_of_keys)

namespace {

using colimit::redis::hash_slot;
using colimit::redis::hash_slot_count;
using colimit::redis::key_tags;

/// Calls `check` for each number of tags.
template<class Check>
void for_each_number(Check check) {
    for (std::size_t count = 1; count <= hash_slot_count; count *= 2)
        check(key_tags{count});
}

/// Returns the text of two characters whose slot is nearest to this one; the first of these in the
/// order of their bytes.
[[nodiscard]] std::string nearest_text(int slot) {
    constexpr std::string_view letters = "0123456789abcdefghijklmnopqrstuvwxyz";
    auto best = std::string{};
    auto distance = static_cast<int>(hash_slot_count);
    for (const auto a : letters)
        for (const auto b : letters) {
            const auto text = std::string{a, b};
            const auto apart = std::abs(hash_slot(text) - slot);
            if (apart < distance) {
                distance = apart;
                best = text;
            }
        }
    return best;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_slots_of_tags_are_equally_far_apart) {
    for_each_number([](const key_tags& tags) {
        const auto part = hash_slot_count / tags.count();
        auto slots = std::vector<std::size_t>{};
        for (std::size_t i = 0; i < tags.count(); ++i)
            slots.push_back(tags.slot(i));
        for (std::size_t i = 0; i < slots.size(); ++i) {
            BOOST_TEST_REQUIRE(slots[i] / part == i);
            BOOST_TEST_REQUIRE(hash_slot(tags.text(i)) == slots[i]);
            const auto apart = i == 0 ? part : slots[i] - slots[i - 1];
            // Texts of two characters are not in all slots.
            BOOST_TEST_REQUIRE(apart >= (tags.count() <= 64 ? part - part / 4 : part));
        }
    });
}

BOOST_AUTO_TEST_CASE(masters_with_equal_ranges_have_equally_many_tags) {
    for_each_number([](const key_tags& tags) {
        for (const std::size_t masters : {1U, 2U, 3U, 5U, 6U, 16U, 20U, 100U, 1'000U}) {
            auto tags_of = std::vector<std::size_t>(masters);
            for (std::size_t i = 0; i < tags.count(); ++i)
                ++tags_of[tags.slot(i) * masters / hash_slot_count];
            for (const auto n : tags_of)
                BOOST_TEST_REQUIRE(n <= tags.count() / masters + 2);
        }
    });
}

BOOST_AUTO_TEST_CASE(the_64_tags_of_two_characters_are_the_nearest_to_the_middle_of_their_part) {
    const auto tags = key_tags{};
    for (std::size_t i = 0; i < tags.count(); ++i)
        BOOST_TEST(tags.text(i) == nearest_text(static_cast<int>(256 * i + 128)));
}

BOOST_AUTO_TEST_CASE(tags_stay_what_they_are) {
    BOOST_TEST(key_tags{}.count() == 64U);
    BOOST_TEST(key_tags{}.text(0) == "mm");
    BOOST_TEST(key_tags{}.text(63) == "44");
    BOOST_TEST(key_tags{1}.text(0) == key_tags{64}.text(32));
    BOOST_TEST(key_tags{2}.text(1) == key_tags{64}.text(48));
    BOOST_TEST(key_tags{32}.text(0) == key_tags{64}.text(1));
    BOOST_TEST(key_tags{128}.text(0) == "5n3");
    BOOST_TEST(key_tags{128}.text(127) == "45c");
    BOOST_TEST(key_tags{1'024}.text(1) == "0Sv");
    BOOST_TEST(key_tags{hash_slot_count}.text(0) == "06S");
    BOOST_TEST(key_tags{hash_slot_count}.text(8'192) == "8YG");
    BOOST_TEST(key_tags{hash_slot_count}.text(16'383) == "6ZJ");
    BOOST_TEST(key_tags{}.of("foobar") == 25U);
}

BOOST_AUTO_TEST_CASE(all_tags_of_one_number_have_one_size) {
    for_each_number([](const key_tags& tags) {
        auto texts = std::set<std::string_view>{};
        for (std::size_t i = 0; i < tags.count(); ++i) {
            BOOST_TEST_REQUIRE(tags.text(i).size() == tags.text(0).size());
            texts.insert(tags.text(i));
        }
        BOOST_TEST(texts.size() == tags.count());
    });
}

BOOST_AUTO_TEST_CASE(half_as_many_tags_join_neighbours) {
    for_each_number([](const key_tags& tags) {
        if (tags.count() == 1)
            return;
        const auto fewer = key_tags{tags.count() / 2};
        for (int i = 0; i < 1'000; ++i) {
            const auto key = "user:" + std::to_string(i);
            BOOST_TEST_REQUIRE(tags.of(key) < tags.count());
            BOOST_TEST_REQUIRE(fewer.of(key) == tags.of(key) / 2);
        }
    });
}

BOOST_AUTO_TEST_CASE(keys_spread_evenly_over_the_tags_also_where_only_their_ends_differ) {
    const auto tags = key_tags{};
    for (const std::string begin : {"", "192.168.", "user:", "a long common beginning of keys/"}) {
        auto counts = std::array<int, key_tags::usual>{};
        for (int i = 0; i < 64'000; ++i)
            ++counts[tags.of(begin + std::to_string(i))];
        for (const auto n : counts) {
            BOOST_TEST(n > 800);
            BOOST_TEST(n < 1200);
        }
        auto few = std::set<std::size_t>{};
        for (int i = 0; i < 10; ++i)
            few.insert(tags.of(begin + std::to_string(i)));
        BOOST_TEST(few.size() >= 5U);
    }
}

BOOST_AUTO_TEST_CASE(keys_with_a_common_tag_have_the_tag_of_its_bytes) {
    constexpr std::size_t long_key = 1'000;
    for_each_number([](const key_tags& tags) {
        for (const std::string common : {"", "acme", "user=1", "tag=x", "a=b#c", "\r\n{x}\xff"}) {
            const auto expected = tags.of(common);
            for (const auto* const mark : {"tag=", "tag#"})
                for (const auto& rest :
                     {std::string{}, std::string{"user=42"}, std::string{";;"},
                      std::string{"tag=other;global"}, std::string(long_key, 'x')})
                    BOOST_TEST_REQUIRE(tags.of(mark + common + ";" + rest) == expected);
        }
    });
}

BOOST_AUTO_TEST_CASE(keys_that_only_resemble_one_with_a_common_tag_are_hashed_whole) {
    for (const std::string key :
         {"", "t", "tag", "tag=", "tag#", "tag=acme", "tag;", "tag;x;", "tags=acme;user=42",
          "tag:acme;user=42", " tag=acme;user=42", "TAG=acme;user=42", "user=42;tag=acme;",
          "{acme}user", "all#tag=acme;"})
        BOOST_TEST(colimit::redis::deciding_part(key) == key);
    const auto zero = std::string{"tag\0acme;user=42", 16};
    BOOST_TEST(colimit::redis::deciding_part(zero) == zero);
}

BOOST_AUTO_TEST_CASE(keys_of_the_builder_have_the_slot_of_their_tag_and_no_others_one) {
    const auto tags = key_tags{};
    const auto part = std::string(colimit::limits::max_key_part_bytes, 'p');
    for (int i = 0; i < 300; ++i) {
        const auto tenant = "tenant;" + std::to_string(i);
        const auto expected = tags.of(colimit::key::global().tagged(tenant));
        BOOST_TEST_REQUIRE(tags.of(colimit::key::user("u").part(tenant).tagged(tenant)) ==
                           expected);
        BOOST_TEST_REQUIRE(tags.of(colimit::key::user(part).part(part).part(part).tagged(tenant)) ==
                           expected);
        // Nothing that a client writes into a part is a tag.
        const auto plain = colimit::key::user("tag=acme;" + std::to_string(i));
        BOOST_TEST_REQUIRE(colimit::redis::deciding_part(plain) == plain.view());
    }
    const auto longest = std::string(2 * part.size(), 't');
    BOOST_TEST(tags.of(colimit::key::user("1").tagged(longest)) ==
               tags.of(colimit::key::user("2").tagged(longest)));
}

BOOST_AUTO_TEST_CASE(each_shard_has_a_tag_of_its_own) {
    for_each_number([](const key_tags& tags) {
        BOOST_TEST(tags.shards() == std::min(tags.count(), colimit::redis::shard_count));
        auto names = std::set<std::string_view>{};
        for (std::size_t i = 0; i < tags.shards(); ++i) {
            BOOST_TEST(tags.shard_of(tags.of_shard(i)) == i);
            names.insert(tags.text(tags.of_shard(i)));
        }
        BOOST_TEST(names.size() == tags.shards());
        for (std::size_t tag = 0; tag < tags.count(); ++tag)
            BOOST_TEST_REQUIRE(tags.shard_of(tag) == tag * tags.shards() / tags.count());
    });
}

BOOST_AUTO_TEST_SUITE_END()
