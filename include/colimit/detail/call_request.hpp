// SPDX-License-Identifier: BSL-1.0
//
// The arguments of a verb for one key, as plain numbers.

#pragma once

#include <colimit/options.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colimit::detail {

/// The script uses the same numbers.
enum class verb : std::uint8_t {
    allow,
    peek,
    charge,
    refund,
    reset,
    block,     ///< for `cost` microseconds
    reserve,   ///< `allow`, or a reservation within the next `at_least` microseconds
    unreserve, ///< refunds `cost` if the state still recovers fully at `at_least`
    once,      ///< allows the first call, then denies all for `cost` microseconds
    acquire,   ///< `allow` of `cost`, and takes a slot of the `concurrent` rule for a holder
    renew,     ///< extends the lease of a holder, if it has not ended
    release,   ///< gives back the slot of a holder
    inspect,   ///< counts the bits that are set in a block of a filter
};

/// The value of `now` for the store's own clock.
inline constexpr std::int64_t store_clock = -1;

/// The value of `rule` if the policy does not have it.
inline constexpr std::uint8_t no_rule = 255;

/// The size of the id of a holder of a `concurrent` rule: random bytes.
inline constexpr std::size_t holder_bytes = 12;

struct policy_data;

/// A member whose aggregate is copied member by member. GCC 12 copies a trivial aggregate in blocks
/// of 16 bytes, and the processor cannot read a block that it has just written in parts before all
/// parts are in the cache: a tenth of the time of a call in process.
struct copied_by_member {
    constexpr copied_by_member() noexcept = default;
    constexpr copied_by_member(const copied_by_member& /*other*/) noexcept {} // NOLINT: not trivial
    constexpr copied_by_member& operator=(const copied_by_member& /*other*/) noexcept { // NOLINT
        return *this;
    }
};

struct call_request {
    detail::verb verb = verb::allow;
    std::int64_t cost = 1;
    std::int64_t at_least = 1; ///< equal to cost for all or nothing
    std::int64_t now = store_clock;
    /// Of `distinct` rules; for `acquire`, `renew` and `release` the id of the holder, of
    /// `holder_bytes`. Lives until the call is initiated.
    std::string_view member = {};
    bool has_member = false;
    std::uint8_t rule = no_rule; ///< the index of the one that `count_distinct` counts
    bool has_id = false;         ///< the call may be made again, and is charged once
    copied_by_member copies = {};
    std::string_view id = {}; ///< lives until the call is initiated
};

/// Returns a supplied time in microseconds. A time before 1970 becomes -2, so that it is an error
/// and not taken for the store's clock.
[[nodiscard]] constexpr std::int64_t clock_of(const std::optional<time_point>& now) noexcept {
    if (!now)
        return store_clock;
    const auto us = now->time_since_epoch().count();
    return us < 0 ? -2 : us;
}

[[nodiscard]] constexpr call_request make_request(verb v, const check_options& o) noexcept {
    return {.verb = v,
            .cost = o.cost,
            .at_least = o.at_least.value_or(o.cost),
            .now = clock_of(o.now),
            .member = o.member.value_or(""),
            .has_member = o.member.has_value(),
            .has_id = o.request.has_value(),
            .id = o.request.value_or("")};
}

[[nodiscard]] constexpr call_request make_request(verb v, const charge_options& o) noexcept {
    return {.verb = v,
            .cost = o.cost,
            .at_least = o.cost,
            .now = clock_of(o.now),
            .member = o.member.value_or(""),
            .has_member = o.member.has_value(),
            .has_id = o.request.has_value(),
            .id = o.request.value_or("")};
}

/// @param duration of `block` and `once`: as of whole_microseconds
[[nodiscard]] constexpr call_request make_request(verb v, const reset_options& o,
                                                  std::int64_t duration = 0) noexcept {
    return {v, duration, 0, clock_of(o.now)};
}

/// Returns the request of `seen` (allow) or `probably_seen` (peek).
[[nodiscard]] constexpr call_request make_lookup(verb v, const reset_options& o) noexcept {
    return {.verb = v, .now = clock_of(o.now)};
}

/// Returns the request of `filter_status`.
[[nodiscard]] constexpr call_request make_inspection(std::int64_t now) noexcept {
    return {.verb = verb::inspect, .cost = 0, .at_least = 0, .now = now};
}

/// Returns the request of `count_distinct`: a peek of cost 0.
[[nodiscard]] call_request make_count(const policy_data& p, const count_options& o) noexcept;

[[nodiscard]] constexpr call_request make_request(const wait_options& o) noexcept {
    return {verb::reserve,       o.cost, o.max_wait.count(), clock_of(o.now), o.member.value_or(""),
            o.member.has_value()};
}

/// @param holder lives until the call is initiated
[[nodiscard]] constexpr call_request make_request(const acquire_options& o,
                                                  std::string_view holder) noexcept {
    return {.verb = verb::acquire,
            .cost = o.cost,
            .at_least = o.cost,
            .now = clock_of(o.now),
            .member = holder,
            .has_member = true};
}

/// Returns the request of a renewal or a release.
/// @param holder lives until the call is initiated
[[nodiscard]] constexpr call_request make_request(verb v, std::string_view holder,
                                                  std::int64_t now) noexcept {
    return {.verb = v, .cost = 0, .at_least = 0, .now = now, .member = holder, .has_member = true};
}

} // namespace colimit::detail
