// SPDX-License-Identifier: BSL-1.0
//
// Batches of ids: what is said to the script `seen`, and which answers are believed.

#include <base/bytes.hpp>
#include <colimit/bloom_filter.hpp>
#include <core/bloom.hpp>
#include <policy/policy_data.hpp>
#include <redis/protocol/script.hpp>
#include <redis/script/script_batch.hpp>
#include <redis/script/wire.hpp>
#include <support/fake_operation.hpp>
#include <support/script_double.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

BOOST_AUTO_TEST_SUITE(batches_of_ids)

namespace {

using namespace colimit;
using test::fake_operation;

const bloom_filter one_block{"f", {.capacity = 1000}};
const bloom_filter blocks{"f", {.capacity = 10'000'000}};

/// A batch of eight ids.
struct fixture {
    explicit fixture(const bloom_filter& f = one_block) {
        batch.start(detail::access::data(f), detail::store_clock, 7);
    }

    fake_operation& add(std::string_view id, detail::verb v = detail::verb::allow) {
        auto& op = ops.emplace_back(detail::make_lookup(v, {}));
        batch.add(op, "t", id);
        return op;
    }

    [[nodiscard]] test::command encode() {
        auto out = std::string{};
        batch.encode(out, "0");
        return test::commands_of(std::move(out)).back();
    }

    /// Reads `*3 nil answers header` for a single block.
    std::optional<redis::recovery> read(const std::string& answers, const std::string& header) {
        const auto bulk = [](const std::string& s) {
            return "$" + std::to_string(s.size()) + "\r\n" + s + "\r\n";
        };
        const auto bytes = "*3\r\n$-1\r\n" + bulk(answers) + bulk(header);
        auto reader = redis::resp::decoder{};
        BOOST_REQUIRE((reader.feed(bytes) == redis::resp::progress::complete));
        const auto needs = batch.read_reply(reader, bytes);
        if (needs)
            batch.release([](detail::operation& op) { op.is_held = false; });
        return needs;
    }

    redis::script_batch batch{8};
    std::deque<fake_operation> ops;
};

} // namespace

