// SPDX-License-Identifier: BSL-1.0
//
// Calls whose time is exact: a limit's history is gone through in the order of the server's clock.
// What was granted beyond the limit is counted and then left out, so that it is counted once.

#include "checker.hpp"

#include <algorithm>
#include <deque>
#include <utility>

namespace colimit::oracle {
namespace {

/// One key under one limit.
class history {
  public:
    explicit history(const limit& l) : limit_(l) {}

    void forget() {
        events_.clear();
        sum_ = window_ = used_ = previous_ = debt_ = time_ = 0;
        tokens_ = limit_.tokens;
    }

    /// A second server grants, too.
    void double_limit() {
        tokens_ = 2 * limit_.tokens;
        debt_ /= 2;
    }

    /// Returns how much of this grant is beyond the limit.
    [[nodiscard]] std::int64_t excess(std::int64_t time, std::int64_t tokens) {
        switch (limit_.kind) {
        case kind::log:
            return of_log(time, tokens);
        case kind::fixed:
        case kind::counter:
            return of_window(time, tokens);
        case kind::bucket:
            return of_bucket(time, tokens);
        case kind::aligned: // with leases only
        case kind::slots:
            break;
        }
        return tokens;
    }

  private:
    /// The window that ends with this grant, (time - period, time], has the most that any window
    /// around it has so far.
    std::int64_t of_log(std::int64_t time, std::int64_t tokens) {
        while (!events_.empty() && events_.front().first <= time - limit_.period) {
            sum_ -= events_.front().second;
            events_.pop_front();
        }
        const auto over = std::clamp<std::int64_t>(sum_ + tokens - tokens_, 0, tokens);
        events_.emplace_back(time, tokens - over);
        sum_ += tokens - over;
        return over;
    }

    /// Of a counter, the part of the previous window that still counts, too.
    std::int64_t of_window(std::int64_t time, std::int64_t tokens) {
        const auto window = time / limit_.period;
        if (window != window_)
            previous_ = std::exchange(used_, 0);
        if (window > window_ + 1 || limit_.kind == kind::fixed)
            previous_ = 0;
        window_ = window;
        const auto left = limit_.period - time % limit_.period;
        const auto fits =
            previous_ * left + (used_ + tokens) * limit_.period <= tokens_ * limit_.period;
        used_ += fits ? tokens : 0;
        return fits ? 0 : tokens;
    }

    /// The debt in microseconds. That it never exceeds the capacity says that no window W has more
    /// than capacity + rate * W.
    std::int64_t of_bucket(std::int64_t time, std::int64_t tokens) {
        const auto each = limit_.period / tokens_;
        debt_ = std::max<std::int64_t>(0, debt_ - (time - std::exchange(time_, time)));
        const auto fits = debt_ + tokens * each <= limit_.period;
        debt_ += fits ? tokens * each : 0;
        return fits ? 0 : tokens;
    }

    const limit& limit_;
    std::int64_t tokens_ = limit_.tokens;
    std::deque<std::pair<std::int64_t, std::int64_t>> events_;
    std::int64_t sum_ = 0;
    std::int64_t window_ = 0;
    std::int64_t used_ = 0;
    std::int64_t previous_ = 0;
    std::int64_t debt_ = 0;
    std::int64_t time_ = 0;
};

} // namespace

void add_beyond_limit(const limit& l, std::span<const record> row, const std::vector<loss>& losses,
                      finding& to) {
    auto told = history{l};
    auto loss = losses.begin();
    auto is_double = false;
    for (const auto& r : row) {
        for (; loss != losses.end() && loss->end <= r.time; ++loss, is_double = false)
            told.forget();
        if (loss != losses.end() && loss->begin <= r.time && !std::exchange(is_double, true))
            told.double_limit();
        const auto over = told.excess(r.time, r.granted);
        if (over > 0 && to.first == 0)
            to.first = r.time;
        to.beyond_limit += over;
    }
}

} // namespace colimit::oracle
