// SPDX-License-Identifier: BSL-1.0
//
// Bytes that are not valid RESP are rejected at the first faulty byte, and the message says what is
// wrong.

#include <support/resp_text.hpp>
#include <support/unit_test.hpp>

#include <string_view>

BOOST_AUTO_TEST_SUITE(resp_malformed)

using namespace std::string_view_literals;
using colimit::test::read_one;

BOOST_AUTO_TEST_CASE(a_byte_that_begins_no_value_is_refused) {
    for (const auto wire :
         {"HTTP/1.1 400 Bad Request\r\n"sv, "\r\n"sv, "\0"sv, ";4\r\n"sv, ".\r\n"sv})
        BOOST_TEST(read_one(wire) == "malformed at 0: no type of value begins with this byte");
    BOOST_TEST(read_one("*1\r\n?") == "malformed at 4: no type of value begins with this byte");
}

BOOST_AUTO_TEST_CASE(a_number_in_another_spelling_is_refused) {
    for (const auto wire : {":+1\r\n"sv, ":\r\n"sv, ": 1\r\n"sv, ":x\r\n"sv, "$\r\n"sv, "*+1\r\n"sv,
                            "%x\r\n"sv, "|\r\n"sv})
        BOOST_TEST(read_one(wire) == "malformed at 1: not a whole number");
    BOOST_TEST(read_one(":-\r\n") == "malformed at 2: not a whole number");
    BOOST_TEST(read_one(":--1\r\n") == "malformed at 2: not a whole number");
    BOOST_TEST(read_one(":01\r\n") == "malformed at 2: a number with a needless zero");
    BOOST_TEST(read_one("$00\r\n\r\n") == "malformed at 2: a number with a needless zero");
    BOOST_TEST(read_one(":-0\r\n") == "malformed at 2: a number with a needless zero");
    BOOST_TEST(read_one(":1.5\r\n") == "malformed at 2: not CRLF where a line ends");
    BOOST_TEST(read_one(":1 \r\n") == "malformed at 2: not CRLF where a line ends");
    BOOST_TEST(read_one("*0x1\r\n") == "malformed at 2: not CRLF where a line ends");
}

BOOST_AUTO_TEST_CASE(a_number_beyond_64_bits_is_refused_at_the_digit_that_leads_there) {
    const auto words = "a number beyond 64 bits"sv;
    const auto at = [words](int place) {
        return "malformed at " + std::to_string(place) + ": " + std::string{words};
    };
    BOOST_TEST(read_one(":9223372036854775808") == at(19));
    BOOST_TEST(read_one(":-9223372036854775809") == at(20));
    BOOST_TEST(read_one(":92233720368547758070") == at(20));
    BOOST_TEST(read_one("$18446744073709551615") == at(20));
    BOOST_TEST(read_one("*99999999999999999999999") == at(19));
}

BOOST_AUTO_TEST_CASE(only_minus_one_is_a_negative_length_and_only_in_resp2) {
    for (const auto wire :
         {"$-2\r\n"sv, "*-2\r\n"sv, "*-10\r\n"sv, "=-1\r\n"sv, "!-1\r\n"sv, "%-1\r\n"sv,
          "~-1\r\n"sv, ">-1\r\n"sv, "|-1\r\n"sv, "$-9223372036854775808\r\n"sv})
        BOOST_TEST(read_one(wire) == "malformed at 1: a negative length");
}

BOOST_AUTO_TEST_CASE(streamed_values_are_refused) {
    for (const auto wire : {"$?\r\n"sv, "*?\r\n"sv, "%?\r\n"sv, "~?\r\n"sv, ">?\r\n"sv})
        BOOST_TEST(read_one(wire) == "malformed at 1: a streamed value");
}

BOOST_AUTO_TEST_CASE(a_line_ends_in_crlf_and_in_nothing_else) {
    const auto words = ": not CRLF where a line ends";
    BOOST_TEST(read_one("+a\nb\r\n") == std::string{"malformed at 2"} + words);
    BOOST_TEST(read_one("+a\rb\r\n") == std::string{"malformed at 3"} + words);
    BOOST_TEST(read_one("+a\r\r\n") == std::string{"malformed at 3"} + words);
    BOOST_TEST(read_one(":1\n") == std::string{"malformed at 2"} + words);
    BOOST_TEST(read_one("$1\na\r\n") == std::string{"malformed at 2"} + words);
    BOOST_TEST(read_one("_ \r\n") == std::string{"malformed at 1"} + words);
    BOOST_TEST(read_one("#tt\r\n") == std::string{"malformed at 2"} + words);
}

BOOST_AUTO_TEST_CASE(a_bulk_string_of_another_length_than_announced_is_refused) {
    const auto words = ": not CRLF where a line ends";
    BOOST_TEST(read_one("$3\r\nabcd\r\n") == std::string{"malformed at 7"} + words);
    BOOST_TEST(read_one("$3\r\nab\r\n:1\r\n") == std::string{"malformed at 7"} + words);
    BOOST_TEST(read_one("$3\r\nabc\rd") == std::string{"malformed at 8"} + words);
    BOOST_TEST(read_one("$3\r\nabc\n\n") == std::string{"malformed at 7"} + words);
}

BOOST_AUTO_TEST_CASE(a_verbatim_string_needs_its_format) {
    const auto words = ": a verbatim string without a format";
    BOOST_TEST(read_one("=3\r\ntxt\r\n") == std::string{"malformed at 1"} + words);
    BOOST_TEST(read_one("=5\r\nplain\r\n") == std::string{"malformed at 7"} + words);
}

BOOST_AUTO_TEST_CASE(a_boolean_is_t_or_f) {
    for (const auto wire : {"#1\r\n"sv, "#T\r\n"sv, "#\r\n"sv})
        BOOST_TEST(read_one(wire) == "malformed at 1: not a boolean");
}

BOOST_AUTO_TEST_CASE(a_real_that_is_none_is_refused) {
    for (const auto wire : {",\r\n"sv, ",-\r\n"sv, ",+1\r\n"sv, ",.5\r\n"sv, ",1.\r\n"sv,
                            ",1e\r\n"sv, ",1e+\r\n"sv, ",1.5x\r\n"sv, ",infinity\r\n"sv,
                            ",NaN\r\n"sv, ",1,5\r\n"sv, ",0x1p3\r\n"sv, ", 1\r\n"sv})
        BOOST_TEST(read_one(wire) == "malformed at 1: not a real number");
}

BOOST_AUTO_TEST_CASE(a_big_number_that_is_none_is_refused) {
    for (const auto wire : {"(\r\n"sv, "(-\r\n"sv, "(+1\r\n"sv, "(1.5\r\n"sv, "(12x\r\n"sv})
        BOOST_TEST(read_one(wire) == "malformed at 1: not a big number");
}

BOOST_AUTO_TEST_CASE(a_push_inside_a_reply_is_refused) {
    BOOST_TEST(read_one("*2\r\n>1\r\n") == "malformed at 4: a push inside a reply");
    BOOST_TEST(read_one("|1\r\n>1\r\n") == "malformed at 4: a push inside a reply");
}

BOOST_AUTO_TEST_SUITE_END()
