// SPDX-License-Identifier: BSL-1.0
//
// The checker of leases: random histories of clients with leases, in exact integers, of which those
// that keep all rules are never blamed, and those that leave one out are found; and that the
// checker, which is fast, finds what comparing all intervals finds.

#include <oracle/lease_checker.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(oracle_leases)

namespace {

using namespace colimit::oracle;
using colimit::test::rng;

/// The server's counter of one key. A token is `period` ticks.
class store {
  public:
    explicit store(const leased_limit& l) : limit_(l) {}

    void go_to(std::int64_t t) {
        const auto window = t / limit_.period;
        switch (limit_.kind) {
        case leased_kind::bucket:
            used_ -= limit_.refill * (t - time_);
            break;
        case leased_kind::aligned:
            used_ -= limit_.refill * limit_.period * (window - time_ / limit_.period);
            break;
        case leased_kind::fixed:
        case leased_kind::counter:
            if (window != time_ / limit_.period)
                previous_ = window == time_ / limit_.period + 1 ? used_ : 0;
            used_ = window == time_ / limit_.period ? used_ : 0;
        }
        used_ = std::max<std::int64_t>(used_, 0);
        time_ = t;
    }

    /// Returns how many of these tokens it grants with this capacity.
    [[nodiscard]] std::int64_t take(std::int64_t tokens, std::int64_t capacity) {
        auto room = capacity * limit_.period - used_;
        if (limit_.kind == leased_kind::counter)
            room -= (previous_ / limit_.period) * (limit_.period - time_ % limit_.period);
        const auto granted = std::clamp<std::int64_t>(room / limit_.period, 0, tokens);
        used_ += granted * limit_.period;
        return granted;
    }
    void give_back(std::int64_t tokens) {
        used_ = std::max<std::int64_t>(0, used_ - tokens * limit_.period);
    }

  private:
    leased_limit limit_;
    std::int64_t time_ = 0;
    std::int64_t used_ = 0;     ///< of a bucket the debt, of a window what it has admitted
    std::int64_t previous_ = 0; ///< the same of the window before
};

struct lease {
    std::int64_t tokens;
    std::int64_t end;
};

/// Some clients with leases of one key, and how they spend them.
class history {
  public:
    history(const leased_limit& l, lease_flaw f, std::uint64_t seed)
        : limit_(l), flaw_(f), random_(seed), store_(l), holds_until_late_(random_.percent(50)) {}

    [[nodiscard]] std::vector<admission> made() {
        for (auto step = 0; step < 400; ++step) {
            advance();
            const auto action = random_.below(100);
            if (action < 35 && leases_.size() < 5)
                take_lease();
            else if (action < 50)
                call();
            else if (!leases_.empty())
                use(random_.below(leases_.size()));
        }
        return std::move(admitted_);
    }

  private:
    void advance() {
        const auto full = limit_.kind == leased_kind::bucket
                              ? limit_.tokens * limit_.period / limit_.refill
                              : 2 * limit_.period;
        const std::int64_t steps[] = {0,
                                      1,
                                      limit_.period / (limit_.tokens * 7) + 1,
                                      limit_.lease / 2,
                                      random_.between(1, limit_.lease),
                                      random_.between(1, full)};
        now_ += random_.pick(steps);
        store_.go_to(now_);
    }

    [[nodiscard]] std::int64_t capacity(bool is_full) const {
        return limit_.tokens - (is_full ? 0 : reserve_of(limit_));
    }

    void take_lease() {
        const auto wanted = random_.between(1, limit_.tokens);
        const auto granted = store_.take(wanted, capacity(flaw_ == lease_flaw::no_reserve));
        if (granted == 0)
            return;
        const auto sent = now_ - random_.between(0, limit_.lease / 20);
        const auto arrival = now_ + random_.between(0, limit_.lease);
        const auto begin = flaw_ == lease_flaw::from_arrival ? arrival : sent;
        auto length = limit_.lease - limit_.lease / 1'000;
        if (limit_.kind != leased_kind::bucket && flaw_ != lease_flaw::past_end)
            length = std::min(length, limit_.period - now_ % limit_.period);
        leases_.push_back({.tokens = flaw_ == lease_flaw::ignores_grant ? wanted : granted,
                           .end = begin + length});
    }

    void call() {
        const auto is_full = flaw_ == lease_flaw::no_reserve || flaw_ == lease_flaw::direct_full;
        if (const auto granted = store_.take(random_.between(1, 3), capacity(is_full)); granted > 0)
            admitted_.push_back({.begin = now_, .end = now_, .tokens = granted});
    }

