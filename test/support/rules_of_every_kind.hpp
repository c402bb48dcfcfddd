// SPDX-License-Identifier: BSL-1.0
//
// One rule of each kind whose state is numbers, with one limit: for properties of all of them.

#pragma once

#include <colimit/rule.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

namespace colimit::test {

[[nodiscard]] inline std::vector<rule> rules_of_every_kind(std::int64_t limit,
                                                           std::chrono::microseconds period) {
    using std::chrono::minutes;
    return {gcra(limit, period),
            cell(limit - 1, 1, period),
            token_bucket(limit, 2, period),
            leaky_bucket(limit, limit, period),
            token_bucket(limit, 2, period).stepwise(),
            token_bucket(limit, limit, period).stepwise(),
            token_bucket(limit, 2, period).aligned(),
            token_bucket(limit, 2, period).initially(limit),
            token_bucket(limit, 2, period).stepwise().initially(limit),
            fixed_window(limit, period),
            fixed_window(limit, period).from_first(),
            calendar(limit, calendar_unit::day, minutes{330}),
            calendar(limit, calendar_unit::week, minutes{-210}),
            calendar(limit, calendar_unit::month),
            calendar(limit, calendar_unit::year, minutes{840}),
            sliding_window(limit, period)};
}

} // namespace colimit::test
