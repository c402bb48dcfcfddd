// SPDX-License-Identifier: BSL-1.0
//
// Bloom filters on a server: they give the same results as those in process, bit by bit, keep their
// error rate, and all their keys expire.

#include "stores.hpp"

#include <colimit/bloom_filter.hpp>
#include <colimit/limiter.hpp>
#include <colimit/local_limiter.hpp>
#include <core/bloom.hpp>
#include <hash/fnv1a.hpp>
#include <policy/policy_data.hpp>
#include <redis/protocol/key.hpp>
#include <redis/script/wire.hpp>
#include <support/script_only.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/io_context.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(seen)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

/// A limiter, on the server if nothing else is said, asked about many ids in one turn.
class asker {
  public:
    explicit asker(std::chrono::milliseconds least_ttl = for_supplied_clocks,
                   const std::string& where = server().unix_address())
        : limiter_(context_.get_executor(), settings(least_ttl, where)) {
        look().must({"FLUSHALL"});
    }

    [[nodiscard]] std::vector<std::pair<error_code, bool>>
    ask(std::span<const std::string> ids, const bloom_filter& f,
        std::optional<time_point> now = std::nullopt, bool records = true) {
        auto answers = std::vector<std::pair<error_code, bool>>(ids.size());
        auto open = ids.size();
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto then = [&, i](error_code ec, bool seen) {
                answers[i] = {ec, seen};
                --open;
            };
            if (records)
                limiter_.seen(ids[i], f, {.now = now}, then);
            else
                limiter_.probably_seen(ids[i], f, {.now = now}, then);
        }
        context_.restart();
        while (open != 0)
            context_.run_one();
        return answers;
    }

    [[nodiscard]] bool seen(const std::string& id, const bloom_filter& f,
                            std::optional<time_point> now = std::nullopt) {
        const auto [ec, seen] = ask(std::span{&id, 1}, f, now).front();
        BOOST_REQUIRE_MESSAGE(!ec, ec.message());
        return seen;
    }

    [[nodiscard]] bool probably_seen(const std::string& id, const bloom_filter& f,
                                     std::optional<time_point> now = std::nullopt) {
        const auto [ec, seen] = ask(std::span{&id, 1}, f, now, false).front();
        BOOST_REQUIRE_MESSAGE(!ec, ec.message());
        return seen;
    }

  private:
    [[nodiscard]] static config settings(std::chrono::milliseconds least_ttl,
                                         const std::string& where) {
        auto c = config{};
        c.server = where;
        c.timeout = 10s;
        c.on_failure = failure_mode::error;
        c.advanced.min_key_ttl = least_ttl;
        return c;
    }

    boost::asio::io_context context_{1};
    limiter limiter_;
};

[[nodiscard]] std::string name_of(const bloom_filter& f, std::size_t parity, std::uint32_t block) {
    auto name = std::string{};
    const auto number = std::to_string(block);
    const auto at = redis::append_key(name, config{}.prefix, f.name(), number);
    const auto family = redis::bitmap_family(*detail::access::data(f)->filter, parity);
    return name.insert(at, family.data(), family.size());
}

/// Of the present generation of a filter whose age is not about to end.
[[nodiscard]] std::size_t present_parity(const bloom_filter& f) {
    return static_cast<std::size_t>(look().time() / f.settings().ttl.count() % 2);
}

/// A block that says that it is of generation `own` and knows every id.
[[nodiscard]] std::string full_bitmap(const bloom_filter& f, double own) {
    auto bytes = std::string(detail::access::data(f)->filter->block_bytes(), '\xff');
    const auto head = own + 1;
    std::memcpy(bytes.data(), &head, sizeof head);
    return bytes;
}

[[nodiscard]] std::vector<std::string> numbered(std::int64_t first, std::int64_t end) {
    auto ids = std::vector<std::string>{};
    for (auto i = first; i != end; ++i)
        ids.push_back(std::to_string(i));
    return ids;
}

} // namespace

