// SPDX-License-Identifier: BSL-1.0
//
// Each with what was wrong.

#include "known_histories.hpp"

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

} // namespace

std::vector<history> known_histories() {
    return {a_wait_beside_a_large_debt()};
}

} // namespace colimit::differential
