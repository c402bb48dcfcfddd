// SPDX-License-Identifier: BSL-1.0
//
// A socket hands over what it has, so replies arrive cut anywhere. However a stream is cut, the
// decoder says the same of it: same nodes, same violation at the same byte.

#include <support/resp_text.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <cstddef>
#include <string_view>

BOOST_AUTO_TEST_SUITE(resp_chunks)

using namespace std::string_view_literals;
using colimit::test::read_whole;
using colimit::test::resp_reader;

namespace {

constexpr auto streams = std::to_array<std::string_view>({
    "+OK\r\n-ERR no\r\n:-12\r\n$5\r\nhello\r\n",
    "+a long line\r\n+\r\n-ERR\r\n",
    "$-1\r\n*-1\r\n*0\r\n$0\r\n\r\n_\r\n",
    "*3\r\n$2\r\n\r\n\r\n*2\r\n:1\r\n$-1\r\n+x\r\n:9223372036854775807\r\n",
    "%2\r\n+server\r\n$5\r\nredis\r\n+modules\r\n*0\r\n#t\r\n#f\r\n",
    ",1.5e3\r\n(12345678901234567890123\r\n=7\r\ntxt:abc\r\n!5\r\nERR x\r\n",
    "~1\r\n:-9223372036854775808\r\n>2\r\n+a\r\n$1\r\nb\r\n",
    "|1\r\n+k\r\n*1\r\n:1\r\n*2\r\n|1\r\n+k\r\n$1\r\nv\r\n:1\r\n:2\r\n+end\r\n",
    "*2\r\n$3\r\nabc\r\n$4\r\ntrunc",
    ":1\r\n:12a\r\n",
    "*2\r\n:1\r\n:-0\r\n",
    ":-05\r\n",
    "$3\r\nabcd\r\n",
    "$3\r\nabc\rx",
    "$07\r\n",
    "$-2\r\n",
    "$?\r\n",
    "*99999999999999999999\r\n",
    "*1\r\n>1\r\n:1\r\n",
    "+a\nb\r\n",
    "+a\rb\r\n",
    "=5\r\nplain\r\n",
    "#x\r\n",
    ",1.\r\n",
    "(1x\r\n",
    "_x\r\n",
});

} // namespace

BOOST_AUTO_TEST_CASE(every_split_into_two_reads_the_same_as_the_whole) {
    for (const auto stream : streams) {
        const auto whole = read_whole(stream);
        for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
            auto reader = resp_reader{};
            reader.receive(stream.substr(0, cut));
            reader.receive(stream.substr(cut));
            BOOST_TEST(reader.log() == whole,
                       "cut at " << cut << " of " << stream << boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(byte_by_byte_reads_the_same_as_the_whole) {
    for (const auto stream : streams) {
        auto reader = resp_reader{};
        for (const auto& byte : stream)
            reader.receive({&byte, 1});
        BOOST_TEST(reader.log() == read_whole(stream), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(a_reply_is_complete_with_its_last_byte_and_not_before) {
    for (const auto reply :
         {"+OK\r\n"sv, ":1\r\n"sv, "$2\r\nab\r\n"sv, "$0\r\n\r\n"sv, "*0\r\n"sv,
          "*1\r\n%1\r\n:1\r\n_\r\n"sv, "=4\r\ntxt:\r\n"sv, "|1\r\n:1\r\n:2\r\n:3\r\n"sv}) {
        auto reader = resp_reader{};
        for (const auto& byte : reply) {
            BOOST_TEST(reader.log().empty());
            reader.receive({&byte, 1});
        }
        BOOST_TEST(reader.log().size() == 1U);
        BOOST_TEST(reader.pending() == 0U);
    }
}

BOOST_AUTO_TEST_SUITE_END()
