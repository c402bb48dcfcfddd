// SPDX-License-Identifier: BSL-1.0
//
// A limit's history is gone through in the order of the server's clock. What was granted beyond the
// limit is counted and then left out, so that it is counted once.

#include "checker.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <span>
#include <tuple>
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
            return of_window(time, tokens);
        case kind::counter:
            return of_counter(time, tokens);
        case kind::bucket:
            return of_bucket(time, tokens);
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

    void go_to_window(std::int64_t time) {
        const auto window = time / limit_.period;
        if (window != window_)
            previous_ = std::exchange(used_, 0);
        if (window > window_ + 1)
            previous_ = 0;
        window_ = window;
    }

    std::int64_t of_window(std::int64_t time, std::int64_t tokens) {
        go_to_window(time);
        const auto over = std::clamp<std::int64_t>(used_ + tokens - tokens_, 0, tokens);
        used_ += tokens - over;
        return over;
    }

    std::int64_t of_counter(std::int64_t time, std::int64_t tokens) {
        go_to_window(time);
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

/// Those of a key, ascending.
[[nodiscard]] std::vector<loss> losses_of(std::size_t limit, std::size_t key,
                                          const std::vector<loss>& all) {
    auto own = std::vector<loss>{};
    std::ranges::copy_if(all, std::back_inserter(own),
                         [&](const loss& l) { return l.keys.test(index(limit, key)); });
    return own;
}

/// @param tokens added to `of.*sum`, unless they are negative
void note(finding& of, std::int64_t finding::* sum, std::int64_t tokens, std::int64_t time) {
    if (tokens <= 0)
        return;
    of.first = of.first == 0 ? time : std::min(of.first, time);
    of.*sum += tokens;
}

/// @param row the grants of one key under one limit by one store, in order
void add_beyond_limit(std::span<const record> row, const std::vector<loss>& losses, finding& to) {
    auto told = history{limits[row.front().limit]};
    auto loss = losses.begin();
    auto is_double = false;
    for (const auto& r : row) {
        for (; loss != losses.end() && loss->end <= r.time; ++loss, is_double = false)
            told.forget();
        if (loss != losses.end() && loss->begin <= r.time && !std::exchange(is_double, true))
            told.double_limit();
        const auto over = told.excess(r.time, r.granted);
        note(to, &finding::beyond_limit, over, r.time);
    }
}

void count(judgement& j, const record& r) {
    if (r.verdict == verdict::connected)
        return;
    ++j.checks;
    switch (r.verdict) {
    case verdict::granted:
        ++j.granted;
        break;
    case verdict::refused:
        ++j.refused;
        break;
    case verdict::unknown:
        ++j.unknown;
        break;
    case verdict::failed:
        ++j.failed;
        break;
    case verdict::unfinished:
        ++j.unfinished;
        break;
    case verdict::connected:
        break;
    }
}

[[nodiscard]] auto place(const record& r) {
    return std::tuple{r.process, r.limit, r.key};
}

/// How long before or after its result was known a call may have been made.
constexpr std::int64_t longest_way = 5'000'000;

/// Compares what a server counted between the first and the last grant of `row` with the grants.
/// Between them no state was lost: so a call that was made twice, or a grant that was not counted,
/// is not hidden by a loss before or after.
void compare_with_totals(std::span<const record> row, const std::vector<record>& unknown,
                         judgement& j, finding& f) {
    if (row.size() < 2)
        return;
    auto granted = std::int64_t{0};
    for (const auto& r : row.subspan(1))
        granted += r.granted;
    auto perhaps = std::int64_t{0};
    for (const auto& r : unknown)
        if (place(r) == place(row.front()) && r.time > row.front().time - longest_way &&
            r.time < row.back().time + longest_way)
            perhaps += r.cost;
    const auto counted = row.back().total - row.front().total;
    j.double_counted += std::max<std::int64_t>(0, counted - granted - perhaps);
    note(f, &finding::beyond_count, granted - counted, row.front().time);
}

/// The same for each part of a key's grants in which no state was lost. (Without a loss it has been
/// done for the whole.)
void compare_with_totals(std::span<const record> row, const std::vector<loss>& losses,
                         const std::vector<record>& unknown, judgement& j, finding& f) {
    for (const auto& l : losses) {
        const auto before = std::ranges::upper_bound(row, l.begin, {}, &record::time);
        compare_with_totals({row.begin(), before}, unknown, j, f);
        row = {std::ranges::upper_bound(row, l.end, {}, &record::time), row.end()};
    }
    compare_with_totals(row, unknown, j, f);
}

} // namespace

judgement judge(std::vector<record> all, const std::vector<loss>& losses, const totals& executed) {
    auto j = judgement{};
    auto surely = totals{};  // charged
    auto at_most = totals{}; // if all that is unknown was
    auto unknown = std::vector<record>{};
    for (const auto& r : all) {
        count(j, r);
        if (r.process != 0 || r.verdict == verdict::connected)
            continue;
        if (r.verdict == verdict::unknown)
            unknown.push_back(r);
        surely[r.limit][r.key] += r.verdict == verdict::granted ? r.granted : 0;
        at_most[r.limit][r.key] += r.verdict == verdict::granted   ? r.granted
                                   : r.verdict == verdict::unknown ? r.cost
                                                                   : 0;
    }
    for (std::size_t l = 0; l < limits.size(); ++l)
        for (std::size_t k = 0; k < keys_each; ++k)
            j.double_counted += std::max<std::int64_t>(0, executed[l][k] - at_most[l][k]);
    std::erase_if(all, [](const record& r) { return r.verdict != verdict::granted; });
    std::ranges::sort(all, {},
                      [](const record& r) { return std::tuple{place(r), r.time, r.total}; });
    for (auto begin = all.begin(); begin != all.end();) {
        const auto end = std::find_if(
            begin, all.end(), [begin](const record& r) { return place(r) != place(*begin); });
        const auto lost = losses_of(begin->limit, begin->key, losses);
        const auto l = begin->limit;
        const auto k = begin->key;
        auto f = finding{.limit = l, .key = k, .process = begin->process};
        add_beyond_limit({begin, end}, lost, f);
        if (begin->process == 0 && lost.empty()) // a grant that no server knows of cannot exist
            note(f, &finding::beyond_count, surely[l][k] - executed[l][k], begin->time);
        else if (begin->process == 0)
            compare_with_totals({begin, end}, lost, unknown, j, f);
        j.over_admitted += f.beyond_limit + f.beyond_count;
        if (f.first != 0)
            j.findings.push_back(f);
        begin = end;
    }
    return j;
}

void add(judgement& to, const judgement& more) {
    to.checks += more.checks;
    to.granted += more.granted;
    to.refused += more.refused;
    to.unknown += more.unknown;
    to.failed += more.failed;
    to.unfinished += more.unfinished;
    to.over_admitted += more.over_admitted;
    to.double_counted += more.double_counted;
    to.findings.insert(to.findings.end(), more.findings.begin(), more.findings.end());
}

} // namespace colimit::oracle
