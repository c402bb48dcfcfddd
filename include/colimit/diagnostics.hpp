// SPDX-License-Identifier: BSL-1.0
//
// Why a limiter cannot reach its server, or why the server refuses commands: the last problem with
// the server's own words, the state of the connection, and events.

#pragma once

#include <colimit/error.hpp>

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace colimit {

/// The phase in which something failed.
enum class phase : std::uint8_t {
    resolve,   ///< the address of the host
    connect,   ///< TCP or the unix socket
    tls,       ///< the TLS handshake
    handshake, ///< authentication, SELECT, and the check of the user's permissions
    script,    ///< loading or running a script
    reply,     ///< a missing or malformed reply, or an error reply to another command
};

/// One problem, as `limiter::last_error` returns it.
struct problem {
    errc code = errc::unavailable;
    colimit::phase phase = colimit::phase::connect;
    /// The message of the server, of the operating system or of OpenSSL, behind the name of the
    /// server if it is a Sentinel (`Sentinel 192.0.2.1:26379: `) or in a cluster (`node
    /// 192.0.2.1:6379: `): at most
    /// `limits::max_problem_bytes` bytes of printable ASCII. Other bytes are escaped as `\xNN`. It
    /// may contain names of keys and the user's name, never the password: `***` stands for it, also
    /// where it was percent-encoded or escaped, and where the text ends within it. If it has fewer
    /// than four characters, a server message that contains it is omitted. (In
    /// `redis://user:12345`, where `@host` was forgotten, `12345` is the port of the host `user`.
    /// It is shown if there is such a host.)
    std::string text;
    /// The first time that it happened without another problem in between, and the last time.
    std::chrono::system_clock::time_point first{};
    std::chrono::system_clock::time_point last{};
    /// The number of times that it happened from `first` to `last`, counted in connections and
    /// replies, not calls.
    std::uint64_t count = 1;
};

/// Whether calls are decided by the server.
enum class health_state : std::uint8_t {
    connecting, ///< there is no connection, or only one to a read-only server; calls wait for it
    ready,      ///< the server decides calls
    degraded,   ///< failure modes decide calls: the circuit breaker is open, or the server refuses
                ///< to write (OOM, MISCONF, NOREPLICAS) and has granted nothing since
    refused,    ///< see `errc::auth_failed`, `untrusted_server`, `bad_reply`, `invalid_config`
    closed,     ///< the limiter was closed
};

/// The state of a limiter, as `limiter::health` returns it.
struct health {
    health_state state = health_state::connecting;
    std::chrono::system_clock::time_point since{};
    /// As `limiter::last_error`. It stays after the problem has been solved.
    std::optional<problem> last_problem;
};

/// The kinds of events of `config::on_event`. Their frequency does not depend on the number of
/// calls.
enum class event_kind : std::uint8_t {
    connected,      ///< a connection is ready to serve
    disconnected,   ///< a connection that was ready is lost; `cause` says why
    breaker_opened, ///< no calls are sent to the server; `cause` says why, if it is known
    breaker_closed, ///< calls are sent to the server again
    /// The failure mode has decided a call that would have ended with `errc::unavailable`,
    /// `deadline_exceeded`, `outcome_unknown` or `server_error`, which is the `cause`.
    /// `too_many_in_flight` does not count: it is no outage, and `statistics` counts it.
    fallback_started,
    /// The server has decided a call again, and in the last second the failure mode has decided
    /// none for one of these errors.
    fallback_ended,
    /// The server has loaded the scripts of a handshake, or one that it had forgotten.
    script_loaded,
    /// The user may not run a command or touch a key; `cause` has the server's message. Each
    /// message is reported once until the server permits a call under the same policy, and after
    /// that at most once per second. With more than four different messages, one that was reported
    /// before may be reported again.
    permission_denied,
    /// A filter, `event::filter`, has more ids in a generation than its capacity, so more of the
    /// new ids are reported as seen: see `limiter::filter_status`. Found by a call of that, and by
    /// the limiter itself, which inspects a filter like that after as many calls of `seen` as a
    /// 64th of its capacity, at least 1,000. Reported again after an inspection has found it not
    /// over its capacity. Each process reports it for itself.
    filter_over_capacity,
};

/// An event of a limiter.
struct event {
    event_kind kind = event_kind::connected;
    std::chrono::system_clock::time_point at{};
    /// The problem that led to this event; nullopt if there is none. It is a problem of a Sentinel
    /// only before the first attempt to connect to a master.
    std::optional<problem> cause;
    /// The name of the Bloom filter that it is about; else empty.
    std::string filter;
};

/// Returns `resolve`, `connect`, `TLS`, `handshake`, `script` or `reply`.
[[nodiscard]] std::string_view to_string(phase p) noexcept;
/// Returns `connecting`, `ready`, `degraded`, `refused` or `closed`.
[[nodiscard]] std::string_view to_string(health_state s) noexcept;
/// Returns one line, such as `script: the server refused ...: OOM command not allowed (3 times)`.
[[nodiscard]] std::string to_string(const problem& p);
/// Returns the name of the enumerator with spaces, such as `breaker opened`.
[[nodiscard]] std::string_view to_string(event_kind k) noexcept;
/// Returns the kind and, if there is one, the cause or the filter.
[[nodiscard]] std::string to_string(const event& e);

std::ostream& operator<<(std::ostream& out, phase p);
std::ostream& operator<<(std::ostream& out, health_state s);
std::ostream& operator<<(std::ostream& out, const problem& p);
std::ostream& operator<<(std::ostream& out, event_kind k);
std::ostream& operator<<(std::ostream& out, const event& e);

} // namespace colimit
