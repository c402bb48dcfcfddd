// SPDX-License-Identifier: BSL-1.0
//
// The table of algorithms: their names, their kinds, and the refinements that their rules may have.
// The names are those of the factories in rule.hpp, of rule texts and of JSON.

#pragma once

#include <colimit/rule.hpp>
#include <core/rule_kind.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colimit::core {

/// Properties of algorithms, as bits.
enum class feature : std::uint8_t {
    period = 1,
    calendar = 2, ///< a unit and an offset from UTC, instead of a period
    refill = 4,   ///< a bucket: burst, stepwise, aligned, initially
    from_first = 8,
    count_denied = 16,
    lease = 32,
};

struct algorithm_traits {
    colimit::algorithm algorithm;
    std::string_view name;
    core::kind kind; ///< of rules without `stepwise`, `aligned` and `from_first`
    std::uint8_t features;

    [[nodiscard]] constexpr bool has(feature f) const noexcept {
        return (features & static_cast<std::uint8_t>(f)) != 0;
    }
};

[[nodiscard]] constexpr std::uint8_t features(auto... all) noexcept {
    return static_cast<std::uint8_t>((static_cast<unsigned>(all) | ...));
}

inline constexpr auto algorithms = [] {
    using enum algorithm;
    constexpr auto bucket = features(feature::period, feature::refill);
    return std::to_array<algorithm_traits>(
        {{gcra, "gcra", kind::bucket, bucket},
         {cell, "cell", kind::bucket, bucket},
         {token_bucket, "token_bucket", kind::bucket, bucket},
         {leaky_bucket, "leaky_bucket", kind::bucket, bucket},
         {fixed_window, "fixed_window", kind::window,
          features(feature::period, feature::from_first)},
         {calendar, "calendar", kind::calendar, features(feature::calendar)},
         {sliding_window, "sliding_window", kind::counter, features(feature::period)},
         {sliding_log, "sliding_log", kind::log, features(feature::period, feature::count_denied)},
         {distinct, "distinct", kind::distinct, features(feature::period)},
         {concurrent, "concurrent", kind::concurrent, features(feature::period, feature::lease)}});
}();

[[nodiscard]] constexpr const algorithm_traits& traits_of(algorithm a) noexcept {
    BOOST_ASSERT(static_cast<std::size_t>(a) < algorithms.size());
    return algorithms[static_cast<std::size_t>(a)];
}

/// Returns the rules with the feature, for messages: "burst is for buckets, not for calendar".
[[nodiscard]] constexpr std::string_view owners_of(feature f) noexcept {
    if (f == feature::refill)
        return "buckets";
    if (f == feature::period)
        return "rules with a period";
    return std::ranges::find_if(algorithms, [f](const auto& a) { return a.has(f); })->name;
}

static_assert(algorithms.size() == static_cast<std::size_t>(algorithm::concurrent) + 1,
              "one entry per algorithm; `concurrent` stays the last one");
static_assert(std::ranges::all_of(algorithms,
                                  [](const auto& a) { return &a == &traits_of(a.algorithm); }),
              "the entries have the order of the algorithms");
static_assert(std::ranges::all_of(algorithms,
                                  [](const auto& a) {
                                      return a.has(feature::refill) == is_bucket(a.algorithm) &&
                                             a.has(feature::period) != a.has(feature::calendar);
                                  }),
              "rule.hpp says the same");
static_assert(std::ranges::all_of(std::array{feature::calendar, feature::from_first,
                                             feature::count_denied, feature::lease},
                                  [](feature f) {
                                      return std::ranges::count_if(algorithms, [f](const auto& a) {
                                                 return a.has(f);
                                             }) == 1;
                                  }),
              "owners_of names one algorithm");

} // namespace colimit::core
