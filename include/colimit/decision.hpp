// SPDX-License-Identifier: BSL-1.0
//
// The result of a call: whether it is allowed, how much quota remains, when to retry, which rule is
// decisive and where the decision was made.

#pragma once

#include <colimit/limits.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>

namespace colimit {

namespace detail {
struct access;
} // namespace detail

/// A point in time with the resolution of the arithmetic.
using time_point = std::chrono::sys_time<std::chrono::microseconds>;

enum class outcome : std::uint8_t {
    /// Granted and charged (or, for `peek`, would be).
    allowed,
    /// Denied now; the same call is allowed after `retry_after` unless other calls charge the key
    /// in the meantime.
    denied,
    /// Denied forever: the cost exceeds the limit. Nothing was written.
    never,
};

/// Where the decision was made.
enum class decision_source : std::uint8_t {
    /// The store that the limiter was given.
    store,
    /// The deny cache: an earlier denial of the store that is still valid.
    deny_cache,
    /// A lease: tokens that this limiter took from the store earlier, see `policy::with_leases`.
    lease,
    /// The store in this process, because the server did not answer: `failure_mode::local`.
    fallback,
    /// No store: the server did not answer, and the mode is `failure_mode::allow`.
    fail_open,
    /// No store: the server did not answer, and the mode is `failure_mode::deny`.
    fail_closed,
};

/// Why a call was denied.
enum class denial_reason : std::uint8_t {
    /// The limiting rule; also the value of allowed calls.
    rule,
    /// `policy::prevent_duplicate`: the previous grant is too recent.
    duplicate,
    /// `block`.
    block,
};

/// Returns the name of the enumerator, as above: `denied`, `deny_cache`, `duplicate`.
[[nodiscard]] std::string_view to_string(outcome o) noexcept;
[[nodiscard]] std::string_view to_string(decision_source s) noexcept;
[[nodiscard]] std::string_view to_string(denial_reason r) noexcept;

/// The `retry_after` of a call that is never allowed.
inline constexpr auto never_again = std::chrono::microseconds::max();

/// The status of one rule.
struct rule_status {
    /// The rule's capacity, in tokens.
    std::int64_t limit = 0;
    /// Tokens left, rounded down; negative after `charge` took more than was left.
    std::int64_t balance = 0;
    /// Time until this rule alone would allow the call; 0 if it does now, `never_again` if it never
    /// will.
    std::chrono::microseconds retry_after{};
    /// Time until this rule has fully recovered; 0 if it has.
    std::chrono::microseconds reset_after{};
    /// The time resolution of this rule: 1 us, 1 ms or 1 s.
    std::chrono::microseconds resolution{1};

    /// Returns the tokens left, 0 if the balance is negative.
    [[nodiscard]] constexpr std::int64_t remaining() const noexcept {
        return std::max<std::int64_t>(balance, 0);
    }
    friend constexpr bool operator==(const rule_status&, const rule_status&) = default;
};

/// The status of each rule, in the policy's order. Only existing elements are initialised and
/// copied: clearing all eight would take a tenth of the time of a call in process.
class rule_statuses {
  public:
    constexpr rule_statuses() noexcept { // NOLINT: the array is written when it is used
        if (std::is_constant_evaluated())
            std::construct_at(&places_.items);
    }
    constexpr rule_statuses(const rule_statuses& other) noexcept : rule_statuses() {
        *this = other;
    }
    constexpr rule_statuses& operator=(const rule_statuses& other) noexcept {
        size_ = other.size_;
        std::copy_n(other.places_.items.begin(), size_, places_.items.begin());
        return *this;
    }

    [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
    [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] constexpr const rule_status& operator[](std::size_t i) const noexcept {
        return places_.items[i];
    }
    [[nodiscard]] constexpr rule_status& operator[](std::size_t i) noexcept {
        return places_.items[i];
    }
    [[nodiscard]] constexpr const rule_status* begin() const noexcept {
        return places_.items.data();
    }
    [[nodiscard]] constexpr const rule_status* end() const noexcept {
        return places_.items.data() + size_;
    }

    friend constexpr bool operator==(const rule_statuses& a, const rule_statuses& b) noexcept {
        return std::ranges::equal(a, b);
    }

  private:
    friend struct detail::access;

    constexpr rule_status& append() noexcept { return places_.items[size_++] = rule_status{}; }

    union places { // the constructor does nothing, and no member needs a destructor
        constexpr places() noexcept {} // NOLINT: see above
        std::array<rule_status, limits::max_rules_per_policy> items;
    };

    places places_;
    std::size_t size_ = 0;
};

/// The result of a call. The numbers are those of the limiting rule: of the rules that denied, the
/// one with the longest `retry_after`; if all allowed, the one with the least remaining. If
/// prevent_duplicate or a block denies for longer than any rule, or all rules are shadow rules,
/// limit and remaining are 0 and the times are those of the duplicate or block.
struct decision {
    colimit::outcome outcome = colimit::outcome::denied;
    decision_source source = decision_source::store;
    denial_reason reason = denial_reason::rule;
    /// The index of the limiting rule in the policy: `policy[d.limiting_rule].name()`. Always a
    /// valid index, even if a duplicate or a block denied the call.
    std::uint8_t limiting_rule = 0;
    /// For `allow_all`: the index of the check whose decision this is. 0 for other calls.
    std::uint8_t limiting_check = 0;
    /// Tokens granted: the cost, less after a partial grant, 0 if denied. For `peek` the number
    /// that `allow` would grant; 0 for `charge`, `refund` and `reset`, which grant nothing.
    std::int64_t granted = 0;
    std::int64_t limit = 0;
    std::int64_t remaining = 0;
    /// 0 if allowed; `never_again` for `outcome::never`.
    std::chrono::microseconds retry_after{};
    std::chrono::microseconds reset_after{};
    /// The time of the decision, according to the store's clock (or as supplied).
    time_point server_time;
    rule_statuses rules;

    [[nodiscard]] constexpr bool allowed() const noexcept {
        return outcome == colimit::outcome::allowed;
    }
    /// Returns `retry_after` in seconds, rounded up: for a `Retry-After` header or a message. A
    /// number that was rounded down would let the caller retry too early.
    [[nodiscard]] constexpr std::int64_t retry_after_seconds() const noexcept {
        return std::chrono::ceil<std::chrono::seconds>(retry_after).count();
    }
    /// `if (auto d = co_await limiter.allow(key, policy))`.
    [[nodiscard]] constexpr explicit operator bool() const& noexcept { return allowed(); }
    /// Deleted so that `if (co_await limiter.allow(...))`, which GCC 12 miscompiles, is an error.
    constexpr explicit operator bool() const&& = delete;

    friend constexpr bool operator==(const decision&, const decision&) = default;
};

} // namespace colimit
