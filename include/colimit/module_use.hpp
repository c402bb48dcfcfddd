// SPDX-License-Identifier: BSL-1.0
//
// Whether a limiter uses the server module.

#pragma once

#include <cstdint>

namespace colimit {

/// Whether calls are executed by the server module, `colimit.so`, which decides them on the server
/// in about 40 % of the time of the script (60 % with replicas or an AOF). The keys and values are
/// the same: limiters that use it and limiters that do not share their counts, at any time.
///
/// Each handshake detects whether the server has the module, in a version that is compatible with
/// this library, and whether the user may run its commands. In a cluster each node decides that for
/// itself, and behind Sentinel each master.
enum class module_use : std::uint8_t {
    /// Calls are executed by the module where it is available, otherwise as `config::advanced.mode`
    /// says:
    /// scripts are loaded only then. If a server loses the module, or the user the permission,
    /// calls that find this out are executed as `config::advanced.mode` says, without an error and
    /// once. The
    /// server is asked for it again with a later call: after a second, and then after pauses that
    /// double up to a minute. `limiter::last_error` says why a module that is there is not used.
    if_available,
    /// Calls are executed by the module only, and no script is sent, except for policies with a
    /// `concurrent` rule, which the script executes. If a server does not have it, or in an
    /// incompatible version, `ready` and calls end with `errc::invalid_config`; if the user may not
    /// run `COLIMIT.CHECK`, with `errc::auth_failed`. The server is tried again after
    /// `config::advanced.reconnect_delay_max` at the latest. Calls that find the module missing
    /// wait for it until their deadline.
    required,
    /// The module is not used, and servers are not asked for it.
    never,
};

} // namespace colimit
