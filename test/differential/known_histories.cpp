// SPDX-License-Identifier: BSL-1.0
//
// Each with what was wrong.

#include "known_histories.hpp"

#include <chrono>
#include <cstdint>

namespace colimit::differential {
namespace {

using core::verb;

/// What is owed and what is asked for are 1.1 times 2^53 ticks together; added before the capacity
/// was taken off, they were one tick too many, and the wait a millisecond too long.
[[nodiscard]] history a_wait_beside_a_large_debt() {
    constexpr std::int64_t now = 1'109'564'204'312'498;
    constexpr std::int64_t wait = 13'046'399'998'501;
    const auto all = std::int64_t{2'341'254};
    return {.versions = {policy{"p", token_bucket(all, all, std::chrono::hours{24} * 151)}},
            .steps = {
                {.calls = {{0, {verb::allow, 1'929'842, 1, now}},
                           {0, {verb::charge, 1'985'169, 1'985'169, now}}}},
                {.calls = {{0, {verb::reserve, all, wait, now + 1'001}}}},
            }};
}

/// Around every day on which the rule for leap years has a case of its own, and month 12 ends.
[[nodiscard]] history turns_of_the_calendar() {
    using namespace std::chrono;
    auto told = history{.versions = {policy{"p", calendar(3, calendar_unit::day).named("d"),
                                            calendar(9, calendar_unit::week).named("w"),
                                            calendar(30, calendar_unit::month).named("m"),
                                            calendar(300, calendar_unit::year).named("y")}},
                        .steps = {}};
    for (const auto in : {1970, 1999, 2000, 2001, 2003, 2004, 2099, 2100, 2101, 2111})
        for (const sys_days around :
             {sys_days{year{in} / January / 3}, sys_days{year{in} / March / 2},
              sys_days{year{in} / December / 30}})
            for (auto day = around - days{in == 1970 ? 2 : 5}; day <= around + days{5}; ++day) {
                const auto noon = microseconds{(day + hours{12}).time_since_epoch()}.count();
                told.steps.push_back({.calls = {{0, {verb::allow, 1, 1, noon}}}});
            }
    return told;
}

} // namespace

std::vector<history> known_histories() {
    return {a_wait_beside_a_large_debt(), turns_of_the_calendar()};
}

} // namespace colimit::differential
