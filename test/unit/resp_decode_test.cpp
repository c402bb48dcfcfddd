// SPDX-License-Identifier: BSL-1.0
//
// The nodes of each kind of reply, and how the decoder continues with the next reply.

#include <support/resp_text.hpp>
#include <support/unit_test.hpp>

#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(resp_decode)

using namespace std::string_view_literals;
using colimit::test::describe;
using colimit::test::read_one;
namespace resp = colimit::redis::resp;

BOOST_AUTO_TEST_CASE(every_kind_of_resp2_is_read) {
    BOOST_TEST(read_one("+OK\r\n") == "simple \"OK\" in 5 bytes");
    BOOST_TEST(read_one("+\r\n") == "simple \"\" in 3 bytes");
    BOOST_TEST(read_one("-NOSCRIPT No matching script.\r\n") ==
               "error \"NOSCRIPT No matching script.\" in 31 bytes");
    BOOST_TEST(read_one(":0\r\n") == "integer 0 in 4 bytes");
    BOOST_TEST(read_one(":-1\r\n") == "integer -1 in 5 bytes");
    BOOST_TEST(read_one("$5\r\nhello\r\n") == "bulk \"hello\" in 11 bytes");
    BOOST_TEST(read_one("$0\r\n\r\n") == "bulk \"\" in 6 bytes");
    BOOST_TEST(read_one("$-1\r\n") == "null in 5 bytes");
    BOOST_TEST(read_one("*-1\r\n") == "null in 5 bytes");
    BOOST_TEST(read_one("*0\r\n") == "array[] in 4 bytes");
    BOOST_TEST(read_one("*3\r\n$1\r\na\r\n$-1\r\n:7\r\n") ==
               "array[bulk \"a\" null integer 7] in 20 bytes");
}

BOOST_AUTO_TEST_CASE(every_kind_of_resp3_is_read) {
    BOOST_TEST(read_one("_\r\n") == "null in 3 bytes");
    BOOST_TEST(read_one("#t\r\n") == "boolean 1 in 4 bytes");
    BOOST_TEST(read_one("#f\r\n") == "boolean 0 in 4 bytes");
    BOOST_TEST(read_one(",3.25\r\n") == "real \"3.25\" in 7 bytes");
    BOOST_TEST(read_one("(-123456789012345678901234567890\r\n") ==
               "big_number \"-123456789012345678901234567890\" in 34 bytes");
    BOOST_TEST(read_one("=8\r\ntxt:text\r\n") == "verbatim \"text\" in 14 bytes");
    BOOST_TEST(read_one("=4\r\nmkd:\r\n") == "verbatim \"\" in 10 bytes");
    BOOST_TEST(read_one("!9\r\nERR a\r\nb!\r\n") == "blob_error \"ERR a\r\nb!\" in 15 bytes");
    BOOST_TEST(read_one("%1\r\n+proto\r\n:3\r\n") == "map[simple \"proto\" integer 3] in 16 bytes");
    BOOST_TEST(read_one("%0\r\n") == "map[] in 4 bytes");
    BOOST_TEST(read_one("~2\r\n:1\r\n:2\r\n") == "set[integer 1 integer 2] in 12 bytes");
    BOOST_TEST(read_one(">2\r\n+invalidate\r\n*0\r\n") ==
               "push[simple \"invalidate\" array[]] in 21 bytes");
}

BOOST_AUTO_TEST_CASE(every_spelling_of_a_real_is_read) {
    for (const auto text : {"0", "-0", "10", "1.5", "-1.5", "1e10", "1E+10", "1.25e-7", "inf",
                            "-inf", "nan", "-nan"}) {
        const auto wire = "," + std::string{text} + "\r\n";
        BOOST_TEST(read_one(wire) == "real \"" + std::string{text} + "\" in " +
                                         std::to_string(wire.size()) + " bytes");
    }
}

BOOST_AUTO_TEST_CASE(integers_have_the_whole_range_of_64_bits) {
    BOOST_TEST(read_one(":9223372036854775807\r\n") == "integer 9223372036854775807 in 22 bytes");
    BOOST_TEST(read_one(":-9223372036854775808\r\n") == "integer -9223372036854775808 in 23 bytes");
}

BOOST_AUTO_TEST_CASE(a_scalar_that_is_no_string_has_the_text_of_its_line) {
    for (const auto wire : {":-42\r\n"sv, "#t\r\n"sv, "_\r\n"sv}) {
        auto d = resp::decoder{};
        BOOST_REQUIRE(d.feed(wire) == resp::progress::complete);
        BOOST_TEST(d.text(d.nodes()[0], wire) == wire.substr(1, wire.size() - 3));
    }
}

BOOST_AUTO_TEST_CASE(a_container_has_no_text) {
    const auto wire = "*1\r\n:1\r\n"sv;
    auto d = resp::decoder{};
    BOOST_REQUIRE(d.feed(wire) == resp::progress::complete);
    BOOST_TEST(d.text(d.nodes()[0], wire).empty());
}

