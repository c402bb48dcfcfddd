// SPDX-License-Identifier: BSL-1.0
//
// Bloom filters in this process: their error rate, how long they record an id, and their memory.

#include <colimit/bloom_filter.hpp>
#include <colimit/local_limiter.hpp>
#include <core/bloom.hpp>
#include <memory/bloom_filters.hpp>
#include <policy/filter_state.hpp>
#include <policy/policy_data.hpp>
#include <support/refusal.hpp>
#include <support/unit_test.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(bloom)

namespace {

using namespace colimit;
using namespace std::chrono_literals;

[[nodiscard]] core::bloom_bits mark_of(const core::bloom_shape& s, std::int64_t id) {
    return core::bits_of(s, std::to_string(id));
}

/// A generation of ids, as many as it is made for.
class generation {
  public:
    generation(const core::bloom_shape& s, std::int64_t first, std::int64_t end)
        : shape_(s), words_(std::size_t{s.blocks} * s.lines * s.words) {
        for (auto id = first; id != end; ++id) {
            const auto mark = mark_of(s, id);
            const auto at = place(mark);
            for (std::uint32_t i = 0; i < s.words; ++i)
                words_[at + i] |= mark.words[i];
        }
    }

    [[nodiscard]] bool knows(const core::bloom_bits& mark) const {
        return core::has_bits({words_.data() + place(mark), shape_.words}, mark);
    }

    [[nodiscard]] std::int64_t set_bits() const {
        auto sum = std::int64_t{0};
        for (const auto word : words_)
            sum += std::popcount(word);
        return sum;
    }

  private:
    [[nodiscard]] std::size_t place(const core::bloom_bits& mark) const {
        return (std::size_t{mark.block} * shape_.lines + mark.line) * shape_.words;
    }

    core::bloom_shape shape_;
    std::vector<std::uint32_t> words_;
};

/// The share of new ids that are called old while both generations are full.
[[nodiscard]] double worst_rate(std::int64_t capacity, double error_rate, std::int64_t probes) {
    const auto shape = core::make_bloom(capacity, error_rate, 1);
    const auto previous = generation{shape, 0, capacity};
    const auto current = generation{shape, capacity, 2 * capacity};
    auto wrong = 0;
    for (auto id = 2 * capacity; id != 2 * capacity + probes; ++id) {
        const auto mark = mark_of(shape, id);
        wrong += previous.knows(mark) || current.knows(mark) ? 1 : 0;
    }
    return wrong / static_cast<double>(probes);
}

constexpr std::int64_t start = 1'700'000'000'000'000;

[[nodiscard]] time_point at(std::int64_t us) {
    return time_point{std::chrono::microseconds{start + us}};
}

} // namespace

BOOST_AUTO_TEST_CASE(of_a_million_new_ids_fewer_than_stated_are_called_old_by_full_generations) {
    const auto rate = worst_rate(1'000'000, 0.01, 1'000'000);
    BOOST_TEST(rate < 0.01);
    BOOST_TEST(rate > 0.008); // or memory would be wasted
}

