// SPDX-License-Identifier: BSL-1.0
//
// A policy's rules as the arithmetic reads them: whole numbers, reduced and checked once. All kinds
// of bucket rule become the same thing here, so there is one arithmetic for them in C++ and one in
// Lua.

#ifndef COLIMIT_CORE_PLAN_HPP
#define COLIMIT_CORE_PLAN_HPP

#include <colimit/error.hpp>
#include <colimit/limits.hpp>
#include <colimit/rule.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace colimit::core {

/// A continuously repaid bucket. Debt is counted in ticks: a token weighs `num` of them, and `den`
/// are repaid per unit of time, so num/den is the time of one token, reduced.
struct bucket {
    std::int64_t capacity; ///< tokens
    std::int64_t num;      ///< ticks a token
    std::int64_t den;      ///< ticks repaid per unit
    std::int64_t unit;     ///< 1, 1'000 or 1'000'000 microseconds
    std::int64_t full;     ///< capacity * num: the debt at which nothing is left
    std::int64_t most;     ///< where `charge` stops adding debt
    std::uint32_t tag;     ///< finds the rule's state in a value, by the rule's name
    bool shadow;

    friend bool operator==(const bucket&, const bucket&) = default;
};

/// The rules of a policy, in its order.
struct plan {
    std::array<bucket, limits::rules_per_policy> buckets;
    std::uint32_t size = 0;

    [[nodiscard]] std::span<const bucket> rules() const noexcept { return {buckets.data(), size}; }
};

/// The 32 bits that find a rule's state: FNV-1a of its family and name. Never 0.
[[nodiscard]] std::uint32_t state_tag(std::string_view rule_name) noexcept;

/// Checks and reduces the rules of a policy.
/// @throws colimit::error errc::invalid_policy, naming the policy, the rule and the reason.
[[nodiscard]] plan make_plan(std::string_view policy_name, std::span<const rule> rules);

/// What names of prefixes, policies and rules are made of.
[[nodiscard]] constexpr bool is_name_character(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
}

/// Throws `code` unless `name` is 1 to 64 characters of `[A-Za-z0-9_.-]`; `what` says whose name it
/// is.
void check_name(std::string_view name, const std::string& what, bool fits, errc code);

} // namespace colimit::core

#endif
