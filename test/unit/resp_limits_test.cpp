// SPDX-License-Identifier: BSL-1.0
//
// Each bound of the decoder holds at its edge: the largest valid input is read, one more is an
// error, and no later than with the byte that shows it.

#include <support/resp_text.hpp>
#include <support/unit_test.hpp>

#include <cstddef>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(resp_limits)

using colimit::test::read_one;
using colimit::test::resp_reader;
namespace resp = colimit::redis::resp;

namespace {

std::string repeated(std::string_view text, std::size_t times) {
    auto out = std::string{};
    for (std::size_t i = 0; i < times; ++i)
        out += text;
    return out;
}

bool completes(std::string_view wire) {
    return read_one(wire).ends_with(" in " + std::to_string(wire.size()) + " bytes");
}

std::string bulk_of(std::size_t size, char type = '$') {
    return type + std::to_string(size) + "\r\n" + (type == '=' ? "txt:" : "abc:") +
           std::string(size - 4, 'x') + "\r\n";
}

/// An array of bulk strings that has `size` bytes.
std::string array_of_bytes(std::size_t size) {
    auto wire = std::string{"*17\r\n"} + repeated(bulk_of(65'000), 16);
    const auto rest = size - wire.size() - std::string_view{"$1234\r\n\r\n"}.size();
    return wire + bulk_of(rest);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_line_has_at_most_4_kib) {
    for (const auto* type : {"+", "-", "(", ",-"}) {
        const auto fits = std::string{type} +
                          std::string(resp::line_bytes + 1 - std::string_view{type}.size(), '1');
        BOOST_TEST(completes(fits + "\r\n"));
        BOOST_TEST(read_one(fits) == "need more");
        BOOST_TEST(read_one(fits + "1") == "malformed at 4097: a line longer than 4 KiB");
    }
}

BOOST_AUTO_TEST_CASE(a_bulk_string_has_at_most_64_kib) {
    for (const auto type : {'$', '!', '='}) {
        BOOST_TEST(completes(bulk_of(resp::bulk_bytes, type)));
        BOOST_TEST(read_one(type + std::to_string(resp::bulk_bytes + 1) + "\r\n") ==
                   "malformed at 1: a bulk string longer than 64 KiB");
        BOOST_TEST(read_one(type + std::string{"9223372036854775807\r\n"}) ==
                   "malformed at 1: a bulk string longer than 64 KiB");
    }
}

BOOST_AUTO_TEST_CASE(containers_are_nested_at_most_8_deep) {
    for (const std::string header : {"*1\r\n", "~1\r\n", "%1\r\n:1\r\n"}) {
        const auto deepest = repeated(header, resp::nesting_depth);
        BOOST_TEST(completes(deepest + ":1\r\n"));
        for (const auto* one_more : {"*0\r\n", "*1\r\n", "%1\r\n", "|1\r\n", "|0\r\n"})
            BOOST_TEST(read_one(deepest + one_more) == "malformed at " +
                                                           std::to_string(deepest.size()) +
                                                           ": containers more than 8 deep");
    }
}

BOOST_AUTO_TEST_CASE(attributes_are_nested_at_most_8_deep) {
    const auto deepest = repeated("|1\r\n", resp::nesting_depth);
    BOOST_TEST(read_one(deepest + ":1\r\n") == "need more");
    BOOST_TEST(read_one(deepest + "|1\r\n") == "malformed at 32: containers more than 8 deep");
}

BOOST_AUTO_TEST_CASE(depth_is_given_back_when_a_container_ends) {
    const auto branch = repeated("*1\r\n", resp::nesting_depth - 1) + ":1\r\n";
    BOOST_TEST(completes("*100\r\n" + repeated(branch, 100)));
}

BOOST_AUTO_TEST_CASE(a_reply_has_at_most_16384_values) {
    BOOST_TEST(completes("*16383\r\n" + repeated(":1\r\n", 16'383)));
    BOOST_TEST(completes("%8191\r\n" + repeated(":1\r\n", 16'382)));
    BOOST_TEST(read_one("*16384\r\n" + repeated(":1\r\n", 16'383) + ":2\r\n") ==
               "malformed at 65540: too many values in a reply");
    BOOST_TEST(read_one("*3\r\n*16381\r\n" + repeated("_\r\n", 16'381) + "*0\r\n*0\r\n") ==
               "malformed at 49159: too many values in a reply");
}

BOOST_AUTO_TEST_CASE(a_count_that_can_never_fit_is_refused_at_once) {
    const auto words = "malformed at 1: too many values in a reply";
    BOOST_TEST(read_one("*16385\r\n") == words);
    BOOST_TEST(read_one("~16385\r\n") == words);
    BOOST_TEST(read_one("%8193\r\n") == words);
    BOOST_TEST(read_one("|8193\r\n") == words);
    BOOST_TEST(read_one(">9223372036854775807\r\n") == words);
    BOOST_TEST(read_one("%9223372036854775807\r\n") == words);
}

BOOST_AUTO_TEST_CASE(values_of_attributes_do_not_count_once_they_are_read) {
    const auto element = std::string{"|1\r\n+k\r\n:1\r\n:1\r\n"};
    BOOST_TEST(completes("*8192\r\n" + repeated(element, 8192)));
}

BOOST_AUTO_TEST_CASE(a_reply_has_at_most_1_mib) {
    const auto fits = array_of_bytes(resp::reply_bytes);
    BOOST_REQUIRE(fits.size() == resp::reply_bytes);
    BOOST_TEST(completes(fits));
    BOOST_TEST(read_one(fits.substr(0, resp::reply_bytes - 1)) == "need more");
    const auto words = "malformed at 1048576: the reply is too long";
    const auto longer = array_of_bytes(resp::reply_bytes + 1);
    BOOST_TEST(read_one(longer) == words);
    BOOST_TEST(read_one(longer.substr(0, resp::reply_bytes)) == words);
}

BOOST_AUTO_TEST_CASE(attributes_without_end_are_refused) {
    BOOST_TEST(read_one(repeated("|0\r\n", resp::reply_bytes / 4)) ==
               "malformed at 1048576: the reply is too long");
}

BOOST_AUTO_TEST_CASE(more_than_1_mib_may_wait_behind_a_reply) {
    const auto stream = ":1\r\n" + array_of_bytes(resp::reply_bytes) + ":2\r\n";
    auto reader = resp_reader{};
    reader.receive(stream);
    BOOST_TEST(reader.log().size() == 3U);
    BOOST_TEST(reader.pending() == 0U);
}

BOOST_AUTO_TEST_CASE(a_promise_of_many_values_makes_no_nodes) {
    auto d = resp::decoder{};
    BOOST_REQUIRE(d.feed("*16384\r\n") == resp::progress::need_more);
    BOOST_TEST(d.nodes().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_decoder_may_have_larger_bounds) {
    const auto large = "*32768\r\n" + repeated(":1\r\n", 2 * resp::reply_nodes);
    auto usual = resp::decoder{};
    BOOST_TEST((usual.feed(large) == resp::progress::malformed));
    auto d = resp::decoder{resp::decoder::long_bulks::malformed,
                           {.nodes = 2 * resp::reply_nodes + 1, .bytes = large.size() + 1}};
    BOOST_TEST((d.feed(large) == resp::progress::complete));
    BOOST_TEST(d.nodes().size() == 2 * resp::reply_nodes + 1);
    auto tight = resp::decoder{resp::decoder::long_bulks::malformed,
                               {.nodes = 2 * resp::reply_nodes + 1, .bytes = large.size() - 1}};
    BOOST_TEST((tight.feed(large) == resp::progress::malformed));
}

BOOST_AUTO_TEST_SUITE_END()
