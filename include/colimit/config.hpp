// SPDX-License-Identifier: BSL-1.0
//
// How a limiter is set up. Plain numbers with reasoned defaults; checked when the limiter is made.

#ifndef COLIMIT_CONFIG_HPP
#define COLIMIT_CONFIG_HPP

#include <colimit/diagnostics.hpp>
#include <colimit/failure_mode.hpp>
#include <colimit/tls_options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace colimit {

/// How a server is asked.
enum class execution_mode : std::uint8_t {
    /// By a script: every rule and verb, atomically, and a refused call writes nothing.
    script,
    /// By MULTI, for servers where scripting is off. Sliding logs only; no script is ever sent.
    ///
    /// A call is recorded first and counted afterwards; a refused one is removed again, or stays
    /// with `.count_denied()`. Until it is removed it counts, so two callers who race for the last
    /// place may both be refused, never both allowed; should its caller's process or connection end
    /// meanwhile, it counts for a period. Times are this process's, corrected to the server's
    /// clock, which is asked with every write: `decision::server_time` is the earliest that it can
    /// have been, and a place comes back as much later as that clock is uncertain: usually a round
    /// trip, and a thousandth of how long nothing was asked. Limiters that share counters should
    /// have one `timeout`: so long a call may be under way and still count right.
    ///
    ///   - Policies of sliding logs, without prevent_duplicate; others are `errc::invalid_policy`.
    ///   - allow, peek, charge, refund, reset and allow_many; the others are
    ///     `errc::invalid_argument`.
    ///   - A cost of n is n members of a sorted set, some 80 bytes each. `charge`, and `allow`
    ///     where all rules are shadows, take at most `limits::max_log_events`, and a policy that
    ///     counts
    ///     refused calls makes no partial grants: `errc::invalid_argument`.
    ///   - A policy that counts refused calls keeps the newest 2 * limit + 16 events: a refund of
    ///     more than these gives back what older charges owe, too.
    ///   - A clock of the server that is set back by more than a period and a minute makes it
    ///     forget what was counted; set back by less, that counts for as much longer.
    ///
    /// The two modes have keys of their own and share no counts. The user must be allowed ECHO,
    /// TIME, CLIENT ID, MULTI, EXEC, ZADD, ZREM, ZREMRANGEBYSCORE, ZREVRANGE, ZCOUNT, PTTL and
    /// PEXPIRE; without one of them `ready` fails with `errc::auth_failed`. refund, reset and
    /// policies that count refused calls need ZREMRANGEBYRANK, too. INFO and PERSIST are used where
    /// they are allowed.
    multi,
};

/// A part of a whole: `fraction{1, 4}` is a quarter.
struct fraction {
    std::int64_t numerator = 1;
    std::int64_t denominator = 1;
};

/// The configuration of a `limiter`. A value out of its range makes the limiter's constructor throw
/// `colimit::error` with `errc::invalid_config`, saying which one, and what is allowed.
struct config {
    /// Where the counters are:
    ///   - `memory:` in this process,
    ///   - `redis://[user:password@]host[:port][/db]` (port 6379, db 0; IPv6 as `[::1]`),
    ///   - `rediss://`, the same over TLS, with the options of `tls`,
    ///   - `unix:/path/to/socket[?db=N]`, `unix://[user:password@]/path/to/socket[?db=N]`.
    /// A password without a user is `:password@` or `password@`. User, password and path are
    /// percent-decoded: in the first two write `@` as %40, `/` as %2F, `%` as %25, and in a user
    /// `:` as %3A. They never appear in errors.
    std::string server = "memory:";

    /// TLS options for `rediss://`: trusted CAs and client certificate.
    tls_options tls{};

    /// The first part of every key: 1 to 64 characters of `[A-Za-z0-9_.-]`. Limiters that are to
    /// share counters need the same one.
    std::string prefix = "colimit";

    /// From the start of a call to its completion at the latest: 1 ms to 1 h. A call that was not
    /// sent by then never is. If handlers kept the executor busy for longer, a call whose reply had
    /// arrived meanwhile still completes with it, and expired calls are not taken for an outage.
    std::chrono::milliseconds timeout{100};

    /// For connecting to the server, the handshake of TLS, and the greeting, together: 1 ms to 1 h.
    /// If the name of a host has several addresses they are tried in turn, each for an equal share
    /// of it, and the next attempt begins with the addresses that have not failed.
    std::chrono::milliseconds connect_timeout{1000};

    /// A connection on which no reply is outstanding, and which has been idle for this long, is
    /// checked with a PING: 1 ms to 1 h, or 0 for never. A PING, or a call that was made after half
    /// a second of idleness, that is not answered within `timeout`, but at least
    /// `limits::ping_timeout`, ends the connection, and a new one is made. So a connection that a
    /// firewall or a load balancer has dropped is replaced before a call has to find out, usually.
    /// A busy connection is never sent a PING. An ACL that denies PING disables the checks.
    std::chrono::milliseconds ping_interval{500};

    /// With TCP, the idle time after which the system sends keep-alive probes: 1 s to 1 h, or 0 for
    /// none. On Linux, if `tcp_user_timeout` is at most that long, the connection ends if the first
    /// probe is not acknowledged by the time of the second, a third of this later. If
    /// `tcp_user_timeout` is 0, it ends after three probes in a row. `ping_interval` notices
    /// earlier; this is for limiters without it.
    std::chrono::seconds tcp_keep_alive{15};

    /// With TCP, how long sent data may stay unacknowledged by the server's system before the
    /// connection ends (TCP_USER_TIMEOUT of Linux; no effect elsewhere): 1 ms to 1 h, or 0 for the
    /// system's own limit, about 15 min. A server that is frozen or busy still acknowledges.
    std::chrono::milliseconds tcp_user_timeout{1000};

