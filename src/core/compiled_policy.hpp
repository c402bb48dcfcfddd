// SPDX-License-Identifier: BSL-1.0
//
// A policy's rules as the arithmetic reads them: whole numbers, reduced and checked once. What
// people state in different ways becomes the same thing here, so each kind has one arithmetic in
// C++ and one in Lua.

#ifndef COLIMIT_CORE_COMPILED_POLICY_HPP
#define COLIMIT_CORE_COMPILED_POLICY_HPP

#include <colimit/error.hpp>
#include <colimit/limits.hpp>
#include <colimit/policy.hpp>
#include <colimit/rule.hpp>
#include <core/compiled_rule.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace colimit::core {

/// A rule and a lockout for each policy.
inline constexpr std::size_t most_slots = limits::max_rules_per_policy + 1;

/// The rules of a policy, in its order; behind them, if it prevents duplicates, a lockout.
struct compiled_policy {
    std::array<compiled_rule, most_slots> limits;
    std::uint32_t size = 0;  ///< rules
    std::uint32_t slots = 0; ///< rules, and the lockout
    bool shadow = false;     ///< refuses nobody
    /// Some rule's state is more than numbers: a log, a sketch.
    bool has_log = false;
    bool has_distinct = false;
    /// Some log counts refused calls too; as the logs are one, all of them do.
    bool counts_denied = false;
    /// `wait` can reserve: all rules are continuous buckets.
    bool can_reserve = false;
    /// States lie together, see rows in redis/protocol/key.hpp.
    bool packed = false;
    /// Where they are packed, the time after which no state matters any more, in microseconds.
    std::int64_t generation = 0;

    [[nodiscard]] std::span<const compiled_rule> rules() const noexcept {
        return {limits.data(), size};
    }
    [[nodiscard]] std::span<const compiled_rule> all() const noexcept {
        return {limits.data(), slots};
    }
};

/// The longest period of the policy's logs, in microseconds: how long events are kept.
[[nodiscard]] std::int64_t log_period(const compiled_policy& rules) noexcept;
/// How many events of a key are kept at most: twice the largest limit of the policy's logs, and
/// some. Older ones cannot change a verdict any more.
[[nodiscard]] std::int64_t log_capacity(const compiled_policy& rules) noexcept;

/// The 32 bits that find a rule's state: FNV-1a of its family, one character for all kinds that
/// read each other's state, and its name. Never 0.
[[nodiscard]] std::uint32_t state_tag(char family, std::string_view rule_name) noexcept;

/// Checks and reduces the rules of a policy.
/// @throws colimit::error errc::invalid_policy, naming the policy, the rule and the reason.
[[nodiscard]] compiled_policy compile_policy(std::string_view policy_name,
                                             std::span<const rule> rules,
                                             const detail::policy_options& options = {});

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
