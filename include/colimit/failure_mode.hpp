// SPDX-License-Identifier: BSL-1.0
//
// Who decides when the server does not: chosen for a limiter, or for a policy.

#ifndef COLIMIT_FAILURE_MODE_HPP
#define COLIMIT_FAILURE_MODE_HPP

#include <cstdint>
#include <string_view>

namespace colimit {

/// What a call answers when the server has not by its deadline. It decides where the error would
/// have the condition `transient` or `maybe_charged`: no connection, a deadline that passed, a
/// reply that was lost, too many calls in flight, a server that is loading, busy, read-only or
/// without memory.
///
/// Other errors come through in every mode, because no other store would make them good: what the
/// caller has to change (`invalid_argument`, `invalid_key`, `key_conflict`, `auth_failed`, which
/// is also a missing permission, `untrusted_server`, `bad_reply`, `wrong_node`), `corrupt_state`,
/// `closed`, a call that was cancelled.
///
/// The verbs that move quota or ask for it are answered: `allow`, `peek`, `charge`, `refund`,
/// `wait`, `once`, `seen`, `allow_many` and `allow_all`. `reset` and `block` always end with the
/// error: who lifts or imposes something for everybody must not believe that it has been done.
/// `decision::origin` says who answered.
enum class failure_mode : std::uint8_t {
    /// A store in this process enforces the same policy, scaled by `config::local_fraction`. It is
    /// kept: what it counted in one outage still counts in the next. What it counts is not carried
    /// over to the server, and what the server has counted is not known to it.
    local,
    /// Every call is allowed: `decision_source::fail_open`. Nothing is counted, so each limit is
    /// all there.
    allow,
    /// Every call is refused: `decision_source::fail_closed`. Nothing is left, and `retry_after` is
    /// `config::reconnect_delay_max`, by when the server has been asked again.
    deny,
    /// The call ends with its error, and the caller decides.
    error,
};

/// `local`, `allow`, `deny` or `error`.
[[nodiscard]] std::string_view to_string(failure_mode m) noexcept;

} // namespace colimit

#endif
