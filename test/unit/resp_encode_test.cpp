// SPDX-License-Identifier: BSL-1.0
//
// Requests: the bytes are those of the protocol, and the decoder reads back what was given.

#include <support/resp_text.hpp>
#include <support/unit_test.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(resp_encode)

using namespace std::string_view_literals;
namespace resp = colimit::redis::resp;

namespace {

/// The bulk strings of the array that `wire` is.
std::vector<std::string> words_of(std::string_view wire) {
    auto d = resp::decoder{};
    BOOST_REQUIRE(d.feed(wire) == resp::progress::complete);
    BOOST_REQUIRE(d.consumed() == wire.size());
    BOOST_REQUIRE((d.nodes()[0].kind == resp::kind::array));
    auto words = std::vector<std::string>{};
    for (const auto& n : d.nodes().subspan(1)) {
        BOOST_REQUIRE((n.kind == resp::kind::bulk));
        words.emplace_back(d.text(n, wire));
    }
    BOOST_REQUIRE(words.size() == d.nodes()[0].size);
    return words;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_command_is_an_array_of_bulk_strings) {
    auto out = std::string{};
    resp::append_command(out, {"SET", "key", ""});
    BOOST_TEST(out == "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(requests_are_appended_behind_each_other) {
    auto out = std::string{};
    resp::append_command(out, {"ASKING"});
    resp::append_command(out, {"PING"});
    BOOST_TEST(out == "*1\r\n$6\r\nASKING\r\n*1\r\n$4\r\nPING\r\n");
}

BOOST_AUTO_TEST_CASE(a_body_may_be_appended_behind_its_header) {
    auto out = std::string{};
    resp::append_array(out, 2);
    resp::append_bulk(out, "ECHO");
    resp::append_bulk_header(out, 5);
    out += "he";
    out += "llo\r\n";
    BOOST_TEST(words_of(out) == (std::vector<std::string>{"ECHO", "hello"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(headers_hold_every_size) {
    auto out = std::string{};
    resp::append_array(out, 0);
    resp::append_bulk_header(out, std::numeric_limits<std::size_t>::max());
    BOOST_TEST(out == "*0\r\n$18446744073709551615\r\n");
}

BOOST_AUTO_TEST_CASE(a_word_of_any_bytes_is_read_back_as_it_was) {
    auto every_byte = std::string{};
    for (int i = 0; i < 256; ++i)
        every_byte += static_cast<char>(i);
    const auto injection = "x\r\n*1\r\n$8\r\nFLUSHALL\r\n"sv;
    auto out = std::string{};
    resp::append_command(out, {every_byte, injection, "\0"sv, "", "\r\n"});
    const auto expected = std::vector<std::string>{every_byte, std::string{injection},
                                                   std::string(1, '\0'), "", "\r\n"};
    BOOST_TEST(words_of(out) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(words_of_every_length_are_read_back_as_they_were) {
    for (const std::size_t size :
         {1U, 9U, 10U, 44U, 99U, 100U, 999U, 1000U, 9999U, 10'000U, 65'536U}) {
        const auto word = std::string(size, '\r');
        auto out = std::string{};
        resp::append_command(out, {word, word});
        BOOST_TEST((words_of(out) == std::vector<std::string>{word, word}), "size " << size);
    }
}

BOOST_AUTO_TEST_SUITE_END()
