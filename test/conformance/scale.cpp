// SPDX-License-Identifier: BSL-1.0
//
// Scales of time.

#include "scale.hpp"

#include <colimit/limits.hpp>
#include <core/integers.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace colimit::conformance {
namespace {

/// Where time 0 is put if it can be there: not at 1970, where time is 0 and might mean "none".
constexpr std::int64_t some_day = 1'600'000'000'000'000;

[[nodiscard]] bool fits(std::int64_t ns, const scale& s) {
    const auto most = limits::max_time / s.factor;
    return ns % s.divisor == 0 && ns / s.divisor <= most && ns / s.divisor >= -most;
}

[[nodiscard]] std::optional<std::int64_t> common_multiple(std::span<const std::int64_t> periods,
                                                          const scale& s) {
    auto all = std::int64_t{1};
    for (const auto ns : periods) {
        const auto period = s.length(ns);
        const auto more = period / std::gcd(all, period);
        if (more > limits::max_time / all)
            return std::nullopt;
        all *= more;
    }
    return all;
}

/// The multiple from which on the earliest time is not before 1970, later if all times then lie
/// before the end of time.
[[nodiscard]] std::optional<std::int64_t> zero_for(std::int64_t earliest, std::int64_t latest,
                                                   std::int64_t multiple) {
    for (const auto from : {some_day, std::int64_t{1}, std::int64_t{0}}) {
        const auto zero = core::ceil_div(from + std::max<std::int64_t>(-earliest, 0), multiple);
        if (zero <= (limits::max_time - std::max<std::int64_t>(latest, 0)) / multiple)
            return zero * multiple;
    }
    return std::nullopt;
}

} // namespace

std::int64_t scale::rounded_up(std::int64_t ns) const noexcept {
    return -core::floor_div(-ns, divisor) * factor;
}

std::int64_t scale::rounded_up(double ns) const noexcept {
    return static_cast<std::int64_t>(
        std::ceil(ns * static_cast<double>(factor) / static_cast<double>(divisor)));
}

std::vector<scale> scales_for(std::span<const std::int64_t> times,
                              std::span<const std::int64_t> periods) {
    auto usable = std::vector<scale>{};
    for (auto s : {scale{1, 1'000}, scale{1'000'000, 1}, scale{1, 1}}) {
        const auto all_fit = [&s](auto all) {
            return std::ranges::all_of(all, [&s](auto ns) { return fits(ns, s); });
        };
        const auto multiple =
            all_fit(times) && all_fit(periods) ? common_multiple(periods, s) : std::nullopt;
        if (!multiple)
            continue;
        const auto [earliest, latest] = std::ranges::minmax(times);
        const auto zero = zero_for(s.length(earliest), s.length(latest), *multiple);
        if (!zero)
            continue;
        s.zero = *zero;
        usable.push_back(s);
    }
    return usable;
}

} // namespace colimit::conformance
