// SPDX-License-Identifier: BSL-1.0
//
// event_log against a plain list of events that is obviously correct.

#include <colimit/limits.hpp>
#include <core/event_log.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <random>
#include <utility>

BOOST_AUTO_TEST_SUITE(event_log_suite)

using colimit::core::event_log;

namespace {

/// The same rules, in the words of the specification, without a thought for speed.
class plain_list {
  public:
    [[nodiscard]] std::int64_t used(std::int64_t now, std::int64_t period) const {
        auto sum = std::int64_t{0};
        for (const auto& e : events_)
            if (e.t > now - period)
                sum += e.weight;
        return sum;
    }
    [[nodiscard]] std::int64_t newest(std::int64_t now, std::int64_t period) const {
        return used(now, period) == 0 ? 0 : std::min(events_.back().t, now);
    }
    [[nodiscard]] std::int64_t fits_at(std::int64_t now, std::int64_t limit, std::int64_t period,
                                       std::int64_t amount) const {
        auto left = used(now, period);
        if (left + amount <= limit)
            return 0;
        for (const auto& e : events_) {
            if (e.t <= now - period)
                continue;
            left -= e.weight;
            if (left + amount <= limit)
                return std::min(e.t, now) + period;
        }
        return now + period;
    }
    void move_to(std::int64_t now) {
        auto weight = std::int64_t{0};
        for (; !events_.empty() && events_.back().t > now; events_.pop_back())
            weight += events_.back().weight;
        if (weight != 0)
            events_.push_back({now, weight});
    }
    void record(std::int64_t now, std::int64_t weight, std::int64_t keep, std::int64_t capacity) {
        weight = std::min(weight, event_log::max_weight - used(now, kept_for(keep)));
        if (weight <= 0)
            return;
        move_to(now);
        forget(now - kept_for(keep));
        longest_ = kept_for(keep);
        events_.push_back({now, weight});
        const auto size = static_cast<std::int64_t>(events_.size());
        if (size <= capacity)
            return;
        for (auto left = std::min(size - capacity + capacity / 8, size - 1); left > 0; --left) {
            events_[1].weight += events_[0].weight;
            events_.pop_front();
        }
    }
    void refund(std::int64_t now, std::int64_t weight, std::int64_t keep) {
        if (weight == 0)
            return;
        move_to(now);
        forget(now - kept_for(keep));
        longest_ = kept_for(keep);
        while (weight > 0 && !events_.empty()) {
            auto& last = events_.back();
            const auto taken = std::min(weight, last.weight);
            last.weight -= taken;
            weight -= taken;
            if (last.weight == 0)
                events_.pop_back();
        }
    }
    [[nodiscard]] std::size_t size() const { return events_.size(); }
    void clear() { events_.clear(); }

  private:
    [[nodiscard]] std::int64_t kept_for(std::int64_t keep) const {
        return events_.empty() ? keep : std::max(keep, longest_);
    }
    struct event {
        std::int64_t t;
        std::int64_t weight;
    };
    void forget(std::int64_t until) {
        std::erase_if(events_, [&](const event& e) { return e.t <= until; });
    }
    std::deque<event> events_;
    std::int64_t longest_ = 0;
};

constexpr std::int64_t start = 1'700'000'000'000'000;
constexpr std::int64_t many = 1'000'000;

} // namespace

BOOST_AUTO_TEST_CASE(an_event_counts_for_one_period_exactly) {
    auto log = event_log{};
    BOOST_TEST(log.record(start, 3, 100, many));
    BOOST_TEST(log.used(start, 100) == 3);
    BOOST_TEST(log.used(start + 99, 100) == 3);
    BOOST_TEST(log.newest(start + 99, 100) == start);
    BOOST_TEST(log.used(start + 100, 100) == 0);
    BOOST_TEST(log.newest(start + 100, 100) == 0);
    BOOST_TEST(log.size() == 1U); // nothing has trimmed it
}

BOOST_AUTO_TEST_CASE(the_last_event_is_told_however_many_there_are) {
    auto log = event_log{};
    BOOST_TEST(log.last() == 0);
    for (auto t = start; t < start + 9; ++t) {
        (void)log.record(t, 1, 100, many);
        BOOST_TEST(log.last() == t);
    }
}

