// SPDX-License-Identifier: BSL-1.0
//
// P16: two versions of a policy side by side, as during a rolling deployment. Whatever the order of
// their calls, they admit together no more than one version with the larger numbers of both.

#include "stores.hpp"

#include <core/integers.hpp>
#include <support/decision_text.hpp>
#include <support/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(versions)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;
using core::ceil_div;
using us = std::chrono::microseconds;

constexpr int histories = 12; // of each pair of kinds
constexpr int calls = 120;

/// A whole number of hours since 1970 begins then.
constexpr auto hour = std::int64_t{2800} * second;

/// Numbers of one version.
struct numbers {
    std::int64_t capacity;
    std::int64_t count;
    std::int64_t period; ///< microseconds
};

enum class shape : std::uint8_t { bucket, stepwise, aligned, window, from_first, counter, log };

[[nodiscard]] bool is_bucket(shape s) {
    return s <= shape::aligned;
}

[[nodiscard]] rule make(shape s, const numbers& n) {
    const auto period = us{n.period};
    switch (s) {
    case shape::bucket:
        return token_bucket(n.capacity, n.count, period).named("r");
    case shape::stepwise:
        return token_bucket(n.capacity, n.count, period).stepwise().named("r");
    case shape::aligned:
        return token_bucket(n.capacity, n.count, period).aligned().named("r");
    case shape::window:
        return fixed_window(n.count, period).named("r");
    case shape::from_first:
        return fixed_window(n.count, period).from_first().named("r");
    case shape::counter:
        return sliding_window(n.count, period).named("r");
    case shape::log:
        return sliding_log(n.count, period).named("r");
    }
    return gcra(1, 1s);
}

/// Returns how much a version may admit in any closed interval of a length (P12), above its
/// capacity.
[[nodiscard]] std::int64_t rate_bound(shape s, const numbers& n, std::int64_t length) {
    switch (s) {
    case shape::bucket:
        return n.count * length / n.period;
    case shape::stepwise:
    case shape::aligned:
        return n.count * (length / n.period + 1);
    default:
        return ceil_div(n.count * length, n.period);
    }
}

/// Returns how much versions may admit together in any closed interval of a length. Windows of
/// different lengths each end at their own time, so each version may repay its limit once within a
/// moment.
[[nodiscard]] std::int64_t bound(shape a, const numbers& x, shape b, const numbers& y,
                                 std::int64_t length) {
    const auto first = rate_bound(a, x, length);
    const auto second = rate_bound(b, y, length);
    if (is_bucket(a))
        return std::max(x.capacity, y.capacity) + std::max(first, second);
    const auto limit = std::max(x.count, y.count);
    if (a == shape::log)
        return limit + std::max(first, second);
    if (a == b && x.period == y.period)
        return 2 * limit + std::max(first, second);
    return limit + x.count + y.count + first + second;
}

/// The admitted calls, in the order of time.
class admissions {
  public:
    void add(std::int64_t at, std::int64_t amount) {
        if (amount > 0)
            all_.push_back({at, amount});
    }

    /// By how much the versions exceeded the larger numbers at worst; not above 0 if they kept
    /// them.
    [[nodiscard]] std::int64_t excess(shape a, const numbers& x, shape b, const numbers& y) const {
        auto worst = std::int64_t{-1};
        for (std::size_t i = 0; i < all_.size(); ++i) {
            auto sum = std::int64_t{0};
            for (auto j = i; j < all_.size(); ++j) {
                sum += all_[j].amount;
                worst = std::max(worst, sum - bound(a, x, b, y, all_[j].at - all_[i].at));
            }
        }
        return worst;
    }

    [[nodiscard]] std::int64_t shortest_gap() const {
        auto shortest = std::int64_t{1} << 60;
        for (std::size_t i = 1; i < all_.size(); ++i)
            shortest = std::min(shortest, all_[i].at - all_[i - 1].at);
        return shortest;
    }

  private:
    struct one {
        std::int64_t at;
        std::int64_t amount;
    };
    std::vector<one> all_;
};

class story {
  public:
    explicit story(std::uint64_t seed) : random_(seed) {}

    [[nodiscard]] std::int64_t up_to(std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>{0, most}(random_);
    }
    [[nodiscard]] bool percent(std::int64_t p) { return up_to(99) < p; }

    [[nodiscard]] numbers next_numbers(bool any_period) {
        constexpr auto periods = std::array{std::int64_t{1}, std::int64_t{10}, std::int64_t{60},
                                            std::int64_t{7}, std::int64_t{45}};
        const auto n = 1 + up_to(percent(50) ? 30 : 5);
        const auto at = any_period ? static_cast<std::size_t>(up_to(4)) : std::size_t{1};
        return {.capacity = percent(30) ? n : 1 + up_to(30),
                .count = n,
                .period = periods[at] * second};
    }