    /// The pauses between attempts to connect, and between probes of a server that does not answer,
    /// grow from the first to the second, each jittered between half and all of it: 1 ms to 1 h,
    /// the second at least the first. A server that is back is noticed within the second. One that
    /// refuses us (credentials, too many clients), or that we do not trust (its certificate), is
    /// left alone for four times as long.
    ///
    /// After `limits::breaker_misses` misses in a row calls are not sent any more and wait for
    /// nothing: they are `errc::unavailable` at once, which `on_failure` decides, until the server
    /// has answered probes in time.
    std::chrono::milliseconds reconnect_delay_min{10};
    std::chrono::milliseconds reconnect_delay_max{250};

    /// Calls that may wait at once: 1 to 16,777,216. One more gets `errc::too_many_in_flight`. The
    /// default is far above what a server answers in one timeout, and costs at most 48 MiB.
    std::size_t max_in_flight = 65'536;

    /// Calls of `wait` that may be incomplete at once, whether their places are being reserved or
    /// their turns awaited: 1 to 16,777,216. One more completes with `errc::too_many_in_flight` in
    /// every failure mode; nothing is requested for it, so nothing is charged. Each takes about 1
    /// KiB and its key.
    std::size_t max_waiting = 65'536;

    /// By a script, or by MULTI where scripting is off. Makes no difference to `memory:`.
    execution_mode mode = colimit::execution_mode::script;

    /// Different keys in one script call, or calls in one write of `execution_mode::multi`: 1 to
    /// 1,024. More would keep the server from its other clients; fewer would waste what a script
    /// call costs before its first key.
    std::size_t batch_size = 96;

    /// Script calls, or writes, on the wire at once: 1 to 64. While they are, the next one fills.
    /// A server reads 16 KiB at a time and answers all it has read at once: if that were all there
    /// is on the wire, it would be idle while its replies travel. Six full batches of keys whose
    /// names have 30 characters there are 22 KB; many would all be small.
    std::size_t batches_in_flight = 6;

    /// Denials that are remembered, so that a flood of refused calls costs the server nothing: 0
    /// (none) to 16,777,216. Until a denial's `retry_after` is over, less a thousandth and the time
    /// the question travelled, the same question and those of a larger cost get the same answer
    /// without asking the server: `decision_source::deny_cache`, with `retry_after` and
    /// `reset_after` counted down; what remains stays as the server said. Whatever else this
    /// limiter does to the key ends that at once: refunds, resets, grants (those of `allow_all`
    /// too), charges, calls with other rules, and calls whose outcome is unknown. So does any later
    /// reply about the key, such as that of a `peek`, unless it is a denial under the same rules,
    /// which replaces the remembered one. Changes by other processes are seen when the denial ends,
    /// at most `deny_cache_max_age` later.
    ///
    /// For `allow` and `allow_many` by the server's clock, under policies without `distinct` and
    /// without `count_denied`; not with `execution_mode::multi` or `memory:`. Some 300 bytes each,
    /// taken as they are used; when all are, a new denial takes the place of another.
    std::size_t deny_cache = 65'536;

    /// How long a denial is remembered at most, from when its question was sent: 1 ms to 1 h. Then
    /// the server is asked again, also if the denial's `retry_after` is not over. A longer time
    /// saves the server calls; a shorter one shows earlier what other processes give back.
    std::chrono::milliseconds deny_cache_max_age{1000};

    /// Whether the limiter may be used from every thread that runs its executor, or from any other,
    /// at the same time, rather than from one thread or strand. Each call then locks; handlers
    /// without an executor of their own run on the limiter's, several at once. A limiter for each
    /// thread is faster, for Redis is what they share.
    bool thread_safe = false;

    /// Who answers when the server does not: `failure_mode` says in which cases, and for which
    /// verbs. `policy::on_failure` overrides it for a policy.
    failure_mode on_failure = failure_mode::local;

    /// With `failure_mode::local`, the part of each limit that this process enforces while the
    /// server is away: with four processes {1, 4}, so that together they let through about what the
    /// limit is. 1 <= numerator <= denominator <= 1,000,000.
    ///
    /// Capacities and limits, and what comes back at once, are rounded down and are at least 1;
    /// buckets that are repaid continuously are repaid so much more slowly, to the microsecond.
    /// `prevent_duplicate`, `once` and `seen` are not scaled: what one process has seen, it has. A
    /// call that asks for more than its share, but no more than the limit, is limited and not
    /// refused for ever.
    fraction local_fraction{};

    /// States that the in-process store keeps, one a key and rule: 1 to 1,073,741,824. With a
    /// server, of the store that answers in its place with `failure_mode::local`; it takes memory
    /// only as far as it is used.
    std::size_t local_max_states = 1'048'576;

    /// Keys in Redis live at least this long, for replays, whose supplied clock may run slower than
    /// the server's: 0 to 366 days. Normally a key lives as long as its state matters, and at most
    /// twice that and a second.
    std::chrono::milliseconds min_key_ttl{0};

    /// The protocol version to ask for, 2 or 3. A server that does not know 3 is spoken to in 2.
    int resp_version = 3;

    /// Called for each `event`, for a log; empty by default. Not for `memory:`, which has none.
    ///
    /// It is posted to the limiter's executor (with `thread_safe` to a strand of it), so it never
    /// runs within a call or under the limiter's lock, and events arrive one after another in their
    /// order. It may call any function of the limiter, which may be closed or gone by then. What it
    /// throws is thrown out of the context's `run`, as from a handler. An event for which there is
    /// no memory is lost. Without a function, events cost nothing.
    std::function<void(const event&)> on_event{};
};

} // namespace colimit

#endif
