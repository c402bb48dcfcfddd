// SPDX-License-Identifier: BSL-1.0
//
// A policy's rules as the arithmetic reads them: whole numbers, reduced and checked once. What
// people state in different ways becomes the same thing here, so each kind has one arithmetic in
// C++ and one in Lua.

#ifndef COLIMIT_CORE_PLAN_HPP
#define COLIMIT_CORE_PLAN_HPP

#include <colimit/error.hpp>
#include <colimit/limits.hpp>
#include <colimit/policy.hpp>
#include <colimit/rule.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace colimit::core {

/// What the arithmetic does with a rule. The order is known to the script.
enum class kind : std::uint8_t {
    bucket,     ///< repaid continuously
    stepwise,   ///< repaid at each period since the first use
    aligned,    ///< repaid at multiples of the period
    window,     ///< at multiples of the period
    from_first, ///< from the first charge
    calendar,
    counter, ///< two windows, the previous one weighted
    log,
    distinct,
    hold, ///< refuses for a period after each grant: prevent_duplicate
};
/// How many there are: `hold` stays the last one.
inline constexpr auto kind_count = static_cast<std::size_t>(kind::hold) + 1;

[[nodiscard]] constexpr bool is_bucket(kind k) noexcept {
    return k == kind::bucket || k == kind::stepwise || k == kind::aligned;
}

/// The start of a key that has no state: nothing is owed, and nothing is kept of that.
inline constexpr std::int64_t starts_full = -1;

/// Debt of a bucket saturates there at the latest.
inline constexpr std::int64_t most_ticks = std::int64_t{1} << 52;
/// Where the count comes back at once, `num` is the period above this mark: so a state tells which
/// steps, or which windows, its time belongs to. No continuous bucket has as many ticks per token.
inline constexpr std::int64_t steps_mark = most_ticks;

/// A rule. Debt of a bucket is counted in ticks: a token weighs `num` of them, and `den` are repaid
/// per unit of time, so num/den is the time of one token, reduced. Where the count comes back at
/// once, and in windows, a token is one tick.
struct limit {
    std::int64_t capacity;   ///< tokens
    std::int64_t num = 1;    ///< ticks per token, or steps_mark + period
    std::int64_t den = 1;    ///< ticks repaid per unit
    std::int64_t unit = 1;   ///< 1, 1'000 or 1'000'000 microseconds
    std::int64_t full = 0;   ///< capacity * num: the debt at which nothing is left
    std::int64_t most = 0;   ///< where `charge` stops adding debt
    std::int64_t period = 0; ///< units; not of continuous buckets; of calendars the longest
    std::int64_t count = 0;  ///< tokens that come back at once; not of logs
    std::int64_t offset = 0; ///< of a calendar: microseconds ahead of UTC
    std::int64_t initial = starts_full; ///< ticks that a new key owes
    std::uint32_t tag = 0;              ///< finds the rule's state, by its family and name
    core::kind kind = kind::bucket;
    calendar_unit calendar = calendar_unit::day;
    bool shadow = false;
    bool counts_denied = false;

    friend bool operator==(const limit&, const limit&) = default;
};

/// A rule and a hold for each policy.
inline constexpr std::size_t most_slots = limits::max_rules_per_policy + 1;

/// The rules of a policy, in its order; behind them, if it prevents duplicates, a hold.
struct plan {
    std::array<limit, most_slots> limits;
    std::uint32_t size = 0;  ///< rules
    std::uint32_t slots = 0; ///< rules, and the hold
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

    [[nodiscard]] std::span<const limit> rules() const noexcept { return {limits.data(), size}; }
    [[nodiscard]] std::span<const limit> all() const noexcept { return {limits.data(), slots}; }
};

/// The longest period of the policy's logs, in microseconds: how long events are kept.
[[nodiscard]] std::int64_t log_period(const plan& rules) noexcept;
/// How many events of a key are kept at most: twice the largest limit of the policy's logs, and
/// some. Older ones cannot change a verdict any more.
[[nodiscard]] std::int64_t log_capacity(const plan& rules) noexcept;
/// The longest time in which the rule recovers fully from its limit, in microseconds.
[[nodiscard]] std::int64_t full_recovery(const limit& l) noexcept;

/// The 32 bits that find a rule's state: FNV-1a of its family, one character for all kinds that
/// read each other's state, and its name. Never 0.
[[nodiscard]] std::uint32_t state_tag(char family, std::string_view rule_name) noexcept;

/// Checks and reduces the rules of a policy.
/// @throws colimit::error errc::invalid_policy, naming the policy, the rule and the reason.
[[nodiscard]] plan make_plan(std::string_view policy_name, std::span<const rule> rules,
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
