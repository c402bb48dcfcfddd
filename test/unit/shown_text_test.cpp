// SPDX-License-Identifier: BSL-1.0
//
// Names from clients on a terminal: characters stay in a UTF-8 locale, and nothing else does.
#include <support/unit_test.hpp>
#include <tool/frame/format.hpp>

#include <clocale>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(shown_text)

namespace {

using tool::columns_of;
using tool::shown;

/// Sets the locale of characters for a test.
class locale {
  public:
    explicit locale(const char* name) : before_(std::setlocale(LC_CTYPE, nullptr)) {
        BOOST_TEST_REQUIRE(std::setlocale(LC_CTYPE, name) != nullptr);
    }
    ~locale() { std::setlocale(LC_CTYPE, before_.c_str()); }
    locale(const locale&) = delete;
    locale& operator=(const locale&) = delete;

  private:
    std::string before_;
};

constexpr std::string_view zoe = "Zo\xc3\xab";

} // namespace

BOOST_AUTO_TEST_CASE(characters_stay_in_a_utf_8_locale_only) {
    BOOST_TEST(shown(zoe) == "Zo\\xc3\\xab"); // as programs begin
    const locale utf8{"C.UTF-8"};
    for (const std::string_view name :
         {zoe, std::string_view{"\xe6\x9d\xb1\xe4\xba\xac"}, std::string_view{"\xd0\x96"},
          std::string_view{"\xe2\x82\xac"}, std::string_view{"plain"}, std::string_view{""}})
        BOOST_TEST(shown(name) == name);
}

BOOST_AUTO_TEST_CASE(what_a_terminal_obeys_or_hides_is_escaped) {
    const locale utf8{"C.UTF-8"};
    for (const std::string_view bytes :
         {"\x1b[2J", "\x7f", "\xc2\x9b", "\xc2\x80", "\xe2\x80\xae", "\xe2\x80\x8b", "\xe2\x81\xa6",
          "\xef\xbb\xbf", "\xcc\x88", "\xff", "\xc3", "\xe2\x82", "\xc0\x80", "\xed\xa0\x80",
          "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xe2\x80\xa8"})
        BOOST_TEST(shown(bytes) == tool::escaped(bytes), tool::escaped(bytes));
    BOOST_TEST(shown("a\xff\xc3\xab\n") == "a\\xff\xc3\xab\\x0a");
    for (int first = 0; first < 256; ++first)
        for (int second = 0; second < 256; ++second) {
            const std::string bytes{static_cast<char>(first), static_cast<char>(second)};
            const auto text = shown(bytes);
            for (const char c : text)
                BOOST_REQUIRE((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
        }
}

BOOST_AUTO_TEST_CASE(columns_are_those_of_a_terminal) {
    BOOST_TEST(columns_of("") == 0U);
    BOOST_TEST(columns_of("abc") == 3U);
    const locale utf8{"C.UTF-8"};
    BOOST_TEST(columns_of(zoe) == 3U);
    BOOST_TEST(columns_of("\xe6\x9d\xb1\xe4\xba\xac") == 4U);
    BOOST_TEST(columns_of("\xff") == 1U);
}

BOOST_AUTO_TEST_CASE(errors_show_no_password_wherever_it_is_in_an_address) {
    using tool::without_secrets;
    BOOST_TEST(without_secrets("redis://ann:secret@h:6380/1") == "redis://...@h:6380/1");
    BOOST_TEST(without_secrets("redis://ann:se@cret@h") == "redis://...@h");
    BOOST_TEST(without_secrets("redis://ann:12345") == "redis://ann");
    BOOST_TEST(without_secrets("redis://ann:123/45") == "redis://ann");
    BOOST_TEST(without_secrets("redis+sentinel://a,127.0.0.1:1,ann:12345/main") ==
               "redis+sentinel://a,127.0.0.1:1,ann");
    for (const auto* const whole :
         {"redis://127.0.0.1:6380/1", "redis://localhost:1", "redis+cluster://[fe80::1]:1,h",
          "redis+sentinel://h/main/1", "unix:/run/redis.sock", "memory:"})
        BOOST_TEST(without_secrets(whole) == whole);
    BOOST_TEST(tool::without_addresses("redis://ann:12345 is no file: redis://:secret@h") ==
               "redis://ann is no file: redis://...@h");
    BOOST_TEST(tool::without_addresses("a  b ") == "a  b ");
    BOOST_TEST(tool::without_addresses("no 'redis://ann:my secret@h' here") ==
               "no 'redis://...@h' here");
    BOOST_TEST(tool::without_addresses("unix:/x:secret@/s") == "unix:...@/s");
}

BOOST_AUTO_TEST_SUITE_END()
