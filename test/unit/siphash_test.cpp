// SPDX-License-Identifier: BSL-1.0
//
// SipHash against the published vectors: key 00..0f, messages 00, 00 01, 00 01 02, ...

#include <hash/siphash.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <set>
#include <string>
#include <utility>

BOOST_AUTO_TEST_SUITE(siphash_vectors)

namespace {

using colimit::hash::digest;
using colimit::hash::siphash;

constexpr digest secret{0x0706050403020100, 0x0f0e0d0c0b0a0908};

[[nodiscard]] std::string message(std::size_t size) {
    auto text = std::string(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
        text[i] = static_cast<char>(i);
    return text;
}

/// The digest's bytes as hex, in the order in which they are published.
[[nodiscard]] std::string hex(const digest& d) {
    auto text = std::string{};
    for (const auto word : {d.low, d.high})
        for (unsigned i = 0; i < 8; ++i)
            for (const auto shift : {4U, 0U})
                text += "0123456789abcdef"[(word >> (8 * i + shift)) & 15];
    return text;
}

using vectors = std::array<std::pair<std::size_t, const char*>, 8>;

} // namespace

BOOST_AUTO_TEST_CASE(two_and_four_rounds_give_the_published_values) {
    static constexpr vectors published{{{0, "a3817f04ba25a8e66df67214c7550293"},
                                        {1, "da87c1d86b99af44347659119b22fc45"},
                                        {7, "a1f1ebbed8dbc153c0b84aa61ff08239"},
                                        {8, "3b62a9ba6258f5610f83e264f31497b4"},
                                        {9, "264499060ad9baabc47f8b02bb6d71ed"},
                                        {15, "5493e99933b0a8117e08ec0f97cfc3d9"},
                                        {16, "6ee2a4ca67b054bbfd3315bf85230577"},
                                        {63, "5150d1772f50834a503e069a973fbd7c"}}};
    for (const auto& [size, expected] : published)
        BOOST_TEST(hex(siphash<2, 4>{secret}.finish(message(size))) == expected);
}

BOOST_AUTO_TEST_CASE(one_and_three_rounds_give_the_values_of_another_implementation) {
    static constexpr vectors published{{{0, "e77ebcb22788a5befd62db6add303001"},
                                        {1, "fc6f370460d3eda85e0573cc2b2ff063"},
                                        {7, "1084b923f2aae0c3a62f2ec80848ab77"},
                                        {8, "aa12fee1d5e3dab4724f16ab35f9c799"},
                                        {9, "81ddb8042cf33994f4720e0094137c42"},
                                        {15, "c17e5505b2bd526c2921cdec1e7e0109"},
                                        {16, "d0a8d95715518eebb513b0f83d9e1793"},
                                        {63, "4c5800e34efe426f079f6b0aa75260ad"}}};
    for (const auto& [size, expected] : published)
        BOOST_TEST(hex(siphash<1, 3>{secret}.finish(message(size))) == expected);
}

BOOST_AUTO_TEST_CASE(a_message_may_begin_with_words) {
    const auto all = message(37);
    auto hash = siphash<2, 4>{secret};
    hash.add(0x0706050403020100);
    hash.add(0x0f0e0d0c0b0a0908);
    BOOST_TEST(hex(hash.finish(std::string_view{all}.substr(16))) ==
               hex(siphash<2, 4>{secret}.finish(all)));
}

BOOST_AUTO_TEST_CASE(policy_key_and_secret_each_change_the_digest) {
    using colimit::hash::begin_key_hash;
    using colimit::hash::key_digest;
    using colimit::hash::name_digest;
    auto seen = std::set<std::string>{};
    for (const auto& s : {secret, digest{1, 0}, digest{0, 1}})
        for (const auto* name : {"a", "ab", "abc"})
            for (const auto* key : {"", "c", "bc", "abc"})
                seen.insert(hex(key_digest(begin_key_hash(s, name_digest(name)), key)));
    BOOST_TEST(seen.size() == 36U);
}

BOOST_AUTO_TEST_SUITE_END()
