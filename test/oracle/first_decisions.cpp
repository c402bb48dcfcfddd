// SPDX-License-Identifier: BSL-1.0
//
// The time of a decision is the server's, that of a connection the process's: on one machine these
// are the same clock.

#include "first_decisions.hpp"

#include <algorithm>

namespace colimit::oracle {
namespace {

template<class Condition>
[[nodiscard]] std::int64_t earliest(const std::vector<record>& records, std::int64_t from,
                                    Condition holds) {
    auto found = never;
    for (const auto& r : records)
        if (r.time >= from && holds(r))
            found = std::min(found, r.time);
    return found;
}

[[nodiscard]] std::int64_t in_ms(std::int64_t us) {
    return (us + 500) / 1'000;
}

/// @param times ascending
[[nodiscard]] std::int64_t percentile(const std::vector<std::int64_t>& times, std::size_t n) {
    return times.empty() ? 0 : times[(times.size() - 1) * n / 100];
}

} // namespace

void first_decisions::add(const first_decisions& more) {
    times.insert(times.end(), more.times.begin(), more.times.end());
    std::ranges::sort(times);
    missing += more.missing;
}

bool first_decisions::are_soon(std::int64_t within) const {
    const auto late = std::ranges::count_if(times, [within](std::int64_t t) { return t > within; });
    return missing == 0 && static_cast<std::size_t>(late) * 100 <= times.size();
}

std::string first_decisions::text() const {
    return "median " + std::to_string(in_ms(percentile(times, 50))) + " ms, p99 " +
           std::to_string(in_ms(percentile(times, 99))) + " ms, max " +
           std::to_string(in_ms(times.empty() ? 0 : times.back())) + " ms, of " +
           std::to_string(times.size());
}

first_decisions first_decision_of(const std::vector<record>& records, const failover& f,
                                  std::int64_t next, bool has_one_connection, bool was_cut_off) {
    auto from = f.known;
    if (has_one_connection)
        from = earliest(records, f.begin,
                        [](const record& r) { return r.verdict == verdict::connected; });
    const auto first = earliest(records, from, [&](const record& r) {
        return r.total >= 0 && f.keys.test(index(r.limit, r.key)) &&
               (r.time < f.old_back || r.time > f.old_demoted);
    });
    if (first >= next)
        return {.times = {}, .missing = 1};
    if (f.had_others || (f.has_partition && was_cut_off))
        return {};
    return {.times = {std::max<std::int64_t>(0, first - f.known)}};
}

} // namespace colimit::oracle