    /// Calls of both versions on one key, in any order.
    [[nodiscard]] admissions tell(open_limiter& s, const std::string& key,
                                  const std::array<policy, 2>& versions, const numbers& longer) {
        auto done = admissions{};
        auto now = hour + up_to(10) * second;
        for (int i = 0; i < calls; ++i) {
            now += next_wait(longer);
            const auto& p = versions[percent(50) ? 0 : 1];
            const auto cost = percent(70) ? 1 : 1 + up_to(5);
            if (percent(15))
                s.peek(key, p, {.cost = cost, .now = at(now)});
            const auto least = percent(20) ? std::int64_t{1} : cost;
            const auto d = s.allow(key, p, {.cost = cost, .at_least = least, .now = at(now)});
            done.add(now, d.granted);
        }
        return done;
    }

  private:
    [[nodiscard]] std::int64_t next_wait(const numbers& n) {
        if (percent(is_busy_ ? 60 : 40))
            return 0;
        if (is_busy_ || percent(60))
            return up_to((is_busy_ ? 1 : 2) * n.period / n.count);
        return percent(80) ? up_to(n.period / 2) : up_to(2 * n.period);
    }

    std::mt19937_64 random_;
    bool is_busy_ = percent(50); ///< far more calls than either version grants
};

[[nodiscard]] std::string text_of(const numbers& n) {
    return std::to_string(n.capacity) + " and " + std::to_string(n.count) + " per " +
           std::to_string(n.period / second) + " s";
}

/// Histories of random pairs of numbers.
void check_pairs(store_kind where, shape a, shape b, bool any_period) {
    auto s = open_store(where);
    for (int i = 0; i < histories; ++i) {
        auto told = story{static_cast<std::uint64_t>(i) + 1};
        const auto x = told.next_numbers(any_period);
        const auto y = told.next_numbers(any_period);
        const auto versions = std::array{policy{"p", make(a, x)}, policy{"p", make(b, y)}};
        const auto done = told.tell(*s, std::to_string(i), versions, x.period > y.period ? x : y);
        BOOST_TEST(done.excess(a, x, b, y) <= 0, "history " << i << ", kinds " << int(a) << " and "
                                                            << int(b) << ": " << text_of(x) << "; "
                                                            << text_of(y));
    }
}

BOOST_DATA_TEST_CASE(P16_two_versions_of_a_bucket_keep_the_larger_numbers, every_store()) {
    check_pairs(sample, shape::bucket, shape::bucket, true);
}

BOOST_DATA_TEST_CASE(P16_holds_where_the_count_comes_back_at_once, every_store()) {
    check_pairs(sample, shape::stepwise, shape::stepwise, true);
    check_pairs(sample, shape::aligned, shape::aligned, true);
    check_pairs(sample, shape::stepwise, shape::aligned, true);
}

BOOST_DATA_TEST_CASE(P16_holds_while_a_bucket_becomes_stepwise_or_aligned, every_store()) {
    check_pairs(sample, shape::bucket, shape::stepwise, true);
    check_pairs(sample, shape::bucket, shape::aligned, true);
}

BOOST_DATA_TEST_CASE(P16_holds_for_windows_and_logs, every_store()) {
    for (const auto kind : {shape::window, shape::from_first, shape::counter, shape::log}) {
        check_pairs(sample, kind, kind, false);
        check_pairs(sample, kind, kind, true);
    }
    check_pairs(sample, shape::window, shape::from_first, false);
    check_pairs(sample, shape::window, shape::from_first, true);
}

BOOST_DATA_TEST_CASE(P16_holds_for_each_of_several_rules, every_store()) {
    auto s = open_store(sample);
    for (int i = 0; i < histories; ++i) {
        auto told = story{static_cast<std::uint64_t>(100 + i)};
        const std::array first{told.next_numbers(true), told.next_numbers(true)};
        const std::array second_rule{told.next_numbers(true), told.next_numbers(true)};
        const auto version = [&](std::size_t v) {
            return policy{"p", make(shape::bucket, first[v]).named("a"),
                          make(shape::stepwise, second_rule[v]).named("b")};
        };
        const auto done =
            told.tell(*s, std::to_string(i), {version(0), version(1)}, second_rule[0]);
        BOOST_TEST(done.excess(shape::bucket, first[0], shape::bucket, first[1]) <= 0);
        BOOST_TEST(done.excess(shape::stepwise, second_rule[0], shape::stepwise, second_rule[1]) <=
                   0);
    }
}

BOOST_DATA_TEST_CASE(P16_versions_keep_the_shorter_gap_of_prevent_duplicate, every_store()) {
    auto s = open_store(sample);
    for (int i = 0; i < histories; ++i) {
        auto told = story{static_cast<std::uint64_t>(200 + i)};
        const auto n = told.next_numbers(false);
        const auto gaps = std::array{1 + told.up_to(second), 1 + told.up_to(5 * second)};
        const auto version = [&](std::size_t v) {
            return policy{"p", make(shape::bucket, n)}.prevent_duplicate(us{gaps[v]});
        };
        const auto done = told.tell(*s, std::to_string(i), {version(0), version(1)}, n);
        BOOST_TEST(done.shortest_gap() >= std::min(gaps[0], gaps[1]));
    }
}

