// SPDX-License-Identifier: BSL-1.0
//
// Bulk strings that are longer than a reply may have, where they are to be empty: the caller takes
// their bytes out as they arrive, and however they are cut the reply is the same.

#include <redis/protocol/resp.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(resp_long_bulk)

namespace {

using namespace colimit::redis;

[[nodiscard]] std::string bulk(std::size_t size) {
    return "$" + std::to_string(size) + "\r\n" + std::string(size, 'x') + "\r\n";
}

/// Feeds a stream in pieces, as a connection does. Returns the texts of the first reply, and the
/// most bytes that were buffered.
struct outcome {
    std::string texts;
    std::size_t most = 0;
};

[[nodiscard]] outcome read(std::string_view stream, std::size_t piece) {
    auto decoder = resp::decoder{resp::decoder::long_bulks::empty};
    auto buffer = std::string{};
    auto out = outcome{};
    while (!stream.empty()) {
        buffer += stream.substr(0, piece);
        stream.remove_prefix(std::min(piece, stream.size()));
        out.most = std::max(out.most, buffer.size());
        auto progress = decoder.feed(buffer);
        while (progress == resp::progress::need_more && decoder.surplus() != 0) {
            const auto count = std::min(decoder.surplus(), buffer.size() - decoder.consumed());
            if (count == 0)
                break;
            buffer.erase(decoder.consumed(), count);
            decoder.cut(count);
            progress = decoder.feed(buffer);
        }
        if (progress == resp::progress::need_more)
            continue;
        if (progress == resp::progress::malformed)
            return {std::string{decoder.violation()}, out.most};
        for (const auto& n : decoder.nodes())
            out.texts += "[" + std::string{decoder.text(n, buffer)} + "]";
        return out;
    }
    return {"incomplete", out.most};
}

} // namespace

BOOST_AUTO_TEST_CASE(a_long_string_is_empty_however_it_arrives) {
    const auto reply = "*4\r\n+a\r\n" + bulk(3'000'000) + "$1\r\nb\r\n" + bulk(65'537);
    for (const auto piece : {1U, 2U, 7U, 1'000U, 65'536U, 1U << 20U}) {
        const auto got = read(reply, piece);
        BOOST_TEST(got.texts == "[][a][][b][]", piece);
        BOOST_TEST(got.most <= piece + 40, piece); // never the whole string
    }
}

BOOST_AUTO_TEST_CASE(what_follows_a_long_string_is_checked) {
    const auto wrong = "*2\r\n$70000\r\n" + std::string(70'000, 'x') + "x\r\n:1\r\n";
    const auto violation = read(wrong, wrong.size()).texts;
    BOOST_TEST((violation != "incomplete" && violation.front() != '['), violation);
    for (const auto piece : {1U, 3U, 70'012U})
        BOOST_TEST(read(wrong, piece).texts == violation, piece);
}

BOOST_AUTO_TEST_CASE(the_longest_string_that_fits_is_kept) {
    const auto text = read(bulk(resp::bulk_bytes), 1'000).texts;
    BOOST_TEST(text.size() == resp::bulk_bytes + 2);
    BOOST_TEST(read(bulk(resp::bulk_bytes + 1), 1'000).texts == "[]");
}

BOOST_AUTO_TEST_CASE(a_decoder_may_keep_longer_strings_but_no_longer_errors) {
    const auto bounds = resp::reply_bounds{.bytes = 400'000, .bulk = 200'000};
    for (const auto become :
         {resp::decoder::long_bulks::malformed, resp::decoder::long_bulks::empty}) {
        auto decoder = resp::decoder{become, bounds};
        const auto fits = bulk(200'000);
        BOOST_TEST((decoder.feed(fits) == resp::progress::complete));
        BOOST_TEST(decoder.text(decoder.first(), fits).size() == 200'000U);
        decoder.next();
        const auto is_malformed = become == resp::decoder::long_bulks::malformed;
        BOOST_TEST((decoder.feed("$200001\r\nxx") ==
                    (is_malformed ? resp::progress::malformed : resp::progress::need_more)));
        BOOST_TEST(decoder.surplus() == (is_malformed ? 0U : 200'001U));
        decoder.reset();
        BOOST_TEST((decoder.feed("!65537\r\nxx") == resp::progress::malformed));
    }
}

BOOST_AUTO_TEST_CASE(a_reset_forgets_a_long_string) {
    auto decoder = resp::decoder{resp::decoder::long_bulks::empty};
    BOOST_TEST((decoder.feed("$70000\r\nxx") == resp::progress::need_more));
    BOOST_TEST(decoder.surplus() == 70'000U);
    decoder.reset();
    BOOST_TEST(decoder.surplus() == 0U);
    BOOST_TEST((decoder.feed(":1\r\n") == resp::progress::complete));
}

BOOST_AUTO_TEST_SUITE_END()
