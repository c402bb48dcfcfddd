// SPDX-License-Identifier: BSL-1.0
//
// The embedding of the Lua scripts: EVALSHA finds a script only if the SHA-1 is the server's, that
// of exactly the bytes of SCRIPT LOAD.
#include "redis/protocol/script.hpp"

#include <support/unit_test.hpp>

#include <array>
#include <openssl/sha.h>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(script)

namespace {

std::string sha1_hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
    SHA1(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
    std::string hex;
    for (const unsigned byte : digest) {
        hex += digits[byte >> 4U];
        hex += digits[byte & 15U];
    }
    return hex;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_sha1_of_a_script_is_that_of_its_bytes) {
    const auto& script = colimit::redis::check_script;
    BOOST_TEST(script.sha1 == sha1_hex(script.body));
}

BOOST_AUTO_TEST_CASE(a_script_is_embedded_whole) {
    const auto& script = colimit::redis::check_script;
    BOOST_TEST(script.body.starts_with("--"));
    BOOST_TEST(script.body.ends_with("\n"));
}

/// The version is that of the whole library, so one of another version has none of its functions.
BOOST_AUTO_TEST_CASE(each_script_is_a_function_of_the_library_with_its_version) {
    using namespace colimit::redis;
    const auto library = std::string{function_library};
    BOOST_REQUIRE(library.starts_with("colimit_"));
    const auto version = library.substr(std::string_view{"colimit"}.size());
    BOOST_TEST(version.size() == 13U);
    BOOST_TEST(version.find_first_not_of("_0123456789abcdef") == std::string::npos);
    BOOST_TEST(check_script.function == "colimit_check" + version);
    BOOST_TEST(seen_script.function == "colimit_seen" + version);
    BOOST_TEST(permissions_script.function == "colimit_permissions" + version);
    for (const auto* s : {&check_script, &seen_script, &permissions_script})
        BOOST_TEST(s->function_if_full == std::string{s->function} + "_if_full");
}

BOOST_AUTO_TEST_SUITE_END()
