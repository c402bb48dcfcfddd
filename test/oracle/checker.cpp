// SPDX-License-Identifier: BSL-1.0
//
// Each key under each limit is judged on its own, and so is each store.

#include "checker.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <tuple>
#include <utility>

namespace colimit::oracle {
namespace {

void count(judgement& j, const record& r) {
    std::int64_t judgement::* const counters[] = {&judgement::granted, &judgement::refused,
                                                  &judgement::unknown, &judgement::failed,
                                                  &judgement::unfinished};
    if (r.verdict == verdict::connected)
        return;
    ++j.checks;
    ++(j.*counters[static_cast<std::size_t>(r.verdict)]);
    if (r.verdict == verdict::granted) {
        j.tokens += r.granted;
        j.leased += r.end > r.time ? 1 : 0;
    }
}

[[nodiscard]] auto place(const record& r) {
    return std::tuple{r.process, r.limit, r.key};
}

[[nodiscard]] bool has_answer(const record& r) noexcept {
    return r.verdict == verdict::granted || r.verdict == verdict::refused;
}

/// Of the calls with one id, the answer of the store stands for all; without one the id may have
/// been charged, if this is true of one of them.
[[nodiscard]] record one_of(std::span<const record> calls, judgement& j) {
    const auto answer = std::ranges::find_if(calls, has_answer);
    j.answered += std::ranges::count_if(calls, has_answer);
    if (std::ranges::any_of(
            calls, [&](const auto& c) { return has_answer(c) && c.answer != answer->answer; }))
        ++j.different;
    const auto unknown = std::ranges::find(calls, verdict::unknown, &record::verdict);
    return answer != calls.end() ? *answer : unknown != calls.end() ? *unknown : calls.front();
}

/// Leaves one call of each id. Calls that have not ended stay as they are, and their ids unknown.
void take_ids_as_calls(std::vector<record>& all, judgement& j) {
    std::erase_if(all, [](const record& r) { return r.verdict == verdict::connected; });
    const auto sent = std::ranges::partition(
        all, [](const record& r) { return r.verdict == verdict::unfinished; });
    j.sent = std::ssize(sent);
    std::ranges::sort(sent, {}, &record::id);
    auto to = sent.begin();
    for (auto begin = sent.begin(); begin != sent.end();) {
        const auto end = std::ranges::upper_bound(begin, sent.end(), begin->id, {}, &record::id);
        *to++ = one_of({begin, end}, j);
        begin = end;
    }
    all.erase(to, all.end());
}

/// Those of a key, ascending.
[[nodiscard]] std::vector<loss> losses_of(const record& r, const std::vector<loss>& all) {
    auto own = std::vector<loss>{};
    std::ranges::copy_if(all, std::back_inserter(own),
                         [&](const loss& l) { return l.keys.test(index(r.limit, r.key)); });
    return own;
}

/// How long before or after its result was known a call may have been made.
constexpr std::int64_t longest_way = 5'000'000;

/// What the server says of calls.
struct comparison {
    const std::vector<record>& unknown;
    judgement& to;

    void not_counted(finding& f, std::int64_t tokens, std::int64_t time) const {
        if (tokens <= 0)
            return;
        f.first = f.first == 0 ? time : std::min(f.first, time);
        f.beyond_count += tokens;
    }

    /// Compares what a server counted between the first and the last grant of `row` with the
    /// grants. Between them no state was lost: so a call that was made twice, or a grant that was
    /// not counted, is not hidden by a loss before or after.
    void between_losses(std::span<const record> row, finding& f) const {
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
        to.double_counted += std::max<std::int64_t>(0, counted - granted - perhaps);
        not_counted(f, granted - counted, row.front().time);
    }

