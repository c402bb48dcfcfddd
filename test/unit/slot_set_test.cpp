// SPDX-License-Identifier: BSL-1.0
//
// slot_set against a plain map of holders that is obviously correct.

#include <colimit/limits.hpp>
#include <core/slot_set.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(slot_sets)

namespace {

using colimit::core::slot_set;

constexpr auto start = std::int64_t{1'700'000'000'000'000};
constexpr auto lease = std::int64_t{30'000'000};
constexpr std::string_view a = "holder is  a";
constexpr std::string_view b = "holder is  b";

void add(slot_set& set, std::string_view id, std::int64_t now, std::int64_t length = lease) {
    BOOST_REQUIRE(set.make_room(now));
    set.add(id, now, length);
}

/// The ends of leases by holder, without a thought for speed.
class plain_map {
  public:
    [[nodiscard]] std::vector<std::int64_t> ends(std::int64_t now, std::int64_t length) const {
        auto found = std::vector<std::int64_t>{};
        for (const auto& [id, end] : ends_)
            if (end > now)
                found.push_back(std::min(end, now + length));
        std::ranges::sort(found);
        return found;
    }
    [[nodiscard]] bool holds(const std::string& id, std::int64_t now) const {
        return ends_.contains(id) && ends_.at(id) > now;
    }
    void shorten(std::int64_t now, std::int64_t length) {
        for (auto& [id, end] : ends_)
            end = std::min(end, now + length);
    }
    void add(const std::string& id, std::int64_t now, std::int64_t length) {
        std::erase_if(ends_, [now](const auto& h) { return h.second <= now; });
        ends_[id] = now + length;
    }
    void extend(const std::string& id, std::int64_t end) { ends_[id] = end; }
    bool remove(const std::string& id) { return ends_.erase(id) != 0; }

  private:
    std::map<std::string, std::int64_t> ends_;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_lease_ends_at_its_end_and_not_before) {
    auto set = slot_set{};
    add(set, a, start);
    BOOST_TEST(set.count(start + lease - 1) == 1);
    BOOST_TEST(set.holds(a, start + lease - 1));
    BOOST_TEST(set.last_end(start + lease - 1, lease) == start + lease);
    BOOST_TEST(set.count(start + lease) == 0);
    BOOST_TEST(!set.holds(a, start + lease));
    BOOST_TEST(set.last_end(start + lease, lease) == 0);
}

BOOST_AUTO_TEST_CASE(a_slot_becomes_free_when_the_lease_ends_that_makes_room) {
    auto set = slot_set{};
    add(set, a, start);
    add(set, b, start + 5);
    BOOST_TEST(set.free_at(start + 5, 2, lease) == start + lease);
    BOOST_TEST(set.free_at(start + 5, 1, lease) == start + 5 + lease); // of a lower limit
}

BOOST_AUTO_TEST_CASE(tokens_grow_however_the_clock_moves_and_even_if_the_set_is_forgotten) {
    auto set = slot_set{};
    BOOST_TEST(set.next_token(0) == 1);
    add(set, a, start);
    BOOST_TEST(set.token() == start);
    add(set, b, start);
    BOOST_TEST(set.token() == start + 1);
    add(set, a, start - 1'000'000);
    BOOST_TEST(set.token() == start + 2);
    set.clear();
    BOOST_TEST(set.is_empty());
    BOOST_TEST(set.next_token(start + 3) == start + 3);
}

BOOST_AUTO_TEST_CASE(after_the_largest_token_that_is_exact_there_is_no_larger_one) {
    auto set = slot_set{};
    set.pass_token(slot_set::max_token);
    BOOST_TEST(set.next_token(start) == slot_set::max_token);
    add(set, a, start);
    BOOST_TEST(set.token() == slot_set::max_token);
}

BOOST_AUTO_TEST_CASE(after_the_clock_was_set_back_no_lease_is_longer_than_one) {
    auto set = slot_set{};
    add(set, a, start);
    const auto back = start - std::int64_t{86'400'000'000};
    BOOST_TEST(set.last_end(back, lease) == back + lease);
    BOOST_TEST(set.free_at(back, 1, lease) == back + lease);
    BOOST_TEST(set.shorten(back, lease));
    BOOST_TEST(!set.shorten(back, lease));
    BOOST_TEST(set.count(back + lease - 1) == 1);
    BOOST_TEST(set.count(back + lease) == 0);
}

BOOST_AUTO_TEST_CASE(ended_leases_take_no_memory_after_the_next_holder) {
    auto set = slot_set{};
    for (auto i = 0; i < 1'000; ++i)
        add(set, i % 2 == 0 ? a : b, start + i * lease);
    BOOST_TEST(set.holders().size() == 1U);
    BOOST_TEST(set.bytes() <= sizeof(slot_set) + 4 * slot_set::holder_size);
}

BOOST_AUTO_TEST_CASE(a_set_has_room_for_at_most_twice_its_holders_and_seldom_moves_them) {
    auto set = slot_set{};
    auto moves = 0;
    for (std::size_t i = 1; i <= 1'000; ++i) {
        const auto before = set.bytes();
        add(set, "holder  " + std::to_string(1'000 + i), start);
        moves += set.bytes() != before ? 1 : 0;
        BOOST_TEST_REQUIRE(set.bytes() <=
                           sizeof(slot_set) + std::max(4UL, 2 * i) * slot_set::holder_size);
    }
    BOOST_TEST(moves == 9); // 4, 8, ..., 1,024
}

BOOST_AUTO_TEST_CASE(a_single_lease_that_has_ended_is_room_for_a_holder) {
    auto set = slot_set{};
    for (auto i = 0; i < 4; ++i)
        add(set, "holder is  " + std::to_string(i), start + i);
    const auto full = set.bytes();
    BOOST_TEST(set.bytes_with_room(start + lease - 1) > full);
    BOOST_TEST(set.bytes_with_room(start + lease) == full);
    add(set, a, start + lease);
    BOOST_TEST(set.bytes() == full);
}

/// With a search through all holders this would take minutes.
BOOST_AUTO_TEST_CASE(the_cost_of_a_call_hardly_grows_with_the_holders) {
    constexpr auto holders = colimit::limits::max_concurrent;
    const auto id = [](std::int64_t i) {
        auto text = std::to_string(i);
        return text.insert(0, 12 - text.size(), '0');
    };
    auto set = slot_set{};
    for (auto i = std::int64_t{0}; i < holders; ++i)
        add(set, id(i), start + i);
    const auto begin = std::clock();
    for (auto round = std::int64_t{1}; round <= 3; ++round)
        for (auto i = std::int64_t{0}; i < holders; ++i) {
            const auto other = id(i * 7'919 % holders); // each once
            const auto now = start + round * lease / 2 + i;
            if (set.holds(other, now) && set.count(now) == holders)
                set.extend(other, now, lease);
        }
    for (auto i = std::int64_t{0}; i < holders; ++i)
        BOOST_REQUIRE(set.remove(id(i)));
    const auto seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    BOOST_TEST(seconds < 10); // of processor time
    BOOST_TEST(set.count(start) == 0);
}

BOOST_AUTO_TEST_CASE(a_set_is_like_a_plain_map) {
    auto rng = colimit::test::rng{1};
    auto set = slot_set{};
    auto plain = plain_map{};
    auto now = start;
    auto token = std::int64_t{0};
    for (auto i = 0; i < 20'000; ++i) {
        const auto length = rng.percent(90) ? lease : lease / 3;
        now += rng.percent(90) ? rng.magnitude(lease / 2) : -rng.magnitude(2 * lease);
        const auto id = std::string{"holder is "} + std::to_string(10 + rng.below(60));
        const auto limit = rng.between(1, 9);
        const auto ends = plain.ends(now, length);
        const auto size = static_cast<std::int64_t>(ends.size());
        BOOST_REQUIRE(set.count(now) == size);
        BOOST_REQUIRE(set.holds(id, now) == plain.holds(id, now));
        BOOST_REQUIRE(set.last_end(now, length) == (ends.empty() ? 0 : ends.back()));
        if (size >= limit) {
            const auto first_left = static_cast<std::size_t>(size - limit);
            BOOST_REQUIRE(set.free_at(now, limit, length) == ends[first_left]);
        }
        if (!rng.percent(70))
            continue;
        (void)set.shorten(now, length);
        plain.shorten(now, length);
        const auto what = rng.below(10);
        if (what < 6) {
            const auto before = set.bytes_with_room(now);
            add(set, id, now, length);
            plain.add(id, now, length);
            BOOST_REQUIRE(set.bytes() == before);
            BOOST_REQUIRE(set.token() > token);
            token = set.token();
        } else if (what < 8) {
            BOOST_REQUIRE(set.remove(id) == plain.remove(id));
        } else if (set.holds(id, now)) {
            set.extend(id, now, length);
            plain.extend(id, now + length);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
