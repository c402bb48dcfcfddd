// SPDX-License-Identifier: BSL-1.0
//
// The numbers of each kind of traffic.

#include <tool/frame/format.hpp>
#include <tool/simulate/traffic.hpp>

#include <stdexcept>
#include <utility>

namespace tool::simulate {

namespace {

using namespace std::chrono;
using colimit::calendar_unit;
using requests = std::vector<microseconds>;

microseconds period_of(const colimit::rule& r) {
    if (r.kind() != colimit::algorithm::calendar)
        return r.period();
    switch (r.unit()) {
    case calendar_unit::day:
        return days{1};
    case calendar_unit::week:
        return days{7};
    case calendar_unit::month:
        return days{30};
    case calendar_unit::year:
        break;
    }
    return days{365};
}

/// Adds `count` requests at equal distances in [begin, end).
void add(requests& to, std::int64_t count, microseconds begin, microseconds end) {
    for (std::int64_t i = 0; i < count; ++i)
        to.push_back(begin + (end - begin) * i / count);
}

/// Twice the limit, evenly.
traffic steady(std::int64_t limit, microseconds period) {
    requests all;
    add(all, 6 * limit, microseconds{0}, 3 * period);
    return {"steady", "twice the limit", all};
}

/// The whole limit just before the second window begins, and again just after.
traffic edge_burst(std::int64_t limit, microseconds period) {
    requests all;
    add(all, limit, period - period / 10, period);
    add(all, limit, period, period + period / 10);
    return {"window edge", "the limit before, and again after", all};
}

/// Two bursts, half a period apart: the second one meets what has recovered.
traffic double_burst(std::int64_t limit, microseconds period) {
    requests all;
    const auto count = (limit * 3 + 1) / 2;
    for (const auto begin : {period / 4, period * 3 / 4})
        add(all, count, begin, begin + period / 10);
    return {"double burst", "1.5 times the limit, twice", all};
}

/// Two thirds of the limit, evenly: no request should be denied.
traffic slow_drip(std::int64_t limit, microseconds period) {
    requests all;
    add(all, 2 * limit, microseconds{0}, 3 * period);
    return {"slow drip", "two thirds of the limit", all};
}

} // namespace

scenarios make_scenarios(const colimit::rule& r) {
    const auto limit = r.count();
    const auto period = period_of(r);
    if (limit < 1 || limit > largest_limit)
        throw std::runtime_error{"the limit of the first rule: out of range (got " +
                                 std::to_string(limit) + ", expected 1 to " +
                                 grouped(largest_limit) + ")"};
    if (period < milliseconds{1} || period > days{366})
        throw std::runtime_error{"the period of the first rule: out of range (got '" +
                                 to_string(r) + "', expected 1 ms to 366 days)"};
    constexpr colimit::time_point earliest = sys_days{year{2024} / 1 / 1};
    const auto start =
        colimit::time_point{ceil<seconds>(earliest.time_since_epoch()) / period * period} + period;
    return {limit,
            period,
            start,
            {steady(limit, period), edge_burst(limit, period), double_burst(limit, period),
             slow_drip(limit, period)}};
}

} // namespace tool::simulate
