// SPDX-License-Identifier: BSL-1.0
//
// Optional arguments of the verbs. All of these are trivially destructible (GCC 12 and co_await),
// so they can be written in place: `allow(key, policy, {.cost = 3})`.

#pragma once

#include <colimit/decision.hpp>
#include <colimit/limits.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace colimit {

/// For `allow` and `peek`.
struct check_options {
    /// Tokens requested: 0 to 2^53 - 1. A cost of 0 is allowed unless the balance is negative,
    /// and that starts `policy::prevent_duplicate`, too.
    std::int64_t cost = 1;
    /// The fewest tokens to accept, 0 to cost: between these two, as many as are available are
    /// granted. Default: all or nothing.
    std::optional<std::int64_t> at_least = std::nullopt;
    /// The member that `distinct` rules count, any bytes up to 64 KiB; a policy without such a rule
    /// ignores it. Must live until the call is initiated.
    std::optional<std::string_view> member = std::nullopt;
    /// For `allow` and the checks of `allow_many`: identifies this call, 1 to 256 bytes, so that it
    /// may be made again and is charged once. Until `config::advanced.request_ttl` has passed, a
    /// call with the same id for the same key and policy name gets the decision of the first one,
    /// whichever process makes it; with other arguments or another version of the policy it ends
    /// with `invalid_argument`. Must live until the call is initiated.
    std::optional<std::string_view> request = std::nullopt;
    /// The time of the call, for tests and replays: 1970 to 2112. Default: the store's clock. Do
    /// not mix supplied and real times for one key.
    std::optional<time_point> now = std::nullopt;
};

/// For `charge` and `refund`.
struct charge_options {
    /// Tokens to charge or refund: 0 to 2^53 - 1.
    std::int64_t cost = 1;
    /// For `charge` under `distinct` rules, as in `check_options`; `refund` does not remove a
    /// member.
    std::optional<std::string_view> member = std::nullopt;
    /// As in `check_options`; not for `charge_members`.
    std::optional<std::string_view> request = std::nullopt;
    std::optional<time_point> now = std::nullopt;
};

/// For `reset`, `block`, `once`, `seen`, `probably_seen` and those of many ids.
struct reset_options {
    std::optional<time_point> now = std::nullopt;
};

/// For `acquire`.
struct acquire_options {
    /// Tokens that the other rules of the policy are charged: 0 to 2^53 - 1. The `concurrent` rule
    /// gives one slot, whatever the cost.
    std::int64_t cost = 1;
    /// The longest acceptable wait for a slot, from the start of the call: 0, to be denied at
    /// once, to `wait_options::no_max_wait`.
    std::chrono::microseconds max_wait{0};
    /// As in `check_options`. Only decisions use this time: waits and leases take real time.
    std::optional<time_point> now = std::nullopt;
};

/// For `count_distinct`.
struct count_options {
    /// The name of the `distinct` rule to count. Default: the first one of the policy.
    std::optional<std::string_view> rule = std::nullopt;
    std::optional<time_point> now = std::nullopt;
};

/// For `wait`.
struct wait_options {
    /// Tokens to wait for, 0 to the capacity.
    std::int64_t cost = 1;
    /// The longest acceptable wait, from when the reservation is made, or for rules without
    /// reservations from the start of the call: 0 to `no_max_wait`. A call that would wait longer
    /// is denied as soon as this is known, and charges nothing.
    std::chrono::microseconds max_wait = std::chrono::seconds{1};
    /// As in `check_options`.
    std::optional<std::string_view> member = std::nullopt;
    /// As in `check_options`. Only decisions use this time; the wait itself takes real time.
    std::optional<time_point> now = std::nullopt;

    /// The longest `max_wait`, 366 days, for calls that wait as long as it takes.
    static constexpr std::chrono::microseconds no_max_wait = limits::max_repayment;
};

} // namespace colimit
