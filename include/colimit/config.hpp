// SPDX-License-Identifier: BSL-1.0
//
// The configuration of a limiter: plain values with defaults, validated when the limiter is
// constructed. These are the members that most programs look at; <colimit/advanced_config.hpp> has
// the others.

#pragma once

#include <colimit/advanced_config.hpp>
#include <colimit/audit_record.hpp>
#include <colimit/credentials.hpp>
#include <colimit/decision.hpp>
#include <colimit/diagnostics.hpp>
#include <colimit/failure_mode.hpp>
#include <colimit/tls_options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace colimit {

/// A fraction: `fraction{1, 4}` is a quarter.
struct fraction {
    std::int64_t numerator = 1;
    std::int64_t denominator = 1;
};

/// The configuration of a `limiter`. If a value is out of range, the limiter's constructor throws
/// `colimit::error` with `errc::invalid_config`, which names the option and the allowed values.
struct config {
    /// The store of the counters:
    ///   - `memory:` in this process,
    ///   - `redis://[user:password@]host[:port][/db]` (port 6379, db 0; IPv6 as `[::1]`),
    ///   - `rediss://`, the same over TLS, with the options of `tls`,
    ///   - `redis+sentinel://[user:password@]host[:port],host[:port],.../master[/db]`, the master
    ///     that Sentinels at these hosts name (port 26379; up to `limits::max_hosts` hosts); user,
    ///     password and db are the master's,
    ///   - `rediss+sentinel://`, the same over TLS, to the Sentinels and to the master,
    ///   - `redis+cluster://[user:password@]host[:port],host[:port],...`, a cluster of which these
    ///     are nodes (port 6379; up to `limits::max_hosts`), which name the others; user and
    ///     password are those of all nodes,
    ///   - `rediss+cluster://`, the same over TLS, to all nodes,
    ///   - `unix:/path/to/socket[?db=N]`, `unix://[user:password@]/path/to/socket[?db=N]`.
    /// A password without a user is `:password@` or `password@`. User, password and path are
    /// percent-decoded: in the first two write `@` as %40, `/` as %2F, `%` as %25, and in a user
    /// `:` as %3A. They never appear in errors.
    std::string server = "memory:";

    /// Returns user and password, instead of those in `server`, which has none then; empty by
    /// default. Called before each attempt to connect, so passwords may rotate and tokens expire;
    /// existing connections keep those that they have sent. It runs on the limiter's executor and
    /// must not block or call the limiter. If it throws, that attempt fails: `errc::auth_failed`,
    /// and `last_error` has the text of the exception, which must not contain a password; the next
    /// attempt comes after `advanced.reconnect_delay_max` at the latest. Not for `memory:`.
    std::function<colimit::credentials()> credentials{};

    /// TLS options for the addresses with `rediss`: trusted CAs and client certificate.
    tls_options tls{};

    /// The first part of every key: 1 to 64 characters of `[A-Za-z0-9._-]`. Limiters share counters
    /// only if they have the same prefix.
    std::string prefix = "colimit";

    /// The deadline of a call, counted from its start: 1 ms to 1 h, and at most half of
    /// `advanced.request_ttl`. A call that was not sent by then is never sent. If handlers kept the
    /// executor busy for longer, a call whose reply has arrived in the meantime still completes
    /// with it, and expired calls do not count as an outage.
    std::chrono::milliseconds timeout{100};

    /// Whether several threads may use the limiter concurrently, those that run its executor or any
    /// others, rather than one thread or strand. Each call then locks a mutex; handlers without an
    /// associated executor run on the limiter's, several at a time. One limiter per thread is
    /// faster; they share their counters in Redis. A program that calls verbs with
    /// `asio::use_future` needs it, as the thread that waits for the future is not the one that
    /// runs the executor.
    bool thread_safe = false;

    /// Decides calls when the server does not: `failure_mode` documents in which cases and for
    /// which verbs. `policy::with_failure_mode` overrides it for one policy.
    failure_mode on_failure = failure_mode::local;

    /// With `failure_mode::local`, the fraction of each limit that this process enforces while the
    /// server is unavailable: {1, 4} with four processes, so that together they admit about the
    /// limit. 1 <= numerator <= denominator <= 1,000,000.
    ///
    /// Capacities, limits and the refills of stepped buckets are rounded down, to at least 1;
    /// continuous buckets are refilled more slowly by this fraction, to the microsecond.
    /// `prevent_duplicate`, `once` and `seen` are not scaled. A call whose cost exceeds the scaled
    /// limit, but not the limit, is `outcome::denied`, not `outcome::never`.
    fraction local_fraction{};

    /// Called for each `event`, for a log; empty by default. `memory:` only has
    /// `filter_over_capacity`.
    ///
    /// It is posted to the limiter's executor (with `thread_safe` to a strand of it), so it never
    /// runs within a call or under the limiter's lock, and events arrive one after another in their
    /// order. It may call any function of the limiter, which may be closed or gone by then. An
    /// exception that it throws leaves the context's `run`, as from a handler. If memory runs out,
    /// events may be lost. Without a function, events cost nothing.
    std::function<void(const event&)> on_event{};

    /// The number of policies whose calls the limiter counts separately, for
    /// `limiter::policy_statistics`: 0 (none) to `limits::max_policies`. Policies are counted by
    /// name, from their first call on; once so many have been called, all others are counted
    /// together. Each takes about 2.3 KB.
    std::size_t counted_policies = 0;

    /// Called for calls that have ended, with key and decision, for an audit log; empty by default.
    /// `advanced.audit_sampling` says for which ones. Decisions of the deny cache and of failure
    /// modes, and errors, are included; `allow_all` has a record per check, and `allow_many` per
    /// part. Calls that are destroyed with their context are not, nor, if memory runs out, those
    /// that end with `not_enough_memory`.
    ///
    /// It runs on the limiter's executor (with `thread_safe` in several threads at once), just
    /// before the call's handler, so it must not block. It may call any function of the limiter and
    /// close or destroy it; a verb that it calls has a record, too. An exception that it throws
    /// leaves the context's `run`, as from a handler, after the handler of the call was called.
    /// Each call then keeps a copy of its key until it ends, in memory that is used again: a key of
    /// an ordinary length costs no allocation.
    std::function<void(const audit_record&)> on_decision{};

    /// Execution, connections, caches, bounds, and clocks: the defaults suit most services.
    advanced_config advanced{};
};

} // namespace colimit