    void use(std::size_t place) {
        auto& l = leases_[place];
        if (now_ >= l.end) {
            if (flaw_ == lease_flaw::returns_lapsed)
                store_.give_back(l.tokens);
            l.tokens = 0;
        } else if (!holds_until_late_ || l.end - now_ < limit_.lease / 3) {
            const auto spent = holds_until_late_ ? l.tokens : random_.between(1, l.tokens);
            admitted_.push_back({.begin = now_, .end = now_, .tokens = spent});
            l.tokens -= spent;
        }
        if (l.tokens == 0)
            leases_.erase(leases_.begin() + static_cast<std::ptrdiff_t>(place));
    }

    leased_limit limit_;
    lease_flaw flaw_;
    rng random_;
    store store_;
    bool holds_until_late_;
    std::int64_t now_ = 1'000'000'000;
    std::vector<lease> leases_;
    std::vector<admission> admitted_;
};

[[nodiscard]] leased_limit random_limit(leased_kind kind, rng& random) {
    auto l = leased_limit{
        .name = "random", .kind = kind, .tokens = 0, .period = 0, .refill = 0, .lease = 0};
    l.tokens = random.pick({5, 8, 20, 100});
    l.period = l.tokens * random.pick({1'000, 10'000, 100'000});
    l.refill = kind == leased_kind::bucket ? l.tokens : l.tokens / 4;
    l.lease = l.period / random.pick({3, 5, 20});
    return l;
}

/// Returns how many of these histories have an excess.
[[nodiscard]] int blamed(leased_kind kind, lease_flaw f, int histories) {
    auto n = 0;
    for (auto i = 0; i < histories; ++i) {
        auto random = rng{static_cast<std::uint64_t>(i)};
        const auto l = random_limit(kind, random);
        auto made = history{l, f, random.bits()}.made();
        n += excess(l, made, {}) > 0 ? 1 : 0;
    }
    return n;
}

/// As `excess` without losses, by comparing all intervals.
[[nodiscard]] std::int64_t plain_excess(const leased_limit& l, const std::vector<admission>& all) {
    const auto returned = [&](std::int64_t a, std::int64_t b) {
        return l.kind == leased_kind::bucket ? l.refill * (b - a)
                                             : l.refill * l.period * (b / l.period - a / l.period);
    };
    auto worst = std::int64_t{0};
    for (const auto& first : all)
        for (const auto& last : all) {
            auto sum = std::int64_t{0};
            for (const auto& one : all)
                if (one.begin >= first.begin && one.end <= last.end)
                    sum += one.tokens;
            if (sum > 0)
                worst =
                    std::max(worst, (sum - l.tokens) * l.period - returned(first.begin, last.end));
        }
    return (worst + l.period - 1) / l.period;
}

constexpr auto bucket_limit = leased_limits[0];
constexpr auto fixed_limit = leased_limits[3];
constexpr auto counter_limit = leased_limits[4];
static_assert(bucket_limit.kind == leased_kind::bucket && fixed_limit.kind == leased_kind::fixed &&
              counter_limit.kind == leased_kind::counter);

[[nodiscard]] std::int64_t excess_of(const leased_limit& l, std::vector<admission> all,
                                     const std::vector<std::int64_t>& losses = {}) {
    return excess(l, all, losses);
}

} // namespace

BOOST_AUTO_TEST_CASE(histories_that_keep_all_rules_are_not_blamed) {
    for (const auto kind :
         {leased_kind::bucket, leased_kind::aligned, leased_kind::fixed, leased_kind::counter})
        BOOST_TEST(blamed(kind, lease_flaw::none, 1'000) == 0);
}

BOOST_AUTO_TEST_CASE(each_rule_that_is_left_out_is_found) {
    for (const auto& [kind, flaw, name] :
         {std::tuple{leased_kind::bucket, lease_flaw::no_reserve, "no_reserve"},
          std::tuple{leased_kind::bucket, lease_flaw::direct_full, "direct_full"},
          std::tuple{leased_kind::bucket, lease_flaw::from_arrival, "from_arrival"},
          std::tuple{leased_kind::bucket, lease_flaw::returns_lapsed, "returns_lapsed"},
          std::tuple{leased_kind::bucket, lease_flaw::ignores_grant, "ignores_grant"},
          std::tuple{leased_kind::aligned, lease_flaw::past_end, "past_end, aligned"},
          std::tuple{leased_kind::fixed, lease_flaw::past_end, "past_end, fixed"},
          std::tuple{leased_kind::counter, lease_flaw::past_end, "past_end, counter"}}) {
        const auto found = blamed(kind, flaw, 1'000);
        BOOST_TEST_MESSAGE(std::string{name} + ": " + std::to_string(found));
        BOOST_TEST(found >= 3, std::string{name} + " is not found");
    }
}

BOOST_AUTO_TEST_CASE(the_fast_way_finds_what_all_intervals_find) {
    for (auto seed = std::uint64_t{1}; seed <= 300; ++seed) {
        auto random = rng{seed};
        const auto l =
            random_limit(random.percent(50) ? leased_kind::bucket : leased_kind::aligned, random);
        auto all = std::vector<admission>{};
        for (auto n = random.between(1, 40); n > 0; --n) {
            const auto begin = 1'000'000 + random.between(0, l.period);
            all.push_back(
                {.begin = begin,
                 .end = begin + (random.percent(50) ? 0 : random.between(0, l.period / 9)),
                 .tokens = random.between(1, l.tokens / 2)});
        }
        BOOST_TEST(excess_of(l, all) == plain_excess(l, all));
    }
}

BOOST_AUTO_TEST_CASE(longer_calls_are_never_more_to_blame) {
    for (auto seed = std::uint64_t{1}; seed <= 100; ++seed) {
        auto random = rng{seed};
        const auto l = random_limit(leased_kind::bucket, random);
        auto exact = history{l, lease_flaw::no_reserve, seed}.made();
        auto longer = exact;
        for (auto& a : longer) {
            a.begin -= random.between(0, l.lease / 10);
            a.end += random.between(0, l.lease / 10);
        }
        BOOST_TEST(excess_of(l, longer) <= excess_of(l, exact));
    }
}

BOOST_AUTO_TEST_CASE(a_loss_allows_one_more_capacity_until_a_lease_later) {
    const auto full = bucket_limit.tokens;
    const auto at = std::int64_t{10'000'000};
    const auto lease = bucket_limit.lease;
    const auto twice = std::vector<admission>{{at, at, full}, {at, at, full}};
    BOOST_TEST(excess_of(bucket_limit, twice) == full);
    BOOST_TEST(excess_of(bucket_limit, twice, {at}) == 0);
    BOOST_TEST(excess_of(bucket_limit, twice, {at - lease + 1}) == 0);
    BOOST_TEST(excess_of(bucket_limit, twice, {at - lease}) == full);
    BOOST_TEST(excess_of(bucket_limit, twice, {at + 1}) == full);
    auto more = twice;
    more.push_back({at, at, 7});
    BOOST_TEST(excess_of(bucket_limit, more, {at}) == 7);
}

BOOST_AUTO_TEST_CASE(a_window_has_its_limit_of_calls_that_were_in_it_for_sure) {
    const auto p = fixed_limit.period;
    const auto n = fixed_limit.tokens;
    BOOST_TEST(excess_of(fixed_limit, {{9 * p, 9 * p, n}, {10 * p - 1, 10 * p - 1, 4}}) == 4);
    BOOST_TEST(excess_of(fixed_limit, {{9 * p, 9 * p, n}, {10 * p - 1, 10 * p, 4}}) == 0);
    BOOST_TEST(excess_of(fixed_limit, {{9 * p, 9 * p, n}, {10 * p - 1, 10 * p - 1, 4}}, {9 * p}) ==
               0);
    BOOST_TEST(
        excess_of(fixed_limit, {{9 * p, 9 * p, n}, {10 * p - 1, 10 * p - 1, 4}}, {9 * p - 1}) == 4);
}

BOOST_AUTO_TEST_CASE(a_counter_counts_what_is_left_of_the_previous_window) {
    const auto p = counter_limit.period;
    const auto n = counter_limit.tokens;
    const auto middle = 10 * p + p / 2;
    BOOST_TEST(excess_of(counter_limit, {{9 * p, 9 * p, n}, {middle, middle, n / 2}}) == 0);
    BOOST_TEST(excess_of(counter_limit, {{9 * p, 9 * p, n}, {middle, middle, n / 2 + 3}}) == 3);
    BOOST_TEST(
        excess_of(counter_limit, {{9 * p, 9 * p, n}, {middle, middle, n / 2 + 3}}, {9 * p}) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
