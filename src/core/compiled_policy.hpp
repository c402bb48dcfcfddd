// SPDX-License-Identifier: BSL-1.0
//
// A compiled policy: its compiled rules, and properties of all of them. Users can state a rule in
// different ways; all become the same numbers here, so each kind has one arithmetic in C++ and one
// in Lua.

#pragma once

#include <colimit/error.hpp>
#include <colimit/limits.hpp>
#include <colimit/policy.hpp>
#include <colimit/rule.hpp>
#include <core/compiled_rule.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace colimit::core {

inline constexpr std::size_t max_states = limits::max_rules_per_policy + 1;

/// The limits of a policy: its rules, in their order, and a lockout if it prevents duplicates. A
/// key has a state for each.
struct compiled_policy {
    std::array<compiled_rule, max_states> limits;
    std::uint32_t size = 0;        ///< rules
    std::uint32_t state_count = 0; ///< rules, and the lockout
    bool shadow = false;           ///< denies no call
    bool has_log = false;          ///< a rule has a log
    bool has_distinct = false;     ///< a rule has a sketch
    bool has_slots = false;        ///< a rule is `concurrent`
    bool counts_denied = false;    ///< the log records denied calls; all log rules share it
    bool can_reserve = false;      ///< `wait` can reserve: all rules are continuous buckets
    bool packed = false;           ///< many states share a hash, see redis/protocol/key.hpp
    /// The names of keys are the callers' keys alone. They may have other values, which are
    /// conflicts, where a key with a name of its own would have a damaged state.
    bool has_bare_keys = false;
    /// The time after which every packed state is equivalent to no state, in microseconds.
    std::int64_t generation = 0;

    friend bool operator==(const compiled_policy&, const compiled_policy&) = default;

    [[nodiscard]] std::span<const compiled_rule> rules() const noexcept {
        return {limits.data(), size};
    }
    [[nodiscard]] std::span<const compiled_rule> all() const noexcept {
        return {limits.data(), state_count};
    }
    /// Returns whether the amount is above a limit, so that it is never allowed.
    [[nodiscard]] bool never_allows(std::int64_t amount) const noexcept {
        return std::ranges::any_of(rules(), [amount](const compiled_rule& l) {
            return !l.shadow && l.never_allows(amount);
        });
    }
};

/// Returns the longest period of the policy's logs, in microseconds: how long events are kept.
[[nodiscard]] std::int64_t log_period(const compiled_policy& rules) noexcept;
/// Returns how many events of a key are kept: twice the largest limit of the policy's logs, and 16.
/// Older ones cannot change a decision.
[[nodiscard]] std::int64_t log_capacity(const compiled_policy& rules) noexcept;

/// Returns the 32 bits that identify a rule's state: FNV-1a of its family, a character that all
/// kinds that read each other's state have in common, and its name. Never 0.
[[nodiscard]] std::uint32_t state_tag(char family, std::string_view rule_name) noexcept;

/// Returns the position of a rule, for messages: `policy 'login', rule 2`. Of rules without a
/// policy `rule 2`, or just `rule` if there is only one.
[[nodiscard]] std::string position_of_rule(std::string_view policy, std::span<const rule> rules,
                                           std::size_t index);

/// @throws colimit::error errc::invalid_policy, naming the policy, the rule and the reason
[[nodiscard]] compiled_policy compile_policy(std::string_view policy_name,
                                             std::span<const rule> rules,
                                             const detail::policy_options& options = {});

/// Returns whether the names of prefixes, policies and rules may contain the character.
[[nodiscard]] constexpr bool is_name_character(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
}

/// Throws `code` unless `name` is 1 to 64 characters of `[A-Za-z0-9_.-]`.
/// @param what the owner of the name, for messages
/// @param fits false if the name was longer and has been truncated
void check_name(std::string_view name, const std::string& what, bool fits, errc code);

} // namespace colimit::core