    /// The same for each part of a key's grants in which no state was lost.
    void between_losses(std::span<const record> row, const std::vector<loss>& losses,
                        finding& f) const {
        for (const auto& l : losses) {
            const auto before = std::ranges::upper_bound(row, l.begin, {}, &record::time);
            between_losses({row.begin(), before}, f);
            row = {std::ranges::upper_bound(row, l.end, {}, &record::time), row.end()};
        }
        between_losses(row, f);
    }
};

/// @param row the grants of one key under one limit by one store, in order
/// @param counted by the server
[[nodiscard]] finding judge_calls(std::span<const record> row, const std::vector<loss>& losses,
                                  std::int64_t counted, const comparison& server) {
    auto f = finding{};
    add_beyond_limit(call_limits[row.front().limit], row, losses, f);
    if (row.front().process != 0)
        return f;
    if (!losses.empty()) {
        server.between_losses(row, losses, f);
        return f;
    }
    auto granted = std::int64_t{0};
    for (const auto& r : row)
        granted += r.granted;
    server.not_counted(f, granted - counted, row.front().time);
    return f;
}

/// What no server has granted cannot be admitted, either.
[[nodiscard]] finding judge_leases(std::span<const record> row, const std::vector<loss>& losses,
                                   std::int64_t counted) {
    auto all = std::vector<admission>{};
    auto sum = std::int64_t{0};
    for (const auto& r : row) {
        all.push_back({.begin = r.time, .end = r.end, .tokens = r.granted});
        sum += r.granted;
    }
    auto lost = std::vector<std::int64_t>{};
    for (const auto& l : losses)
        lost.push_back(l.end);
    return {.beyond_limit = excess(leased_limits[row.front().limit], all, lost),
            .beyond_count = lost.empty() ? std::max<std::int64_t>(0, sum - counted) : 0,
            .first = row.front().time};
}

void judge_slots(std::span<const record> row, judgement& j) {
    auto all = std::vector<holding>{};
    for (const auto& r : row)
        all.push_back(
            {.granted = r.time, .believed = r.end, .token = static_cast<std::uint64_t>(r.total)});
    j.crowded += crowded_grants(slot_limits[row.front().limit].tokens, all);
    j.wrong_tokens += wrong_tokens(std::move(all));
}

/// Returns what the server has counted beyond all that was granted, or may have been.
[[nodiscard]] std::int64_t counted_beyond(const std::vector<record>& all, const totals& executed) {
    auto at_most = totals{}; // if all that is unknown was charged
    for (const auto& r : all)
        if (r.process == 0)
            at_most[r.limit][r.key] += r.verdict == verdict::granted   ? r.granted
                                       : r.verdict == verdict::unknown ? r.cost
                                                                       : 0;
    auto sum = std::int64_t{0};
    for (std::size_t l = 0; l < most_limits; ++l)
        for (std::size_t k = 0; k < most_keys; ++k)
            sum += std::max<std::int64_t>(0, executed[l][k] - at_most[l][k]);
    return sum;
}

} // namespace

judgement judge(mode m, std::vector<record> all, const std::vector<loss>& losses,
                const totals& executed) {
    auto j = judgement{};
    if (m == mode::requests)
        take_ids_as_calls(all, j);
    auto unknown = std::vector<record>{};
    for (const auto& r : all) {
        count(j, r);
        if (r.verdict == verdict::unknown)
            unknown.push_back(r);
    }
    // The server also counts tokens of leases that lapse.
    if (m == mode::calls || m == mode::requests)
        j.double_counted = counted_beyond(all, executed);
    std::erase_if(all, [](const record& r) { return r.verdict != verdict::granted; });
    std::ranges::sort(all, {},
                      [](const record& r) { return std::tuple{place(r), r.time, r.total}; });
    for (auto begin = all.begin(); begin != all.end();) {
        const auto end = std::find_if(
            begin, all.end(), [begin](const record& r) { return place(r) != place(*begin); });
        const auto row = std::span<const record>{begin, end};
        const auto& first = row.front();
        begin = end;
        if (m == mode::slots) {
            judge_slots(row, j);
            continue;
        }
        const auto lost = losses_of(first, losses);
        const auto counted = executed[first.limit][first.key];
        auto f = m == mode::leases ? judge_leases(row, lost, counted)
                                   : judge_calls(row, lost, counted, {unknown, j});
        f.limit = first.limit;
        f.key = first.key;
        f.process = first.process;
        if (f.beyond_limit + f.beyond_count == 0)
            continue;
        j.over_admitted += f.beyond_limit + f.beyond_count;
        j.findings.push_back(f);
    }
    return j;
}

void add(judgement& to, const judgement& more) {
    for (const auto sum :
         {&judgement::checks, &judgement::granted, &judgement::refused, &judgement::unknown,
          &judgement::failed, &judgement::unfinished, &judgement::over_admitted,
          &judgement::double_counted, &judgement::tokens, &judgement::leased, &judgement::sent,
          &judgement::answered, &judgement::different, &judgement::crowded,
          &judgement::wrong_tokens})
        to.*sum += more.*sum;
    to.findings.insert(to.findings.end(), more.findings.begin(), more.findings.end());
}

} // namespace colimit::oracle
