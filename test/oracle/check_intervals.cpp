// SPDX-License-Identifier: BSL-1.0
//
// Calls whose time is known to within an interval, which leases decide.
//
// For buckets: of the intervals [a, b] only those matter that begin with a call and end with one.
// With S(a, b) tokens that were spent in it for sure, the most of S(a, b) - tokens returned until b
// + tokens returned until a must not exceed the capacity. `a` goes back in time, so that each step
// adds tokens to all b from the end of a call on, and asks for the most.

#include "checker.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <utility>

namespace colimit::oracle {
namespace {

/// Numbers, to which one adds from a place on, and of which one asks the largest from a place on:
/// a tree over the differences of neighbours.
class suffix_maximum {
  public:
    explicit suffix_maximum(const std::vector<std::int64_t>& values)
        : size_(std::bit_ceil(values.size())), nodes_(2 * size_) {
        auto last = std::int64_t{0};
        for (std::size_t i = 0; i < values.size(); ++i)
            add(i, values[i] - std::exchange(last, values[i]));
    }

    void add(std::size_t from, std::int64_t amount) {
        auto n = size_ + from;
        nodes_[n] = {.sum = nodes_[n].sum + amount, .largest = nodes_[n].sum + amount};
        while ((n /= 2) != 0)
            nodes_[n] = joined(nodes_[2 * n], nodes_[2 * n + 1]);
    }
    [[nodiscard]] std::int64_t largest(std::size_t from) const {
        auto before = std::int64_t{0};
        auto found = nodes_[size_ + from];
        for (auto n = size_ + from; n > 1; n /= 2)
            if (n % 2 == 0)
                found = joined(found, nodes_[n + 1]);
            else
                before += nodes_[n - 1].sum;
        return before + found.largest;
    }

  private:
    struct node {
        std::int64_t sum = 0;
        std::int64_t largest = 0; ///< sum from its first place to any of its places
    };
    [[nodiscard]] static node joined(const node& a, const node& b) {
        return {.sum = a.sum + b.sum, .largest = std::max(a.largest, a.sum + b.largest)};
    }

    std::size_t size_;
    std::vector<node> nodes_;
};

[[nodiscard]] std::int64_t losses_until(const std::vector<std::int64_t>& losses, std::int64_t t) {
    return std::ranges::upper_bound(losses, t) - losses.begin();
}

[[nodiscard]] std::int64_t rounded_up(std::int64_t ticks, std::int64_t each) {
    return ticks <= 0 ? 0 : (ticks + each - 1) / each;
}

/// A token is `period` ticks.
[[nodiscard]] std::int64_t excess_of_bucket(const limit& l, std::span<admission> all,
                                            const std::vector<std::int64_t>& losses) {
    const auto capacity = l.tokens * l.period;
    const auto returned = [&l, start = all.front().begin](std::int64_t t) {
        return l.kind == kind::bucket ? l.refill * (t - start)
                                      : l.refill * l.period * (t / l.period);
    };
    auto ends = std::vector<std::int64_t>{};
    for (const auto& a : all)
        ends.push_back(a.end);
    std::ranges::sort(ends);
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    auto values = std::vector<std::int64_t>{};
    for (const auto b : ends)
        values.push_back(-returned(b) - capacity * losses_until(losses, b));
    auto sums = suffix_maximum{values};
    const auto place_of = [&ends](std::int64_t t) {
        return static_cast<std::size_t>(std::ranges::lower_bound(ends, t) - ends.begin());
    };
    auto worst = std::int64_t{0};
    std::ranges::sort(all, std::ranges::greater{}, &admission::begin);
    for (std::size_t i = 0; i < all.size(); ++i) {
        sums.add(place_of(all[i].end), all[i].tokens * l.period);
        const auto a = all[i].begin;
        if (i + 1 < all.size() && all[i + 1].begin == a)
            continue;
        worst = std::max(worst, sums.largest(place_of(a)) + returned(a) +
                                    capacity * losses_until(losses, a - l.lease) - capacity);
    }
    return rounded_up(worst, l.period);
}

/// By window: the ends and tokens of the calls that were in it for sure.
using windows = std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>>;

[[nodiscard]] std::int64_t sum_of(const windows& all, std::int64_t window) {
    auto sum = std::int64_t{0};
    if (const auto found = all.find(window); found != all.end())
        for (const auto& [end, tokens] : found->second)
            sum += tokens;
    return sum;
}

/// At no call of the window more than its limit, of the calls so far and, for counters, the part of
/// the previous window that still counts.
[[nodiscard]] std::int64_t excess_of_windows(const limit& l, std::span<const admission> all,
                                             const std::vector<std::int64_t>& losses) {
    const auto counts_previous = l.kind == kind::counter;
    auto calls = windows{};
    for (const auto& a : all)
        if (a.begin / l.period == a.end / l.period)
            calls[a.begin / l.period].emplace_back(a.end, a.tokens);
    auto sum = std::int64_t{0};
    for (auto& [window, events] : calls) {
        std::ranges::sort(events);
        const auto previous = counts_previous ? sum_of(calls, window - 1) : 0;
        const auto since = (counts_previous ? window - 1 : window) * l.period;
        const auto lost =
            losses_until(losses, (window + 1) * l.period - 1) - losses_until(losses, since - 1);
        auto used = std::int64_t{0};
        auto worst = std::int64_t{0};
        for (const auto& [end, tokens] : events) {
            used += tokens;
            worst = std::max(worst, previous * (l.period - end % l.period) + used * l.period -
                                        l.tokens * l.period * (1 + lost));
        }
        sum += rounded_up(worst, l.period);
    }
    return sum;
}

} // namespace

std::int64_t excess(const limit& l, std::span<admission> all,
                    const std::vector<std::int64_t>& losses) {
    if (all.empty())
        return 0;
    return l.kind == kind::bucket || l.kind == kind::aligned ? excess_of_bucket(l, all, losses)
                                                             : excess_of_windows(l, all, losses);
}

} // namespace colimit::oracle
