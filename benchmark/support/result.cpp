// SPDX-License-Identifier: BSL-1.0
//
// Medians, figure by figure: so that one disturbed round does not count.

#include <support/result.hpp>

#include <algorithm>

namespace colimit::benchmark {
namespace {

[[nodiscard]] std::optional<double> median_of(std::span<const measurement> rounds,
                                              std::optional<double> measurement::* figure) {
    auto values = std::vector<double>{};
    for (const auto& m : rounds)
        if (m.*figure)
            values.push_back(*(m.*figure));
    if (values.empty())
        return std::nullopt;
    return median(std::move(values));
}

[[nodiscard]] double ratio(ratio_of what, const measurement& a, const measurement& b) {
    switch (what) {
    case ratio_of::median_latency:
        return a.p50_us.value() / b.p50_us.value();
    case ratio_of::p99_latency:
        return a.p99_us.value() / b.p99_us.value();
    case ratio_of::throughput:
        break;
    }
    return a.checks_per_s / b.checks_per_s;
}

} // namespace

double median(std::vector<double> values) {
    std::ranges::sort(values);
    const auto middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

result summarize(const scenario& of, std::span<const measurement> rounds,
                 std::span<const measurement> others) {
    auto rates = std::vector<double>{};
    auto ratios = std::vector<double>{};
    for (auto i = std::size_t{0}; i < rounds.size(); ++i) {
        rates.push_back(rounds[i].checks_per_s);
        if (!others.empty())
            ratios.push_back(ratio(of.ratio, rounds[i], others[i]));
    }
    auto r = result{.name = std::string{of.name},
                    .median = {.checks_per_s = median(rates)},
                    .least_checks_per_s = std::ranges::min(rates),
                    .most_checks_per_s = std::ranges::max(rates),
                    .rounds = rounds.size(),
                    .compared_with = std::string{of.compared_with},
                    .ratio = std::nullopt};
    for (auto figure :
         {&measurement::server_us_per_check, &measurement::client_us_per_check,
          &measurement::allocations_per_check, &measurement::p50_us, &measurement::p99_us,
          &measurement::p999_us, &measurement::max_us, &measurement::load_per_s,
          &measurement::keys_per_batch, &measurement::bytes_per_key, &measurement::leased_share,
          &measurement::allowed_share})
        r.median.*figure = median_of(rounds, figure);
    if (!ratios.empty())
        r.ratio = median(ratios);
    return r;
}

} // namespace colimit::benchmark