/// Returns how many calls are granted in two minutes, ten per second, where the versions take
/// turns.
[[nodiscard]] std::int64_t granted_in_turns(open_limiter& s, const policy& even,
                                            const policy& odd) {
    auto granted = std::int64_t{0};
    for (int i = 0; i < 1200; ++i)
        granted += s.allow("k", i % 2 == 0 ? even : odd, {.now = at(hour + i * 100'000)}).granted;
    return granted;
}

BOOST_DATA_TEST_CASE(two_versions_in_turns_admit_what_the_more_generous_one_admits, every_store()) {
    for (const auto kind : {shape::bucket, shape::stepwise, shape::aligned})
        for (const auto n : {std::int64_t{10}, std::int64_t{19}}) {
            const policy lower{"p", make(kind, {n, n, 60 * second})};
            const policy higher{"p", make(kind, {20, 20, 60 * second})};
            auto alone = open_store(sample);
            const auto most = granted_in_turns(*alone, higher, higher);
            auto s = open_store(sample);
            const auto together = granted_in_turns(*s, lower, higher);
            BOOST_TEST(together <= most);
            BOOST_TEST(together >= n);
        }
}

/// Checks that a version denies without a write where another one has used up its limit.
void check_denial_writes_nothing(store_kind sample, const numbers& spent, const numbers& asked) {
    if (sample == store_kind::local || sample == store_kind::memory)
        return; // their states are not visible
    for (const auto kind : {shape::bucket, shape::stepwise, shape::aligned, shape::window,
                            shape::from_first, shape::counter, shape::log}) {
        auto s = open_store(sample);
        const policy before{"p", make(kind, spent)};
        const policy after{"p", make(kind, asked)};
        s->allow("k", before, {.cost = spent.capacity, .now = at(hour)});
        const auto written = take_picture();
        for (int i = 0; i < 5; ++i) {
            const auto now = at(hour + i * second);
            BOOST_TEST(!s->allow("k", after, {.now = now}).allowed());
            BOOST_TEST(!s->peek("k", after, {.now = now}).allowed());
        }
        BOOST_TEST((take_picture() == written), "kind " << int(kind));
    }
}

BOOST_DATA_TEST_CASE(a_denial_or_a_peek_of_another_version_writes_nothing, every_unpacked()) {
    check_denial_writes_nothing(sample, {20, 20, 60 * second}, {10, 10, 60 * second});
}

BOOST_DATA_TEST_CASE(a_version_with_a_longer_period_denies_without_a_write, every_unpacked()) {
    check_denial_writes_nothing(sample, {20, 20, 60 * second}, {10, 10, 3'600 * second});
}

/// Charges under a longer period still count there, except the part that the shorter one has repaid
/// at its own rate.
BOOST_DATA_TEST_CASE(a_shorter_period_erases_nothing_that_a_longer_one_counts, every_store()) {
    for (const auto kind : {shape::window, shape::from_first, shape::counter, shape::log}) {
        auto s = open_store(sample);
        const policy daily{"p", make(kind, {1000, 1000, 24 * 3'600 * second})};
        const policy quick{"p", make(kind, {5, 5, 60 * second})};
        const auto midnight = hour + 20 * 3'600 * second;
        s->allow("k", daily, {.cost = 1000, .now = at(midnight)});
        auto granted = std::int64_t{0};
        auto now = midnight;
        for (int i = 0; i < 100; ++i, now += 20 * second) {
            granted += s->allow("k", quick, {.now = at(now)}).granted;
            granted += s->allow("k", daily, {.cost = 10, .at_least = 1, .now = at(now)}).granted;
        }
        BOOST_TEST(granted > 50, "kind " << int(kind));
        BOOST_TEST(granted <= 5 * (100 / 3 + 2), "kind " << int(kind) << ": " << granted);
    }
}

BOOST_DATA_TEST_CASE(a_denial_says_when_this_version_will_grant, every_store()) {
    for (const auto kind : {shape::bucket, shape::stepwise, shape::aligned}) {
        auto s = open_store(sample);
        const policy before{"p", make(kind, {1000, 1000, second})};
        const policy after{"p", make(kind, {7, 3, 10 * second})};
        s->allow("k", before, {.cost = 1000, .now = at(hour)});
        const auto d = s->allow("k", after, {.cost = 2, .now = at(hour + 1)});
        BOOST_TEST_REQUIRE(!d.allowed());
        BOOST_TEST((d.retry_after <= 10s));
        const auto then = at(hour + 1) + d.retry_after;
        BOOST_TEST(!s->allow("k", after, {.cost = 2, .now = then - 1us}).allowed());
        BOOST_TEST(s->allow("k", after, {.cost = 2, .now = then}).allowed());
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()
