// SPDX-License-Identifier: BSL-1.0
//
// Names of keys: digests of long keys, and that no bytes of a key can be taken for something else.

#include <hash/fnv1a.hpp>
#include <hash/sha256.hpp>
#include <support/unit_test.hpp>

#include <redis/protocol/hash_slot.hpp>
#include <redis/protocol/key.hpp>
#include <support/usual_tags.hpp>

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(keys)

namespace {

using namespace colimit;

[[nodiscard]] std::string name_of(std::string_view key, std::string_view policy = "p",
                                  std::string_view prefix = "colimit") {
    auto out = std::string{};
    const auto family_at = redis::append_key(out, prefix, policy, key);
    auto names = redis::key_names{};
    names.start("another", "policy", test::usual_tags.text(1));
    names.start(prefix, policy, test::usual_tags.text(0));
    auto same = std::string{"behind: "};
    BOOST_TEST(names.append(same, key, test::usual_tags.text(test::tag_of(key))) == family_at);
    BOOST_TEST(same == "behind: " + out);
    return out;
}

[[nodiscard]] std::string sha256_hex(std::string_view bytes) {
    auto digest = std::array<unsigned char, 32>{};
    auto size = 0U;
    BOOST_REQUIRE(
        EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1);
    auto hex = std::string{};
    for (const auto byte : digest) {
        hex += "0123456789abcdef"[byte >> 4U];
        hex += "0123456789abcdef"[byte & 15U];
    }
    return hex;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_hash_of_a_key_stays_what_it_is_since_servers_hold_its_tags) {
    BOOST_TEST(hash::fnv1a_64("") == 0xcbf29ce484222325U);
    BOOST_TEST(hash::fnv1a_64("a") == 0xaf63dc4c8601ec8cU);
    BOOST_TEST(hash::fnv1a_64("foobar") == 0x85944171f73967e8U);
    BOOST_TEST(name_of("foobar") == "colimit:{91}:p:k:foobar");
}

BOOST_AUTO_TEST_CASE(keys_of_up_to_256_bytes_stand_in_their_name_as_they_are) {
    const auto key = std::string(256, 'x');
    BOOST_TEST(name_of(key).ends_with(":p:k:" + key));
    BOOST_TEST(name_of("").ends_with("}:p:k:"));
}

BOOST_AUTO_TEST_CASE(longer_keys_are_replaced_by_128_bits_of_their_sha256) {
    for (const auto size : {257U, 1000U, 65'536U}) {
        auto key = std::string(size, '\0');
        for (std::size_t i = 0; i < key.size(); ++i)
            key[i] = static_cast<char>(i * 31);
        BOOST_TEST(name_of(key).ends_with("}:p:h:" + sha256_hex(key).substr(0, 32)));
    }
}

BOOST_AUTO_TEST_CASE(a_digest_can_be_computed_again_and_again) {
    const auto text = [](std::string_view bytes) {
        const auto hex = hash::sha256_hex(bytes);
        return std::string{hex.data(), hex.size()};
    };
    BOOST_TEST(text("abc") == "ba7816bf8f01cfea414140de5dae2223");
    BOOST_TEST(text("") == "e3b0c44298fc1c149afbf4c8996fb924");
    BOOST_TEST(text("abc") == "ba7816bf8f01cfea414140de5dae2223");
}

BOOST_AUTO_TEST_CASE(a_name_is_hashed_by_its_tag_whatever_the_bytes_of_the_key) {
    for (const std::string key :
         {"{}", "{other}", "}{", "a}b", "{", "\r\n{x}", "k:{mm}", "tag={x};y", "tag=}{;"})
        BOOST_TEST(redis::hashed_part(name_of(key)) == test::usual_tags.text(test::tag_of(key)));
}

BOOST_AUTO_TEST_CASE(all_policies_keep_a_key_under_the_same_tag) {
    BOOST_TEST(redis::hashed_part(name_of("user", "a")) ==
               redis::hashed_part(name_of("user", "b", "other")));
}

BOOST_AUTO_TEST_CASE(hostile_bytes_never_make_two_keys_share_a_name) {
    const auto zero = std::string(1, '\0');
    auto keys = std::vector<std::string>{
        "",
        "a",
        "a" + zero,
        zero + "a",
        "a\r\n",
        "\r\na",
        "a:k:b",
        "k:a",
        ":",
        "{a}",
        "}:p:k:a",
        "h:",
        "\xff",
        "\xc3\xbc",
        "u\xcc\x88",
        "A",
        " a",
        "a ",
        "b:k:a",
        "p2:k:a",
        "p:k:",
        ":k:",
        "colimit:{g3}:p:k:foobar",
        "tag=t;a",
        "tag#t;a",
        "tag=t;",
        "tag=t",
        "tag=;a",
        "tag=u;a",
    };
    for (const auto size : {255U, 256U, 257U, 258U})
        for (const auto last : {'x', 'y', '\0'})
            for (const auto* const begin : {"", "tag=t;", "tag=u;"})
                keys.push_back(begin + std::string(size - 1, 'x') + last);
    // A short key that is spelt as the digest of a long one.
    const auto long_name = name_of(keys.back());
    keys.push_back(long_name.substr(long_name.rfind(':') + 1));
    keys.push_back("h:" + keys.back());

    auto names = std::set<std::string>{};
    auto count = std::size_t{0};
    for (const auto& prefix : {"colimit", "c", "colimit.p"})
        for (const auto& policy : {"p", "p.k", "p2", "k"})
            for (const auto& key : keys) {
                names.insert(name_of(key, policy, prefix));
                ++count;
            }
    BOOST_TEST(names.size() == count);
}

BOOST_AUTO_TEST_SUITE_END()