BOOST_AUTO_TEST_CASE(a_thousand_events_in_one_microsecond_are_a_thousand) {
    auto log = event_log{};
    for (int i = 0; i < 1'000; ++i)
        (void)log.record(start, 1, 100, many);
    BOOST_TEST(log.size() == 1'000U);
    BOOST_TEST(log.used(start, 100) == 1'000);
    BOOST_TEST(log.fits_at(start, 1'000, 100, 1) == start + 100);
}

BOOST_AUTO_TEST_CASE(something_fits_when_enough_of_the_oldest_has_gone) {
    auto log = event_log{};
    for (int i = 0; i < 5; ++i)
        (void)log.record(start + i * 10, 2, 100, many);
    const auto now = start + 50;
    BOOST_TEST(log.fits_at(now, 10, 100, 0) == 0);
    BOOST_TEST(log.fits_at(now, 10, 100, 1) == start + 100);
    BOOST_TEST(log.fits_at(now, 10, 100, 2) == start + 100);
    BOOST_TEST(log.fits_at(now, 10, 100, 3) == start + 110);
    BOOST_TEST(log.fits_at(now, 10, 100, 10) == start + 140);
    BOOST_TEST(log.fits_at(now, 10, 100, 11) == now + 100);
}

BOOST_AUTO_TEST_CASE(what_counts_together_is_cut_at_four_bytes) {
    BOOST_TEST(event_log::max_weight == 4'294'967'295);
    auto log = event_log{};
    BOOST_TEST(log.record(start, event_log::max_weight - 5, 100, many));
    BOOST_TEST(log.record(start + 1, 9, 100, many));
    BOOST_TEST(log.used(start + 1, 100) == event_log::max_weight);
    BOOST_TEST(!log.record(start + 2, 1, 100, many));
    BOOST_TEST(log.record(start + 100, 1, 100, many)); // the first has gone
    BOOST_TEST(log.used(start + 100, 100) == 6);
}

BOOST_AUTO_TEST_CASE(a_refund_takes_from_the_newest_and_leaves_its_time) {
    auto log = event_log{};
    (void)log.record(start, 3, 100, many);
    (void)log.record(start + 10, 3, 100, many);
    BOOST_TEST(log.refund(start + 20, 4, 100));
    BOOST_TEST(log.size() == 1U);
    BOOST_TEST(log.used(start + 20, 100) == 2);
    BOOST_TEST(log.newest(start + 20, 100) == start);
    BOOST_TEST(!log.refund(start + 20, 0, 100));
    BOOST_TEST(log.refund(start + 20, 3, 100));
    BOOST_TEST(log.is_empty());
    BOOST_TEST(!log.refund(start + 20, 3, 100));
}

BOOST_AUTO_TEST_CASE(a_clock_set_back_moves_events_to_it_and_loses_none) {
    auto log = event_log{};
    (void)log.record(start, 1, 100, many);
    (void)log.record(start + 50, 2, 100, many);
    const auto earlier = start - 1'000;
    BOOST_TEST(log.used(earlier, 100) == 3);
    BOOST_TEST(log.newest(earlier, 100) == earlier);
    BOOST_TEST(log.fits_at(earlier, 3, 100, 1) == earlier + 100);
    BOOST_TEST(log.used(start, 100) == 3); // nothing was written
    BOOST_TEST(log.move_to(earlier));
    BOOST_TEST(!log.move_to(earlier));
    BOOST_TEST(log.used(earlier + 99, 100) == 3);
    BOOST_TEST(log.used(earlier + 100, 100) == 0);
}

BOOST_AUTO_TEST_CASE(a_clock_set_back_makes_one_event_of_all_that_are_after_it) {
    auto log = event_log{};
    for (int i = 0; i < 1'000; ++i)
        (void)log.record(start + i, 2, 10'000, many);
    BOOST_TEST(log.move_to(start + 9));
    BOOST_TEST(log.size() == 11U); // ten that stay
    BOOST_TEST(log.used(start + 9, 10'000) == 2'000);
    BOOST_TEST(log.last() == start + 9);
    BOOST_TEST(log.refund(start + 9, 1'979, 10'000));
    BOOST_TEST(log.used(start + 9, 10'000) == 21);
}

/// The limit has room for `limit` tokens, and the log for 2 * limit + 16 events.
BOOST_AUTO_TEST_CASE(beyond_its_capacity_a_log_forgets_no_weight_and_decides_as_before) {
    constexpr std::int64_t limit = 5;
    constexpr std::int64_t period = 1'000;
    auto bounded = event_log{};
    auto whole = event_log{};
    for (int i = 0; i < 10'000; ++i) {
        const auto now = start + i;
        (void)bounded.record(now, 1, period, 2 * limit + 16);
        (void)whole.record(now, 1, period, many);
        BOOST_REQUIRE(bounded.size() <= 2 * limit + 16);
        BOOST_REQUIRE(bounded.used(now, period) >= whole.used(now, period));
        if (i >= period)
            for (const auto later : {now, now + period / 2, now + period - 2 * limit - 1})
                BOOST_REQUIRE(bounded.used(later, period) > limit);
        for (std::int64_t amount = 1; amount <= limit; ++amount)
            BOOST_REQUIRE(bounded.fits_at(now, limit, period, amount) ==
                          whole.fits_at(now, limit, period, amount));
        for (auto later = now + period - limit - 1; later <= now + period; ++later)
            BOOST_REQUIRE(bounded.used(later, period) == whole.used(later, period));
    }
    // Refunds return what was charged.
    auto log = event_log{};
    for (int i = 0; i < 100; ++i)
        (void)log.record(start + i, 1, period, 2 * limit + 16);
    BOOST_TEST(log.used(start + 100, period) == 100);
    BOOST_TEST(log.refund(start + 100, 95, period));
    BOOST_TEST(log.used(start + 100, period) == 5);
    BOOST_TEST(log.used(start + 100 + period, period) == 0);
}

BOOST_AUTO_TEST_CASE(without_room_the_newest_event_takes_up_what_comes) {
    auto log = event_log{};
    const auto bytes = log.bytes();
    auto list = plain_list{};
    auto random = std::mt19937{1};
    auto now = start;
    for (int i = 0; i < 10'000; ++i) {
        now += static_cast<std::int64_t>(random() % 30);
        const auto weight = 1 + static_cast<std::int64_t>(random() % 3);
        (void)log.record(now, weight, 100, many, false);
        list.record(now, weight, 100, many);
        BOOST_REQUIRE(log.size() <= 2U);
        BOOST_REQUIRE(log.used(now, 100) >= list.used(now, 100));
        const auto later = now + static_cast<std::int64_t>(random() % 120);
        BOOST_REQUIRE(log.used(later, 100) >= list.used(later, 100));
    }
    BOOST_TEST(log.bytes() == bytes);
    BOOST_TEST(log.used(now + 100, 100) == 0);
}

BOOST_AUTO_TEST_CASE(memory_follows_the_number_of_events_both_ways) {
    auto log = event_log{};
    BOOST_TEST(log.bytes() == 64U);
    auto foretold = std::size_t{64};
    for (int i = 0; i < 100'000; ++i) {
        foretold = log.bytes_to_record(start + i, 1'000'000, many);
        (void)log.record(start + i, 1, 1'000'000, many);
        BOOST_REQUIRE(log.bytes() == foretold);
    }
    BOOST_TEST(log.bytes() == 64U + 16U * 131'072U);
    for (int i = 0; i < 20; ++i)
        (void)log.record(start + 2'000'000 + i * 1'000'000, 1, 1'000'000, many);
    BOOST_TEST(log.bytes() == 64U);
    BOOST_TEST(log.used(start + 21'000'000, 1'000'000) == 1);
}

BOOST_AUTO_TEST_CASE(a_ring_shrinks_when_less_than_an_eighth_of_it_is_in_use) {
    for (const auto& [kept, room] : {std::pair{8, 64U}, {7, 16U}}) {
        auto log = event_log{};
        for (int i = 0; i < 33; ++i)
            (void)log.record(start + i, 1, 1'000, many);
        BOOST_TEST(log.bytes() == 64U + 16U * 64U);
        const auto now = start + 1'000 + 32 - kept;
        BOOST_TEST(log.bytes_to_record(now, 1'000, many) == 64U + 16U * room);
        (void)log.record(now, 1, 1'000, many);
        BOOST_TEST(log.bytes() == 64U + 16U * room);
        BOOST_TEST(log.used(now, 1'000) == kept + 1);
    }
}

BOOST_AUTO_TEST_CASE(a_moved_log_leaves_an_empty_one) {
    auto log = event_log{};
    for (int i = 0; i < 9; ++i)
        (void)log.record(start, 1, 100, many);
    auto other = std::move(log);
    BOOST_TEST(other.used(start, 100) == 9);
    BOOST_TEST(log.is_empty()); // NOLINT: that is the question
    (void)log.record(start, 2, 100, many);
    BOOST_TEST(log.used(start, 100) == 2);
}

BOOST_AUTO_TEST_CASE(a_log_is_moved_with_all_that_it_knows) {
    for (const auto events : {1, 2, 3, 9}) { // in the object itself, and in a ring
        auto log = event_log{};
        auto list = plain_list{};
        const auto record = [&](event_log& to, std::int64_t now) {
            (void)to.record(now, 1 + now % 3, 10 * events, many);
            list.record(now, 1 + now % 3, 10 * events, many);
        };
        auto now = start;
        for (int i = 0; i < 20; ++i)
            record(log, now += 10); // the oldest are forgotten
        auto other = event_log{};
        other = std::move(log);
        BOOST_TEST(log.is_empty()); // NOLINT: that is the question
        for (int i = 0; i < 3; ++i) {
            BOOST_TEST(other.size() == list.size());
            BOOST_TEST(other.used(now, 1'000) == list.used(now, 1'000));
            BOOST_TEST(other.newest(now, 1'000) == list.newest(now, 1'000));
            for (const auto amount : {1, 2, 3})
                BOOST_TEST(other.fits_at(now, 3, 1'000, amount) ==
                           list.fits_at(now, 3, 1'000, amount));
            record(other, now += 10);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_log_keeps_what_a_longer_period_counts_until_it_is_empty) {
    constexpr auto day = std::int64_t{86'400'000'000};
    auto log = event_log{};
    (void)log.record(start, 5, day, many);
    auto now = start;
    for (int i = 0; i < 1'000; ++i)
        (void)log.record(now += 80'000'000, 1, 60'000'000, many);
    BOOST_TEST(log.used(now, day) == 1'005);
    BOOST_TEST(log.kept_for(60'000'000) == day);
    (void)log.refund(now, 1, 60'000'000);
    BOOST_TEST(log.used(now, day) == 1'004);
    (void)log.record(now += 2 * day, 1, 60'000'000, many);
    BOOST_TEST(log.kept_for(60'000'000) == 60'000'000);
}

BOOST_AUTO_TEST_CASE(random_histories_are_those_of_a_plain_list) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        auto random = std::mt19937{seed};
        const auto below = [&](std::int64_t n) {
            return std::uniform_int_distribution<std::int64_t>{0, n - 1}(random);
        };
        const std::int64_t periods[] = {10, 100, 1'000};
        const auto capacity = 1 + below(seed % 2 == 0 ? 40 : 500);
        auto log = event_log{};
        auto list = plain_list{};
        auto now = start;
        auto wrong = 0;
        for (int i = 0; i < 5'000; ++i) {
            now += below(50) == 0 ? below(2'000) - 1'000 : below(4);
            const auto keep = periods[below(3)];
            const auto weight = below(100) == 0 ? event_log::max_weight / 3 : below(4);
            switch (below(12)) {
            case 0:
                (void)log.refund(now, weight, keep);
                list.refund(now, weight, keep);
                break;
            case 1:
                (void)log.move_to(now);
                list.move_to(now);
                break;
            case 2:
                if (below(100) == 0) {
                    log.clear();
                    list.clear();
                }
                break;
            default:
                (void)log.record(now, weight, keep, capacity);
                list.record(now, weight, keep, capacity);
            }
            const auto then = now + below(200) - 20;
            for (const auto period : periods) {
                const auto limit = 1 + below(100);
                const auto amount = below(120);
                wrong += log.used(then, period) != list.used(then, period);
                wrong += log.newest(then, period) != list.newest(then, period);
                wrong += log.fits_at(then, limit, period, amount) !=
                         list.fits_at(then, limit, period, amount);
            }
            wrong += log.size() != list.size();
        }
        BOOST_TEST(wrong == 0, "seed " << seed);
    }
}

BOOST_AUTO_TEST_SUITE_END()
