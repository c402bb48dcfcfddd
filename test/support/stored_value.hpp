// SPDX-License-Identifier: BSL-1.0
//
// The values of keys as strings, which tests compare and change.

#pragma once

#include <core/state_encoding.hpp>

#include <cstdint>
#include <string>

namespace colimit::test {

[[nodiscard]] inline std::string encode_value(const core::compiled_policy& rules,
                                              const core::key_state& state, std::int64_t expires) {
    return std::string{core::encoded_value{rules, state, expires}};
}

/// Returns the numbers that brief values of the policy omit; empty if none is brief.
[[nodiscard]] inline std::string encode_brief_numbers(const core::compiled_policy& rules) {
    const auto numbers = core::brief_numbers_of(rules);
    return core::has_brief_values(rules) ? std::string{numbers.data(), numbers.size()} : "";
}

} // namespace colimit::test