BOOST_AUTO_TEST_CASE(a_map_counts_keys_and_values) {
    auto d = resp::decoder{};
    BOOST_REQUIRE(d.feed("%2\r\n+a\r\n:1\r\n+b\r\n:2\r\n") == resp::progress::complete);
    BOOST_TEST(d.nodes()[0].size == 4U);
    BOOST_TEST(d.nodes().size() == 5U);
}

BOOST_AUTO_TEST_CASE(containers_stand_inside_each_other) {
    BOOST_TEST(read_one("*2\r\n%1\r\n+k\r\n~1\r\n*0\r\n*2\r\n*1\r\n_\r\n:1\r\n") ==
               "array[map[simple \"k\" set[array[]]] array[array[null] integer 1]] in 35 bytes");
}

BOOST_AUTO_TEST_CASE(a_bulk_string_may_hold_any_bytes) {
    auto text = std::string{};
    for (int i = 0; i < 256; ++i)
        text += static_cast<char>(i);
    text += "\r\n$5\r\n*1\r\n";
    const auto wire = "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    auto d = resp::decoder{};
    BOOST_REQUIRE(d.feed(wire) == resp::progress::complete);
    BOOST_TEST(d.text(d.nodes()[0], wire) == text);
}

BOOST_AUTO_TEST_CASE(an_attribute_is_no_reply_and_no_element) {
    BOOST_TEST(read_one("|1\r\n+ttl\r\n:3600\r\n") == "need more");
    BOOST_TEST(read_one("|1\r\n+ttl\r\n:3600\r\n:5\r\n") == "integer 5 in 21 bytes");
    BOOST_TEST(read_one("|0\r\n:5\r\n") == "integer 5 in 8 bytes");
    BOOST_TEST(read_one("*2\r\n:1\r\n|1\r\n+a\r\n*2\r\n:8\r\n:9\r\n:2\r\n") ==
               "array[integer 1 integer 2] in 32 bytes");
    BOOST_TEST(read_one("|1\r\n|1\r\n+x\r\n+y\r\n+a\r\n+b\r\n|1\r\n+c\r\n+d\r\n*0\r\n") ==
               "array[] in 40 bytes");
}

BOOST_AUTO_TEST_CASE(pipelined_replies_are_read_one_after_another) {
    const auto stream = "+OK\r\n*1\r\n$1\r\nx\r\n>1\r\n+p\r\n-ERR no\r\n$3\r\nab"sv;
    auto reader = colimit::test::resp_reader{};
    reader.receive(stream);
    BOOST_REQUIRE(reader.log().size() == 4U);
    BOOST_TEST(reader.log()[0] == "simple \"OK\" in 5 bytes");
    BOOST_TEST(reader.log()[1] == "array[bulk \"x\"] in 11 bytes");
    BOOST_TEST(reader.log()[2] == "push[simple \"p\"] in 8 bytes");
    BOOST_TEST(reader.log()[3] == "error \"ERR no\" in 9 bytes");
    BOOST_TEST(reader.pending() == "$3\r\nab"sv.size());
}

BOOST_AUTO_TEST_CASE(a_complete_reply_stays_until_the_next_is_asked_for) {
    const auto stream = ":1\r\n:2\r\n"sv;
    auto d = resp::decoder{};
    BOOST_REQUIRE(d.feed(stream) == resp::progress::complete);
    BOOST_REQUIRE(d.feed(stream) == resp::progress::complete);
    BOOST_TEST(describe(d, stream) == "integer 1 in 4 bytes");
    d.next();
    BOOST_REQUIRE(d.feed(stream.substr(4)) == resp::progress::complete);
    BOOST_TEST(describe(d, stream.substr(4)) == "integer 2 in 4 bytes");
}

BOOST_AUTO_TEST_CASE(a_violation_is_final_until_reset) {
    auto d = resp::decoder{};
    BOOST_REQUIRE(d.feed("?") == resp::progress::malformed);
    BOOST_TEST(!d.violation().empty());
    d.next();
    BOOST_TEST((d.feed(":1\r\n") == resp::progress::malformed));
    d.reset();
    BOOST_TEST(d.violation().empty());
    BOOST_TEST((d.feed(":1\r\n") == resp::progress::complete));
}

BOOST_AUTO_TEST_CASE(a_reset_in_the_middle_of_a_reply_forgets_it) {
    for (const auto begun : {"*2\r\n:1\r\n"sv, "*2\r\n$5\r\nab"sv, "-LOADING Redis is"sv}) {
        auto d = resp::decoder{};
        BOOST_REQUIRE(d.feed(begun) == resp::progress::need_more);
        d.reset();
        BOOST_REQUIRE(d.feed("+OK\r\n") == resp::progress::complete);
        BOOST_TEST(describe(d, "+OK\r\n") == "simple \"OK\" in 5 bytes");
    }
}

BOOST_AUTO_TEST_CASE(nothing_is_read_from_no_bytes) {
    auto d = resp::decoder{};
    BOOST_TEST((d.feed({}) == resp::progress::need_more));
    BOOST_TEST((d.feed(":1\r\n") == resp::progress::complete));
}

BOOST_AUTO_TEST_SUITE_END()