BOOST_AUTO_TEST_CASE(an_id_is_new_once_then_old_for_an_age_and_for_two_at_most) {
    auto s = asker{};
    const bloom_filter f{"f", {.capacity = 1000, .ttl = 10s}};
    BOOST_TEST(!s.seen("id", f, at(5 * second)));
    BOOST_TEST(s.seen("id", f, at(5 * second)));
    BOOST_TEST(s.seen("id", f, at(15 * second)));
    BOOST_TEST(s.seen("id", f, at(20 * second - 1)));
    BOOST_TEST(!s.seen("other", f, at(5 * second)));
    BOOST_TEST(!s.seen("id", f, at(20 * second)));
}

BOOST_AUTO_TEST_CASE(equal_ids_of_one_batch_are_new_once) {
    auto s = asker{};
    const auto ids = std::vector<std::string>(300, "id");
    auto old = 0;
    for (const auto& [ec, seen] : s.ask(ids, bloom_filter{"f"})) {
        BOOST_TEST(!ec);
        old += seen ? 1 : 0;
    }
    BOOST_TEST(old == 299);
}

BOOST_AUTO_TEST_CASE(of_a_million_new_ids_fewer_than_stated_are_called_old) {
    auto s = asker{};
    const bloom_filter f{"f", {.capacity = 500'000, .error_rate = 0.01, .ttl = 24h}};
    // Half of them in one age, half in the next.
    auto old = std::int64_t{0};
    auto old_at_last = std::int64_t{0};
    constexpr std::int64_t step = 20'000;
    for (std::int64_t first = 0; first < 1'000'000; first += step) {
        const auto now = at(first < 500'000 ? 0 : 86'400 * second);
        auto here = std::int64_t{0};
        for (const auto& [ec, seen] : s.ask(numbered(first, first + step), f, now)) {
            BOOST_REQUIRE(!ec);
            here += seen ? 1 : 0;
        }
        old += here;
        if (first >= 900'000)
            old_at_last += here;
    }
    BOOST_TEST(old < 10'000);
    BOOST_TEST(old_at_last < 1'000); // of 100,000, with generations that are full and almost full
    auto bytes = std::int64_t{0};
    for (std::uint32_t block = 0; block < detail::access::data(f)->filter->blocks; ++block)
        bytes += look().must({"MEMORY", "USAGE", name_of(f, 0, block)}).integer;
    BOOST_TEST_MESSAGE("false positives " << old << ", at last " << old_at_last
                                          << "; memory of a generation of 500,000: " << bytes);
    BOOST_TEST(bytes < 2 * 500'000);
}

BOOST_AUTO_TEST_CASE(all_stores_give_the_same_answers_whatever_the_clock_says) {
    auto s = asker{};
    auto m = asker{0ms, "memory:"};
    auto l = local_limiter{};
    std::mt19937_64 random{7};
    const bloom_filter filters[] = {
        bloom_filter{"small", {.capacity = 60, .error_rate = 0.3, .ttl = 1s}},
        bloom_filter{"fine", {.capacity = 100, .error_rate = 0.00001, .ttl = 1s}},
        bloom_filter{"blocks", {.capacity = 2'000'000, .ttl = 3s}}};
    auto now = std::int64_t{0};
    auto counts = std::array<int, 2>{};
    for (int round = 0; round < 400; ++round) {
        now += static_cast<std::int64_t>(random() % 600'000);
        if (random() % 20 == 0)
            now -= static_cast<std::int64_t>(random() % 8'000'000);
        const auto& f = filters[random() % 3];
        auto ids = std::vector<std::string>(1 + random() % 40);
        for (auto& id : ids)
            id = std::to_string(random() % 300);
        const auto records = random() % 2 == 0;
        const auto answers = s.ask(ids, f, at(now), records);
        BOOST_REQUIRE((m.ask(ids, f, at(now), records) == answers));
        for (std::size_t i = 0; i < ids.size(); ++i) {
            BOOST_REQUIRE(!answers[i].first);
            const auto here = records ? l.seen(ids[i], f, {.now = at(now)})
                                      : l.probably_seen(ids[i], f, {.now = at(now)});
            BOOST_REQUIRE(answers[i].second == here);
            ++counts[answers[i].second ? 1 : 0];
        }
    }
    BOOST_TEST(counts[0] > 1000);
    BOOST_TEST(counts[1] > 1000);
}

BOOST_AUTO_TEST_CASE(an_id_is_known_in_the_first_age_of_all_time_too) {
    const bloom_filter f{"f", {.capacity = 100, .ttl = 24h}};
    const auto begin = time_point{};
    auto l = local_limiter{};
    BOOST_TEST(!l.seen("id", f, {.now = begin}));
    BOOST_TEST(l.seen("id", f, {.now = begin + 47h}));
    for (const auto* where : {"", "memory:"}) {
        auto s = asker{for_supplied_clocks, *where != 0 ? where : server().unix_address()};
        BOOST_TEST(!s.seen("id", f, begin));
        BOOST_TEST(s.seen("id", f, begin + 47h));
        BOOST_TEST(!s.seen("id", f, begin + 48h));
    }
}

BOOST_AUTO_TEST_CASE(P4_a_bitmap_ends_with_the_age_after_its_own) {
    auto s = asker{0ms};
    const bloom_filter f{"f", {.capacity = 1000, .ttl = 1h}};
    (void)s.seen("id", f);
    const auto name = name_of(f, present_parity(f), 0);
    const auto age = f.settings().ttl.count();
    const auto ends = look().must({"PEXPIRETIME", name}).integer * 1000;
    const auto needed = (look().time() / age + 2) * age;
    BOOST_TEST(ends >= needed);
    BOOST_TEST(ends <= needed + second);
    BOOST_TEST(look().dbsize() == 1);
}

BOOST_AUTO_TEST_CASE(P3_asking_about_an_old_id_leaves_the_bitmap_and_its_end_as_they_were) {
    auto s = asker{0ms};
    const bloom_filter f{"f", {.capacity = 1000, .ttl = 1h}};
    (void)s.seen("id", f);
    const auto name = name_of(f, present_parity(f), 0);
    const auto picture = [&] {
        return std::pair{look().dump(name), look().must({"PEXPIRETIME", name}).integer};
    };
    const auto before = picture();
    BOOST_REQUIRE(before.first.has_value());
    BOOST_TEST(s.seen("id", f));
    BOOST_TEST((picture() == before));
}

BOOST_AUTO_TEST_CASE(probably_seen_says_what_seen_would_and_records_nothing) {
    const bloom_filter f{"f", {.capacity = 1000, .ttl = 10s}};
    for (const auto* where : {"", "memory:"}) {
        auto s = asker{for_supplied_clocks, *where != 0 ? where : server().unix_address()};
        BOOST_TEST(!s.probably_seen("id", f, at(5 * second)));
        BOOST_TEST(look().dbsize() == 0);
        BOOST_TEST(!s.seen("id", f, at(5 * second)));
        BOOST_TEST(!s.probably_seen("other", f, at(5 * second)));
        BOOST_TEST(!s.seen("other", f, at(5 * second)));
        BOOST_TEST(s.probably_seen("id", f, at(5 * second)));
        BOOST_TEST(s.probably_seen("id", f, at(20 * second - 1)));
        BOOST_TEST(!s.probably_seen("id", f, at(20 * second)));
    }
}

/// Even if the clock was set back, when `seen` would move the bitmap to the present.
BOOST_AUTO_TEST_CASE(P3_probably_seen_changes_no_byte_and_no_end) {
    auto s = asker{};
    const bloom_filter f{"f", {.capacity = 1000, .ttl = 10s}};
    (void)s.seen("id", f, at(100 * second));
    const auto before = take_picture();
    BOOST_REQUIRE(before.size() == 1U);
    for (const auto now : {0, 80, 90, 100, 105, 110})
        BOOST_TEST(s.probably_seen("id", f, at(now * second)));
    for (const auto now : {0, 100, 120})
        BOOST_TEST(!s.probably_seen("other", f, at(now * second)));
    BOOST_TEST((take_picture() == before));
    BOOST_TEST(s.seen("id", f, at(0)));
    BOOST_TEST((take_picture() != before));
}

BOOST_AUTO_TEST_CASE(ids_that_are_recorded_and_ids_that_are_looked_up_share_a_batch_in_order) {
    const bloom_filter f{"f", {.capacity = 1000}};
    for (const auto* where : {"", "memory:"}) {
        auto context = boost::asio::io_context{1};
        look().must({"FLUSHALL"});
        auto l = limiter{context.get_executor(), *where != 0 ? where : server().unix_address()};
        auto answers = std::vector<bool>{};
        const auto then = [&](error_code ec, bool seen) {
            BOOST_TEST(!ec);
            answers.push_back(seen);
        };
        l.probably_seen("id", f, then);
        l.seen("id", f, then);
        l.probably_seen("id", f, then);
        l.probably_seen("other", f, then);
        l.seen("id", f, then);
        while (answers.size() < 5)
            context.run_one();
        BOOST_TEST((answers == std::vector{false, false, true, false, true}));
        BOOST_TEST(l.statistics().batches <= 1U);
    }
}

BOOST_AUTO_TEST_CASE(a_bitmap_has_its_size_from_the_start_and_no_spare_memory) {
    auto s = asker{};
    const bloom_filter f{"f", {.capacity = 600'000}};
    (void)s.seen("id", f, at(0));
    const auto name = name_of(f, static_cast<std::size_t>(1'700'000'000 / 86'400 % 2), 0);
    BOOST_TEST(look().must({"STRLEN", name}).integer == f.bytes());
    BOOST_TEST(look().must({"MEMORY", "USAGE", name}).integer < 5 * f.bytes() / 4);
}

BOOST_AUTO_TEST_CASE(another_type_in_the_way_is_a_conflict_for_the_ids_of_its_block_alone) {
    auto s = asker{};
    const bloom_filter f{"f", {.capacity = 2'000'000, .ttl = 1h}};
    const auto blocks = detail::access::data(f)->filter->blocks;
    BOOST_REQUIRE(blocks > 1);
    for (const auto parity : {0U, 1U}) {
        look().must({"FLUSHALL"});
        look().must({"RPUSH", name_of(f, parity, 0), "theirs"});
        auto conflicts = 0;
        for (const auto& [ec, seen] : s.ask(numbered(0, 900), f, at(0))) {
            BOOST_TEST((!ec || ec == errc::key_conflict));
            BOOST_TEST(!seen);
            conflicts += ec ? 1 : 0;
        }
        BOOST_TEST(conflicts > 900 / static_cast<int>(blocks) / 2);
        BOOST_TEST(conflicts < 2 * 900 / static_cast<int>(blocks));
        BOOST_TEST(look().must({"TYPE", name_of(f, parity, 0)}).text == "list");
    }
}

/// Whether the server refuses to write to a bitmap that is there, or to make one.
BOOST_AUTO_TEST_CASE(a_write_that_the_server_refuses_is_said_of_the_ids_of_its_block_alone,
                     *colimit::test::script_only) {
    const auto own = redis_server{};
    auto behind = own.connect();
    const bloom_filter f{"f", {.capacity = 2'000'000, .ttl = 1h}};
    const auto& shape = *detail::access::data(f)->filter;
    const auto block_of = [&](const std::string& id) { return core::bits_of(shape, id).block; };
    const auto known = numbered(0, 60); // all in one batch
    for (const auto refused_block : {0U, shape.blocks - 1}) {
        behind.must({"ACL", "SETUSER", "default", "+setrange"});
        behind.must({"FLUSHALL"});
        auto s = asker{for_supplied_clocks, own.unix_address()};
        (void)s.ask(known, f, at(0));
        behind.must({"ACL", "SETUSER", "default", "-setrange"});
        auto ids = known; // and a new one among those of its block
        auto fresh = std::string{"new"};
        while (block_of(fresh) != refused_block)
            fresh += '+';
        ids.insert(ids.begin() + 30, fresh);
        for (const auto make : {false, true}) {
            if (make)
                behind.must({"DEL", name_of(f, at(0).time_since_epoch() / 1h % 2, refused_block)});
            const auto answers = s.ask(ids, f, at(0));
            for (std::size_t i = 0; i < ids.size(); ++i)
                if (block_of(ids[i]) == refused_block)
                    BOOST_TEST((answers[i].first == errc::auth_failed), answers[i].first.message());
                else
                    BOOST_TEST((!answers[i].first && answers[i].second));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_string_that_is_no_bitmap_is_replaced) {
    auto s = asker{};
    const bloom_filter f{"f", {.capacity = 1000, .ttl = 10s}};
    for (const auto& bytes :
         {std::string{"x"}, std::string(8, '\xff'), std::string(500, '\xff'), std::string(5, '\0'),
          std::string("\x9a\x99\x99\x99\x99\x99\xf1\x3f", 8)}) {
        for (const auto parity : {0U, 1U}) {
            look().must({"SET", name_of(f, parity, 0), bytes});
            BOOST_TEST(!s.seen("id", f, at(0)));
            BOOST_TEST(s.seen("id", f, at(0)));
            look().must({"FLUSHALL"});
        }
    }
}

BOOST_AUTO_TEST_CASE(a_bitmap_of_a_generation_that_cannot_be_there_is_not_asked) {
    auto s = asker{};
    const bloom_filter f{"f", {.capacity = 1000, .ttl = 10s}};
    constexpr auto generation = 170'000'000.0; // of at(0), and even
    for (const auto own : {generation - 1, generation - 0.5, generation + 1}) {
        look().must({"SET", name_of(f, 0, 0), full_bitmap(f, own)});
        BOOST_TEST(!s.seen("id", f, at(0)));
        look().must({"FLUSHALL"});
    }
    for (const auto own : {generation, generation - 0.5, generation + 2}) {
        look().must({"SET", name_of(f, 1, 0), full_bitmap(f, own)});
        BOOST_TEST(!s.seen("id", f, at(0)));
        look().must({"FLUSHALL"});
    }
    look().must({"SET", name_of(f, 1, 0), full_bitmap(f, generation - 1)});
    BOOST_TEST(s.seen("id", f, at(0))); // that one can
}

BOOST_AUTO_TEST_CASE(P4_a_bitmap_from_a_later_time_ends_as_one_of_now) {
    auto s = asker{0ms};
    const bloom_filter f{"f", {.capacity = 1000, .ttl = 1h}};
    const auto age = f.settings().ttl.count();
    const auto generation = look().time() / age;
    const auto name = name_of(f, static_cast<std::size_t>(generation % 2), 0);
    look().must(
        {"SET", name, full_bitmap(f, static_cast<double>(generation + 100)), "EX", "999999"});
    BOOST_TEST(s.seen("id", f));
    const auto ends = look().must({"PEXPIRETIME", name}).integer * 1000;
    BOOST_TEST(ends >= (generation + 2) * age);
    BOOST_TEST(ends <= (look().time() / age + 3) * age + second);
}

BOOST_AUTO_TEST_CASE(a_bitmap_that_was_cut_short_answers_as_if_the_rest_were_empty) {
    auto s = asker{};
    const bloom_filter f{"f", {.capacity = 1000, .ttl = 10s}};
    BOOST_TEST(!s.seen("id", f, at(0)));
    const auto name = name_of(f, static_cast<std::size_t>(1'700'000'000 / 10 % 2), 0);
    const auto head = look().must({"GETRANGE", name, "0", "7"}).text;
    look().must({"SET", name, head});
    BOOST_TEST(!s.seen("id", f, at(0)));
    BOOST_TEST(s.seen("id", f, at(0)));
}

BOOST_AUTO_TEST_CASE(a_forgotten_script_is_no_trouble) {
    auto s = asker{};
    const bloom_filter f{"f"};
    BOOST_TEST(!s.seen("id", f));
    look().must({"SCRIPT", "FLUSH"});
    BOOST_TEST(s.seen("id", f));
}

BOOST_AUTO_TEST_SUITE_END()