/// FNV-1a over age, words, lines and blocks as 64 bits each: another tag would lose every filter
/// when a process is upgraded.
BOOST_AUTO_TEST_CASE(the_tag_of_a_filter_is_the_one_that_was_agreed) {
    const auto shape =
        core::bloom_shape{.ttl = 86'400'000'000, .words = 7, .lines = 120, .blocks = 3};
    BOOST_TEST(core::filter_tag(shape) == 0x9f557911U);
    const auto odd = redis::bitmap_family(shape, 1);
    BOOST_TEST((std::string{odd.begin(), odd.end()} == "b19f557911"));
}

BOOST_FIXTURE_TEST_CASE(ids_are_asked_by_their_block_in_both_generations, fixture) {
    add("a");
    add("b");
    const auto words = encode();
    BOOST_TEST(words.at(1) == redis::seen_script.sha1);
    BOOST_TEST(words.at(2) == "2");
    const auto& shape = *detail::access::data(one_block)->filter;
    const auto even = redis::bitmap_family(shape, 0);
    const auto odd = redis::bitmap_family(shape, 1);
    BOOST_TEST(words.at(3).ends_with(":f:" + std::string{even.begin(), even.end()} + "k:0"));
    BOOST_TEST(words.at(4).ends_with(":f:" + std::string{odd.begin(), odd.end()} + "k:0"));
    auto calls = std::string{};
    for (const auto* id : {"a", "b"}) {
        auto mark = std::string{};
        redis::append_mark(mark, shape, core::bits_of(shape, id));
        calls.append(2, '\0').append(mark); // block 0
    }
    BOOST_TEST(words.back() == calls);
}

BOOST_FIXTURE_TEST_CASE(an_id_that_is_only_looked_up_is_marked_in_the_number_of_its_block,
                        fixture) {
    add("a", detail::verb::peek);
    const auto words = encode();
    const auto& shape = *detail::access::data(one_block)->filter;
    auto mark = std::string{};
    redis::append_mark(mark, shape, core::bits_of(shape, "a"));
    BOOST_TEST(words.back() == (std::string{"\0\x40", 2} + mark));
    BOOST_TEST(read("1", "7 0 1 0 -").has_value());
    BOOST_TEST(!ops.front().result.allowed());
}

BOOST_FIXTURE_TEST_CASE(a_block_that_is_inspected_is_asked_for_a_range_and_answers_with_two_numbers,
                        fixture) {
    auto& id = add("a");
    auto& block = ops.emplace_back(detail::make_inspection(detail::store_clock));
    block.attached = std::make_unique<detail::block_bits>();
    batch.add(block, "t", "0");
    const auto& shape = *detail::access::data(one_block)->filter;
    const auto end = std::to_string(shape.block_bytes() - 1);
    auto sent = std::string{"\0\x80\1"
                            "8",
                            4};
    sent.append(1, static_cast<char>(end.size())).append(end).append(shape.line_bytes(), '\0');
    BOOST_TEST(encode().back().ends_with(sent));
    auto facts = std::string{"0"};
    detail::append_double(facts, 5);
    detail::append_double(facts, 3);
    BOOST_TEST(read(facts, "7 0 1 1 -").has_value());
    BOOST_TEST(id.result.allowed());
    const auto found = static_cast<detail::block_bits&>(*block.attached).set;
    BOOST_TEST(found[0] == 5);
    BOOST_TEST(found[1] == 3);
}

BOOST_AUTO_TEST_CASE(numbers_of_bits_that_cannot_be_are_not_believed) {
    const auto& shape = *detail::access::data(one_block)->filter;
    const auto most = std::int64_t{8} * shape.lines * shape.line_bytes();
    const auto believed = [&](std::int64_t number, std::size_t cut) {
        auto facts = std::string{};
        detail::append_double(facts, 0);
        detail::append_double(facts, number);
        auto rest = std::string_view{facts}.substr(0, facts.size() - cut);
        auto set = std::array<std::int64_t, 2>{};
        return redis::take_bits(rest, shape, set) && set[1] == number && rest.empty();
    };
    BOOST_TEST(believed(most, 0));
    BOOST_TEST(!believed(most + 1, 0));
    BOOST_TEST(!believed(-1, 0));
    BOOST_TEST(!believed(5, 1));
}

BOOST_FIXTURE_TEST_CASE(a_batch_takes_as_many_ids_as_keys_even_of_one_block, fixture) {
    for (int i = 0; i < 7; ++i)
        add(std::to_string(i));
    BOOST_TEST(!batch.is_full());
    add("7");
    BOOST_TEST(batch.is_full());
}

BOOST_AUTO_TEST_CASE(ids_of_several_blocks_are_grouped_by_them) {
    auto f = fixture{blocks};
    for (int i = 0; i < 8; ++i)
        f.add(std::to_string(i));
    const auto words = f.encode();
    const auto keys = std::stoul(words.at(2));
    BOOST_TEST(keys % 2 == 0U);
    BOOST_TEST(keys > 4U);
    BOOST_TEST(words.size() == 3 + keys + 5);
}

BOOST_FIXTURE_TEST_CASE(an_id_that_is_new_is_granted_and_one_that_is_not_is_limited, fixture) {
    const auto& a = add("a");
    const auto& b = add("b");
    (void)encode();
    BOOST_TEST(read("01", "7 0 1 1 -").has_value());
    BOOST_TEST(!a.ec);
    BOOST_TEST(a.result.allowed());
    BOOST_TEST(!b.result.allowed());
}

BOOST_FIXTURE_TEST_CASE(an_id_that_was_withdrawn_is_not_asked_about, fixture) {
    add("a");
    const auto& b = add("b");
    batch.drop(0);
    const auto words = encode();
    BOOST_TEST(words.back().size() < 50U);
    BOOST_TEST(read("0", "7 0 1 1 -").has_value());
    BOOST_TEST(b.result.allowed());
}

BOOST_AUTO_TEST_CASE(answers_that_cannot_be_are_not_believed) {
    const auto believed = [](const std::string& answers, const std::string& header) {
        auto f = fixture{};
        f.add("a");
        f.add("b");
        (void)f.encode();
        const auto needs = f.read(answers, header);
        return needs.has_value() && !f.ops.front().ec;
    };
    BOOST_TEST(believed("00", "7 0 1 2 -"));
    BOOST_TEST(!believed("0", "7 0 1 1 -"));   // one is missing
    BOOST_TEST(!believed("000", "7 0 1 2 -")); // one too many
    BOOST_TEST(!believed("02", "7 0 1 1 -"));
    BOOST_TEST(!believed("00", "7 0 1 1 -")); // another number of new ones
    BOOST_TEST(!believed("00", "8 0 1 2 -")); // another request's
}

BOOST_AUTO_TEST_SUITE_END()
