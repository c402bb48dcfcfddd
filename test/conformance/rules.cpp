// SPDX-License-Identifier: BSL-1.0
//
// Policies from the numbers of suites.

#include "rules.hpp"

#include <colimit/error.hpp>

#include <chrono>
#include <optional>

namespace colimit::conformance {
namespace {

using std::chrono::microseconds;

[[nodiscard]] std::vector<std::int64_t> periods_of(const suite& s) {
    auto periods = std::vector<std::int64_t>{};
    for (const auto& b : s.bandwidths)
        periods.push_back(b.period);
    if (s.bandwidths.empty())
        periods.push_back(s.period);
    return periods;
}

/// Of the steps, and time 0.
[[nodiscard]] std::vector<std::int64_t> times_of(const suite& s) {
    auto times = std::vector<std::int64_t>{0};
    for (const auto& one : s.steps)
        times.push_back(one.time);
    return times;
}

[[nodiscard]] policy buckets(const suite& s, const scale& sc, bool at_start) {
    auto rules = std::vector<rule>{};
    for (const auto& b : s.bandwidths) {
        auto r = token_bucket(b.capacity, b.refill, microseconds{sc.length(b.period)})
                     .initially(at_start ? b.initial : b.capacity)
                     .named("b" + std::to_string(rules.size()));
        if (b.kind == refilling::interval)
            r = r.stepwise();
        else if (b.kind == refilling::aligned)
            r = r.aligned();
        rules.push_back(r);
    }
    return policy{"conformance", rules};
}

[[nodiscard]] std::vector<variant> variants_on(const suite& s, const scale& sc) {
    const auto period = microseconds{sc.length(s.period)};
    const auto one = [&sc](std::string name, const rule& r) {
        const auto p = policy{"conformance", r};
        return variant{std::move(name), p, p, sc};
    };
    switch (s.algo) {
    case algo::gcra:
        return {one("", gcra(s.count, period).burst(s.limit))};
    case algo::token_bucket:
        return {{"", buckets(s, sc, true), buckets(s, sc, false), sc}};
    case algo::fixed_window:
        return {one("aligned", fixed_window(s.limit, period)),
                one("from_first", fixed_window(s.limit, period).from_first())};
    case algo::sliding_log:
        return {one("", sliding_log(s.limit, period))};
    case algo::sliding_counter:
        return {one("", sliding_window(s.limit, period))};
    }
    return {};
}

} // namespace

std::vector<variant> variants_of(const suite& s) {
    auto refusal = std::optional<error>{};
    for (const auto& sc : scales_for(times_of(s), periods_of(s))) {
        try {
            return variants_on(s, sc);
        } catch (const error& e) {
            refusal = e;
        }
    }
    if (!refusal)
        throw left_out{"its times reach beyond the years 1970 to 2112"};
    const auto& reason = refusal->reason();
    if (reason.find("too large to be counted exactly") != reason.npos ||
        reason.find("100 years") != reason.npos)
        throw left_out{"a policy beyond 2^53: " + reason};
    throw *refusal;
}

} // namespace colimit::conformance
