// SPDX-License-Identifier: BSL-1.0
//
// How calls are decided when the server does not: chosen per limiter or per policy.

#pragma once

#include <cstdint>
#include <string_view>

namespace colimit {

/// Decides calls for which the server has made no decision by their deadline. It applies to errors
/// of the conditions `transient` and `maybe_charged`: no connection, a deadline that passed, a lost
/// reply, too many calls in flight, a server that is loading, busy, read-only or out of memory.
///
/// Errors that a fallback store cannot fix are reported in every mode: those that need a change of
/// the call, the configuration or the server (`invalid_argument`, `invalid_key`, `key_conflict`,
/// `auth_failed`, which includes a missing permission, `untrusted_server`, `bad_reply`,
/// `wrong_node`, `invalid_config`), `corrupt_state`, `closed`, and cancellation.
///
/// Failure modes decide `allow`, `peek`, `charge`, `refund`, `wait`, `once`, `seen`,
/// `probably_seen`, the calls of several of these, and `allow_all`. `reset` and `block` always end
/// with the error: they apply to all processes, so a single process must not report them as done.
/// So does `count_distinct`, as no process knows the number, and so do calls on policies with a
/// `concurrent` rule, of which only `deny` decides `acquire`. `decision::source` says where a
/// decision was made. A decision of a failure mode is not remembered for the id of its call
/// (`check_options::request`): made again, the call is one for the server.
enum class failure_mode : std::uint8_t {
    /// A store in this process enforces the same policy, scaled by `config::local_fraction`. It is
    /// kept between outages: charges of one outage still count in the next. It does not know the
    /// counts of the server, and its own counts are not transferred to the server. For `wait` it
    /// must be chosen: by the policy, or by a `local_fraction` of less than 1.
    local,
    /// Every call is allowed: `decision_source::fail_open`. Nothing is counted, so the whole limit
    /// is reported as remaining.
    allow,
    /// Every call is denied: `decision_source::fail_closed`. `remaining` is 0, and `retry_after` is
    /// `config::advanced.reconnect_delay_max`, by when the server has been probed again. A policy
    /// that is in
    /// shadow mode, or all of whose rules are, still denies nothing: it is decided as by `allow`.
    deny,
    /// The call ends with its error, and the caller decides what to do.
    error,
};

/// Returns `local`, `allow`, `deny` or `error`.
[[nodiscard]] std::string_view to_string(failure_mode m) noexcept;

} // namespace colimit