BOOST_AUTO_TEST_CASE(every_error_rate_is_kept_and_used) {
    for (const auto stated : {0.5, 0.1, 0.03, 0.001}) {
        constexpr std::int64_t probes = 200'000;
        const auto rate = worst_rate(30'000, stated, probes);
        const auto scatter = std::sqrt(stated / static_cast<double>(probes));
        BOOST_TEST_CONTEXT("stated " << stated) {
            BOOST_TEST(rate < stated + 2 * scatter);
            BOOST_TEST(rate > 0.6 * stated);
        }
    }
    BOOST_TEST(worst_rate(30'000, 0.00001, 200'000) < 0.00005); // 2 are expected
}

BOOST_AUTO_TEST_CASE(small_filters_keep_their_rate_too) {
    for (const auto capacity : {1, 2, 10, 100}) {
        BOOST_TEST_CONTEXT("capacity " << capacity) {
            BOOST_TEST(worst_rate(capacity, 0.01, 100'000) < 0.011);
        }
    }
}

BOOST_AUTO_TEST_CASE(an_id_takes_the_bits_that_the_documentation_says) {
    const auto bits_at = [](double rate) {
        return static_cast<double>(bloom_filter{"f", {.error_rate = rate}}.bytes()) * 8 / 1e6;
    };
    BOOST_TEST(bits_at(0.01) < 12.45);
    BOOST_TEST(bits_at(0.01) > 12.3);
    BOOST_TEST(std::lround(bits_at(0.001) * 10) == 185);
    BOOST_TEST(std::lround(bits_at(0.000001)) == 40);
}

BOOST_AUTO_TEST_CASE(blocks_are_at_most_a_mebibyte_and_ids_fall_on_all_of_them_alike) {
    const auto shape = core::make_bloom(10'000'000, 0.01, 1);
    BOOST_TEST(shape.blocks == 15U);
    BOOST_TEST(shape.block_bytes() <= 1'048'512U);
    auto ids = std::vector<int>(shape.blocks);
    auto lines = std::vector<int>(8); // eighths of a block
    for (std::int64_t id = 0; id < 60'000; ++id) {
        const auto mark = mark_of(shape, id);
        BOOST_REQUIRE(mark.block < shape.blocks);
        BOOST_REQUIRE(mark.line < shape.lines);
        ++ids[mark.block];
        ++lines[8 * mark.line / shape.lines];
    }
    for (const auto n : ids) // 4,000 +- 5 deviations
        BOOST_TEST(std::abs(n - 4'000) < 310);
    for (const auto n : lines)
        BOOST_TEST(std::abs(n - 7'500) < 410);
}

BOOST_AUTO_TEST_CASE(the_largest_filter_has_places_that_still_are_exact) {
    const auto shape = core::make_bloom(limits::max_filter_ids, limits::min_error_rate, 1);
    BOOST_TEST(std::uint64_t{shape.blocks} * shape.lines <= std::uint64_t{1} << 26U);
    BOOST_TEST(shape.words <= core::bloom_shape::max_words);
    const auto last = core::bits_of(shape, {.line = ~std::uint64_t{0}, .seed = 0});
    BOOST_TEST(last.block == shape.blocks - 1);
    BOOST_TEST(last.line == shape.lines - 1);
}

BOOST_AUTO_TEST_CASE(the_size_of_a_filter_and_the_bits_of_an_id_stay_as_they_are) {
    // Filters are stored, and read by later versions.
    struct filter {
        std::int64_t capacity;
        double error_rate;
        std::uint32_t words, lines, blocks;
        std::uint32_t block, line, places; ///< of the id
    };
    for (const auto& f : {filter{1, 0.5, 2, 1, 1, 0, 0, 919U},
                          {1'000, 0.01, 8, 49, 1, 0, 30, 4'182'241'112U},
                          {30'000, 0.1, 4, 1'574, 1, 0, 972, 883'500U},
                          {1'000'000, 0.001, 12, 16'065, 3, 1, 13'721, 714'846'141U},
                          {10'000'000, 0.01, 8, 32'129, 15, 9, 8'691, 4'182'241'112U},
                          {limits::max_filter_ids, limits::min_error_rate, 24, 10'920, 4'773, 2'949,
                           9'568, 4'266'749'898U}}) {
        const auto shape = core::make_bloom(f.capacity, f.error_rate, 7);
        BOOST_TEST((shape == core::bloom_shape{7, f.words, f.lines, f.blocks, f.capacity}));
        const auto mark =
            core::bits_of(shape, {.line = 0x9e3779b97f4a7c15U, .seed = 0x0123456789abcdefU});
        BOOST_TEST(mark.block == f.block);
        BOOST_TEST(mark.line == f.line);
        auto places = std::uint32_t{0};
        for (std::uint32_t i = 0; i < shape.words; ++i)
            places = places * 31 + static_cast<std::uint32_t>(std::countr_zero(mark.words[i]));
        BOOST_TEST(places == f.places);
    }
    // More words than there are would make it a little smaller.
    BOOST_TEST(
        (core::make_bloom(1'000, 0.00000101004, 7) == core::bloom_shape{7, 24, 53, 1, 1'000}));
    // Two words or three hold equally many ids for each of them.
    BOOST_TEST(core::make_bloom(1'000'000, 0.38290492078100857, 1).words == 2U);
}

BOOST_AUTO_TEST_CASE(a_small_filter_is_counted_whole_and_of_a_large_one_a_part_of_some_blocks) {
    const auto small = core::make_bloom(1'000, 0.01, 1);
    BOOST_TEST(core::sample_of(small).blocks == 1U);
    BOOST_TEST(core::sample_of(small).lines == small.lines);
    const auto large = core::make_bloom(limits::max_filter_ids, 0.01, 1);
    const auto sample = core::sample_of(large);
    BOOST_TEST(sample.blocks == 16U);
    BOOST_TEST(sample.lines * large.line_bytes() == 64U * 1024);
    BOOST_TEST(sample.block(large, 0) == 0U);
    BOOST_TEST(sample.block(large, 15) == large.blocks * 15 / 16);
}

/// From the bits alone, as they are set by ids.
BOOST_AUTO_TEST_CASE(the_load_of_a_generation_follows_from_its_bits) {
    const auto shape = core::make_bloom(20'000, 0.01, 1);
    const auto bits = std::int64_t{8} * shape.lines * shape.line_bytes();
    BOOST_TEST(core::load_of(shape, 0).ids == 0);
    BOOST_TEST(core::load_of(shape, 0).error_rate == 0);
    for (const auto ids : {2'000, 20'000, 60'000}) {
        const auto words = generation{shape, 0, ids};
        const auto load = core::load_of(shape, words.set_bits());
        BOOST_TEST(std::abs(load.ids - ids) < 0.02 * ids);
        BOOST_TEST(load.fill == static_cast<double>(words.set_bits()) / static_cast<double>(bits));
        auto known = 0;
        for (int id = 1'000'000; id < 1'100'000; ++id)
            known += words.knows(mark_of(shape, id)) ? 1 : 0;
        BOOST_TEST(std::abs(known / 100'000.0 - load.error_rate) < 0.1 * load.error_rate + 0.0001);
    }
    const auto full = core::load_of(shape, bits);
    BOOST_TEST(full.fill == 1);
    BOOST_TEST(full.ids > 200'000); // not infinite
    BOOST_TEST(full.ids < 2'000'000);
    BOOST_TEST(full.error_rate > 0.9999);
    BOOST_TEST(full.error_rate <= 1);
}

BOOST_AUTO_TEST_CASE(a_block_has_a_head_and_lines_of_words) {
    const auto shape = core::bloom_shape{.ttl = 7, .words = 8, .lines = 49, .blocks = 3};
    BOOST_TEST(shape.line_bytes() == 32U);
    BOOST_TEST(shape.block_bytes() == 8U + 49U * 32U);
    BOOST_TEST(shape.bytes() == 3 * (8 + 49 * 32));
}

BOOST_AUTO_TEST_CASE(an_id_has_one_bit_in_each_word) {
    const auto shape = core::make_bloom(1000, 0.000001, 1);
    const auto mark = mark_of(shape, 1);
    for (std::uint32_t i = 0; i < core::bloom_shape::max_words; ++i)
        BOOST_TEST(std::popcount(mark.words[i]) == (i < shape.words ? 1 : 0));
}

BOOST_AUTO_TEST_CASE(either_generation_reports_an_id_and_can_be_over_the_capacity) {
    const auto shape = core::make_bloom(1000, 0.01, 1);
    const auto sample = core::sample_of(shape);
    const auto full = std::int64_t{sample.blocks} * shape.lines * shape.words * 9;
    const auto none = detail::status_of(shape, {0, 0});
    BOOST_TEST(none.error_rate == 0);
    BOOST_TEST(!none.is_over_capacity);
    const auto now = detail::status_of(shape, {full, 0});
    const auto before = detail::status_of(shape, {0, full});
    const auto both = detail::status_of(shape, {full, full});
    BOOST_TEST(now.current.ids == before.previous.ids);
    BOOST_TEST(now.previous.ids == 0);
    BOOST_TEST(now.error_rate > 0);
    BOOST_TEST(before.error_rate == now.error_rate);
    BOOST_TEST(std::abs(both.error_rate - (2 - now.error_rate) * now.error_rate) < 1e-12);
    const auto most = detail::status_of(shape, {2 * full, 0});
    BOOST_TEST(most.is_over_capacity);
    BOOST_TEST(detail::status_of(shape, {0, 2 * full}).is_over_capacity);
}

BOOST_AUTO_TEST_CASE(settings_out_of_range_are_refused_with_the_reason) {
    const auto refusal = [](std::string_view name, const bloom_settings& s) {
        return test::refusal(errc::invalid_policy, [&] { (void)bloom_filter{name, s}; });
    };
    BOOST_TEST(refusal("f", {.capacity = 0}) ==
               "filter 'f': capacity: out of range (got 0, expected 1 to 1000000000)");
    BOOST_TEST(refusal("f", {.error_rate = 0}) ==
               "filter 'f': error_rate: out of range (got 0.000000, expected 0.000001 to 0.5)");
    BOOST_TEST(refusal("f", {.error_rate = std::numeric_limits<double>::quiet_NaN()})
                   .starts_with("filter 'f': error_rate: out of range (got nan, "));
    BOOST_TEST(refusal("f", {.error_rate = 0.51})
                   .starts_with("filter 'f': error_rate: out of range (got 0.51"));
    BOOST_TEST(refusal("f", {.ttl = 999us}) ==
               "filter 'f': ttl: out of range (got 999 us, expected 1 ms to 366 days)");
    BOOST_TEST(refusal("f", {.ttl = 367 * 24h})
                   .starts_with("filter 'f': ttl: out of range (got 31708800000000 us"));
    BOOST_TEST(refusal("a b", {}).starts_with("the filter's name: character 2"));
    BOOST_TEST(test::refusal(errc::invalid_policy, [] {
                   (void)bloom_filter{"f"}.with_prefix("");
               }).starts_with("filter 'f': the prefix is empty"));
}

BOOST_AUTO_TEST_CASE(an_id_is_new_once_and_then_known_for_an_age_and_for_two_at_most) {
    auto l = local_limiter{};
    const bloom_filter f{"f", {.capacity = 1000, .ttl = 10s}};
    // 1.7e9 s is a multiple of 10 s: a generation begins there.
    for (const auto first : {0s, 5s, 9s}) {
        const auto id = std::to_string(first.count());
        const auto ask = [&](std::chrono::microseconds t) {
            return l.seen(id, f, {.now = at(t.count())});
        };
        BOOST_TEST(!ask(first));
        BOOST_TEST(ask(first));
        BOOST_TEST(ask(first + 10s)); // in the next generation, and that does not prolong it
        BOOST_TEST(ask(20s - 1us));
        BOOST_TEST(!ask(20s));
        l = local_limiter{};
    }
}

BOOST_AUTO_TEST_CASE(no_id_is_called_new_again_within_its_age_whatever_comes_between) {
    auto l = local_limiter{};
    const bloom_filter f{"f", {.capacity = 200, .error_rate = 0.1, .ttl = 1s}};
    std::mt19937_64 random{1};
    auto new_since = std::map<std::uint64_t, std::int64_t>{};
    auto now = std::int64_t{0};
    auto again = 0;
    for (int i = 0; i < 50'000; ++i) {
        now += static_cast<std::int64_t>(random() % 8'000);
        const auto id = random() % 600;
        const auto known = new_since.find(id);
        const auto seen = l.seen(std::to_string(id), f, {.now = at(now)});
        if (known != new_since.end() && now - known->second <= 1'000'000)
            BOOST_REQUIRE(seen);
        again += seen ? 0 : 1;
        if (!seen)
            new_since[id] = now;
    }
    BOOST_TEST(again > 10'000); // ids are forgotten, too
}

BOOST_AUTO_TEST_CASE(a_clock_that_is_set_back_forgets_nobody) {
    const bloom_filter f{"f", {.capacity = 1000, .ttl = 1s}};
    for (const auto back : {500ms, 1000ms, 1500ms, 2000ms, 2500ms, 10'000ms, 100'000ms}) {
        auto l = local_limiter{};
        const auto later = std::int64_t{200'300'000};
        const auto then = later - std::chrono::microseconds{back}.count();
        BOOST_TEST(!l.seen("id", f, {.now = at(later)}));
        BOOST_TEST(l.seen("id", f, {.now = at(then)}));
        BOOST_TEST(l.seen("id", f, {.now = at(then + 1'000'000)}));
        // It was moved back, and is forgotten in time: not when the clock comes there again.
        BOOST_TEST(!l.seen("id", f, {.now = at(then + 3'000'000)}));
    }
}

BOOST_AUTO_TEST_CASE(a_filter_with_other_numbers_another_name_or_prefix_is_another_filter) {
    auto l = local_limiter{};
    const bloom_filter f{"f"};
    BOOST_TEST(!l.seen("id", f, {.now = at(0)}));
    BOOST_TEST(l.seen("id", bloom_filter{"f"}, {.now = at(0)}));
    BOOST_TEST(!l.seen("id", bloom_filter{"g"}, {.now = at(0)}));
    BOOST_TEST(!l.seen("id", f.with_prefix("p"), {.now = at(0)}));
    BOOST_TEST(!l.seen("id", bloom_filter{"f", {.capacity = 2'000'000}}, {.now = at(0)}));
    BOOST_TEST(!l.seen("id", bloom_filter{"f", {.ttl = 25h}}, {.now = at(0)}));
    BOOST_TEST(!l.seen("id", bloom_filter{"f", {.error_rate = 0.02}}, {.now = at(0)}));
}

BOOST_AUTO_TEST_CASE(any_bytes_are_an_id_and_too_many_are_refused) {
    auto l = local_limiter{};
    const bloom_filter f{"f"};
    for (const auto& id : {std::string{}, std::string{"\0", 1}, std::string{"\r\n{}"},
                           std::string(limits::max_key_bytes, 'x')}) {
        BOOST_TEST(!l.seen(id, f, {.now = at(0)}));
        BOOST_TEST(l.seen(id, f, {.now = at(0)}));
    }
    BOOST_CHECK_THROW((void)l.seen(std::string(limits::max_key_bytes + 1, 'x'), f), colimit::error);
    BOOST_CHECK_THROW((void)l.seen("id", f, {.now = time_point{-1us}}), colimit::error);
}

BOOST_AUTO_TEST_CASE(the_filters_of_a_store_are_bounded_and_forgotten_ones_make_room) {
    auto filters = memory::bloom_filters{};
    const auto named = [](std::size_t i) {
        return bloom_filter{std::to_string(i), {.capacity = 1, .ttl = 1s}};
    };
    for (std::size_t i = 0; i < limits::max_local_filters; ++i)
        BOOST_REQUIRE((filters.seen("id", *detail::access::data(named(i)), start) == false));
    const auto more = named(limits::max_local_filters);
    BOOST_TEST(!filters.seen("id", *detail::access::data(more), start).has_value());
    BOOST_TEST((filters.seen("id", *detail::access::data(named(0)), start) == true));
    BOOST_TEST(!filters.seen("id", *detail::access::data(more), start + 1'999'999).has_value());
    BOOST_TEST((filters.seen("id", *detail::access::data(more), start + 2'000'000) == false));
    BOOST_TEST(filters.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
