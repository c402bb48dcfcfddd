// SPDX-License-Identifier: BSL-1.0
//
// The members of `config::advanced`: how calls are executed, connections, caches, bounds and
// clocks.

#pragma once

#include <colimit/audit_record.hpp>
#include <colimit/credentials.hpp>
#include <colimit/decision.hpp>
#include <colimit/module_use.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace colimit {

/// How calls are executed on the server.
enum class execution_mode : std::uint8_t {
    /// With a script: every rule and verb, atomically. A denied call writes nothing.
    script,
    /// With the same script as functions that an administrator has loaded, for servers where EVAL
    /// and SCRIPT LOAD are forbidden (Redis 7.0 or Valkey 7.2 and later): everything that `script`
    /// can do, on the same keys. Limiters of both modes may run at the same time and share their
    /// counts.
    ///
    /// The file `share/colimit/colimit.lua` is the library of these functions. `redis-cli -x
    /// FUNCTION LOAD REPLACE < colimit.lua` loads it: on the server; behind Sentinel on the master,
    /// whose replicas copy it; in a cluster on each master. Servers save it with their data; one
    /// that saves nothing needs it again after each start. The names in it contain its version, so
    /// several versions may be loaded at the same time: load the new one before the first process
    /// that needs it starts.
    ///
    ///   - If a server lacks the library of this version, `ready` fails with `errc::invalid_config`
    ///     and `limiter::last_error` names the library. Calls end with this code in every failure
    ///     mode, uncharged. The server is tried again after `reconnect_delay_max` at the
    ///     latest; so once the library is loaded, the limiter works.
    ///   - If the library is deleted later, calls that find it missing wait until a new connection
    ///     finds the same, or their deadline; later ones end at once. None is executed twice.
    ///   - A server that refuses all writes calls no function: peek and denials fail there, too.
    ///     Neither there nor on a server over its `maxmemory` does `ready` notice a missing
    ///     permission for another command than FCALL; calls end with `errc::auth_failed`.
    function,
    /// With MULTI, for servers without scripting. Sliding logs and fixed windows only; no script is
    /// ever sent.
    ///
    /// A call is recorded first and counted afterwards; a denied one is then removed, or stays in a
    /// log with `.count_denied()`. Until it is removed it counts, so two calls that race for the
    /// last token may both be denied, but never both allowed; if the process or its connection ends
    /// before that, the call counts for one period, or to the end of the window. A denied call also
    /// starts an empty window of a rule with `.from_first()`, which then ends a period after it and
    /// not after the first charge. Times are taken from the clock of this process, corrected to the
    /// server's clock, which every write reads: `decision::server_time` is the earliest possible
    /// server time, and a token of a log returns later by the uncertainty of that clock, usually a
    /// round trip and a thousandth of the time since the last call. Limiters that share counters
    /// should have the same `config::timeout`: calls that are in flight for up to that long are
    /// counted
    /// correctly.
    ///
    ///   - Policies of sliding logs and fixed windows are supported, without prevent_duplicate and
    ///     packed storage; others are `errc::invalid_policy`.
    ///   - allow, peek, charge, refund, reset, wait and allow_many are supported; other verbs and
    ///     calls with ids are `errc::invalid_argument`.
    ///   - A log's cost of n is n members of a sorted set, some 80 bytes each. `charge`, and
    ///     `allow` where all rules are shadows, take at most `limits::max_log_events`, and a policy
    ///     that counts denied calls makes no partial grants: `errc::invalid_argument`.
    ///   - A policy that counts denied calls keeps the newest 2 * limit + 16 events: a refund of
    ///     more than these also cancels debt of older charges.
    ///   - A fixed window is one key with a number, as INCR and PEXPIRE would keep it, and ends
    ///     with the key: `prefix:{tag}:policy:w:rule:k:key`. Its period is a whole number of
    ///     milliseconds, or `errc::invalid_policy`; a window with `from_first()` may last up to a
    ///     millisecond longer. The server ends it according to its own clock, so a supplied `now`
    ///     is `errc::invalid_argument`; so is `refund`, which could make the number negative. A
    ///     number without a TTL gets one.
    ///   - A call on a fixed window that reaches the server so late that two of its windows and
    ///     `timeout` have passed is denied, with a `retry_after` of a few milliseconds.
    ///   - If the server clock is set back by more than a period and a minute, all counts of logs
    ///     are lost; if it is set back by less, they last longer by that time. A fixed window lasts
    ///     for at most one more period then.
    ///
    /// This mode uses other keys than the others and shares no counts with them. The user must be
    /// allowed to run ECHO, TIME, CLIENT ID, MULTI, EXEC, ZADD, ZREM, ZREMRANGEBYSCORE, ZREVRANGE,
    /// ZCOUNT, PTTL and PEXPIRE; without one of them `ready` fails with `errc::auth_failed`.
    /// Policies that count denied calls, and refund and reset of logs, also need ZREMRANGEBYRANK.
    /// Fixed windows also need SET, INCRBY, DECRBY, PEXPIREAT and RENAMENX, GET for peek and a cost
    /// of 0, and GETDEL for reset. INFO and PERSIST are used if they are allowed.
    multi,
};

/// The options of a limiter whose defaults suit most services. Like those of `config`, they are
/// validated by the limiter's constructor.
struct advanced_config {
    /// Returns user and password for Sentinels; without it none are sent to them. Called as
    /// `config::credentials` is, for each connection to a Sentinel. Only with an address of
    /// Sentinels.
    std::function<colimit::credentials()> sentinel_credentials{};

    /// Returns whether a node of a cluster may be connected to; empty by default: every one. Called
    /// with the host and port of the nodes in `config::server`, and of those that other nodes name
    /// in maps and redirections. Calls whose keys only a forbidden node serves end with
    /// `errc::unavailable`. It runs on the limiter's executor and must not block, throw or call the
    /// limiter. Only with an address of a cluster.
    std::function<bool(std::string_view host, std::uint16_t port)> may_connect{};

    /// The number of tags in the names of keys: a power of two, 1 to 16,384. A cluster hashes only
    /// the tag, so keys are in so many of its slots, which are equally far apart. Limiters share
    /// counters only if they have the same number, also on one server: another number gives most
    /// keys another name, and their counts start afresh.
    ///
    /// With N masters and T tags, the busiest master has ceil(T / N) tags, and N times that divided
    /// by T of the average load: the default suits up to 16 masters, and four tags per master are
    /// enough. But a batch has keys of one tag on a cluster, so more tags make more and smaller
    /// batches: a server spends 2.7 us per check in batches of 16 keys, 4.0 with 4 keys and 7.7
    /// with one. A batch that waits takes 1 KiB with one call, at most 2 with four and 30 with 96:
    /// so up to 32 MiB if 65,536 calls for keys of all 16,384 tags wait at a time. On one server,
    /// or behind Sentinel, the number makes no difference to speed; with packed storage, fewer tags
    /// than eight are as many hashes.
    std::size_t hash_tags = 64;

    /// The time for connecting to the server, the TLS handshake and the Redis handshake together: 1
    /// ms to 1 h. If a host name has several addresses, they are tried in sequence, each for an
    /// equal share of this time, and the next attempt begins with the addresses that have not
    /// failed. Asio resolves the names of all limiters of a context on one thread, one after the
    /// other: a name whose resolver is silent delays the connections of the others.
    std::chrono::milliseconds connect_timeout{1000};

    /// A connection on which no reply is outstanding, and which has been idle for this long, is
    /// checked with a PING: 1 ms to 1 h, or 0 for never. If such a PING, or a call made after half
    /// a second without traffic, gets no reply within `config::timeout` (at least
    /// `limits::ping_timeout`), the connection is replaced. So a connection that a firewall or a
    /// load balancer has dropped is usually replaced before a call needs it. A busy connection is
    /// never sent a PING. An ACL that denies PING disables the checks.
    std::chrono::milliseconds ping_interval{500};

    /// With TCP, the idle time after which the system sends keep-alive probes: 1 s to 1 h, or 0 for
    /// none. On Linux, if `tcp_user_timeout` is at most that long, the connection ends if the first
    /// probe is not acknowledged by the time of the second, a third of this later. If
    /// `tcp_user_timeout` is 0, it ends after three probes in a row. `ping_interval` notices
    /// earlier; this is for limiters without it.
    std::chrono::seconds tcp_keep_alive{15};

    /// With TCP, how long sent data may stay unacknowledged by the server's system before the
    /// connection ends (TCP_USER_TIMEOUT of Linux; no effect elsewhere): 1 ms to 1 h, or 0 for the
    /// system's own limit, about 15 min. The system of a server that is frozen or busy still
    /// acknowledges, but only what it has room for. If more requests wait there unread than its
    /// receive window holds (64 KiB for a new connection with Linux's defaults), this time counts
    /// for probes of the full window, too: the connection ends, and calls in flight complete with
    /// `errc::outcome_unknown`. Six batches of 96 calls are that large if keys or ids have more
    /// than about 100 bytes, and so are batches of many calls of `acquire`. So with a
    /// `config::timeout` of seconds and such calls, choose a value that is longer than the server
    /// may stand still, or 0.
    std::chrono::milliseconds tcp_user_timeout{1000};

    /// The pauses between attempts to connect double from the first value to the second, each with
    /// a random jitter between half and all of it: 1 ms to 1 h, the second at least the first. So a
    /// server that has recovered is noticed about as long after that as it was away, and within the
    /// second value; with the default, at most 15 % of many clients return in the same 100 ms if it
    /// was away for 3 s or more, and a quarter of them after 1 s. If the server rejects this client
    /// (credentials, too many clients), or its certificate is not trusted, each pause has the
    /// second value. The pauses between probes of a server that does not answer on a connection are
    /// the same, but at most `limits::probe_pause_max`.
    ///
    /// After `limits::breaker_failures` failures in a row the circuit breaker opens: calls fail
    /// with `errc::unavailable` immediately, which `config::on_failure` decides, until the server
    /// has answered probes in time. On a cluster each node has a breaker, and so have the search
    /// for the nodes, and the keys of one tag whose calls nodes reject or send to each other; calls
    /// that are let through after pauses are the probes of these.
    std::chrono::milliseconds reconnect_delay_min{10};
    std::chrono::milliseconds reconnect_delay_max{1500};

    /// The number of calls that may be incomplete at a time, on a cluster per node: 1 to
    /// 16,777,216. One more completes with `errc::too_many_in_flight`. The limiter's own calls,
    /// which renew and release slots and give reservations back, may be as many again. The default
    /// is far above the number of calls that a server decides within one timeout. A call with a
    /// short key takes about 1.1 KiB while it waits to be sent; one that shares no request with
    /// others, as it is an `allow_all` or has a time of its own, 2 to 5 KiB. About 1 KiB of that is
    /// kept for later calls.
    std::size_t max_in_flight = 65'536;

    /// The number of calls of `wait`, and of `acquire` with `max_wait`, that may be incomplete at a
    /// time, both those that ask the store and those that wait: 1 to 16,777,216. One more completes
    /// with `errc::too_many_in_flight` in every failure mode; nothing is requested for it, so
    /// nothing is charged. Each takes about 1.2 KiB and its key.
    std::size_t max_waiting = 65'536;

    /// Whether calls are executed with a script, with functions where EVAL is forbidden, or with
    /// MULTI where scripting is off. It makes no difference to `memory:`.
    execution_mode mode = colimit::execution_mode::script;

    /// Whether the server module executes calls instead, where a server has it. `required` needs
    /// `execution_mode::script` or `function`; with `multi` the module is not used. It makes no
    /// difference to `memory:`.
    module_use server_module = module_use::if_available;

    /// The number of different keys per script call, or of calls per write with
    /// `execution_mode::multi`: 1 to 1,024. Larger batches block the other clients of the server
    /// for longer; smaller ones spend more time on the fixed cost of a script call.
    std::size_t batch_size = 96;

    /// Batches in flight, 1 to 64. While that many are, the next one fills. A server reads 16 KiB
    /// at a time and replies to all of it at once, so with less than that in flight it would be
    /// idle while its replies travel. Six full batches of keys whose names have 30 characters are
    /// 22 KB; with many more, all of them would be small.
    std::size_t batches_in_flight = 6;

    /// The number of denials that are cached, so that a flood of denied calls costs the server
    /// nothing: 0 (none) to 16,777,216. Until a denial's `retry_after` has passed, less a
    /// thousandth and the time that its request travelled, the same call and calls with a larger
    /// cost are denied without a request to the server: `decision_source::deny_cache`, with
    /// `retry_after` and `reset_after` counted down and `remaining` as in the server's decision.
    /// Any other operation by this limiter on the key invalidates the entry: refunds, resets,
    /// grants (also those of `allow_all`), charges, calls with other rules, and calls whose outcome
    /// is unknown. So does any later reply about the key, such as that of a `peek`, unless it is a
    /// denial under the same rules, which replaces the entry. Changes by other processes become
    /// visible when the cached denial expires, at most `deny_cache_max_age` later.
    ///
    /// Used for `allow` and `allow_many` without a supplied clock and without ids, under policies
    /// without `distinct` and without `count_denied`; not with `execution_mode::multi` or
    /// `memory:`. A full cache takes about 300 bytes per entry, and its pages are allocated as they
    /// are used; in a full cache a new denial replaces another.
    std::size_t deny_cache = 65'536;

    /// The longest time that a denial is cached, counted from when its request was sent: 1 ms to 1
    /// h. Then the next call goes to the server, even if the denial's `retry_after` has not passed.
    /// A longer time saves requests; with a shorter one, refunds and resets by other processes
    /// become visible earlier.
    std::chrono::milliseconds deny_cache_max_age{1000};

    /// The number of keys that may have a lease, under policies `with_leases`, and of keys whose
    /// calls are counted to see whether one is worth it: 0 to 16,777,216. With 0, all calls of this
    /// limiter ask the store; the policies keep their lower capacities. A full table takes about
    /// 300 bytes per entry, and its pages are allocated as they are used; in a full table a key
    /// without a lease loses its entry first.
    ///
    /// Used for `allow` and `allow_many` without a supplied clock, without ids and without partial
    /// grants, under policies without shadow rules; not with `execution_mode::multi` or `memory:`.
    /// If the server is unavailable, the tokens of leases are spent before a failure mode decides.
    /// `close()` lets them lapse.
    std::size_t max_leases = 65'536;

    /// The number of states that the in-process store keeps, one per key and rule: 1 to
    /// 1,073,741,824. With a server address, this is the store of `failure_mode::local`; its memory
    /// is allocated as it is used.
    std::size_t local_max_states = 1'048'576;

    /// The time for which the decision of a call with an id (`check_options::request`) is
    /// remembered, counted from when it is made: 1 s to 24 h, and at least twice `config::timeout`,
    /// so that it is known for as long as the limiter itself sends the call again. Making such a
    /// call again after this time charges it again. In Redis it is time of the server's clock, also
    /// for calls with a supplied one; in process, of the calls.
    std::chrono::milliseconds request_ttl = std::chrono::minutes{5};

    /// The shortest TTL of keys in Redis, for replays, whose supplied clock may run slower than the
    /// server clock: 0 to 366 days. Without it a key lives as long as its state matters, and at
    /// most twice that plus one second.
    std::chrono::milliseconds min_key_ttl{0};

    /// The RESP version to request, 2 or 3. If the server does not support 3, 2 is used.
    int resp_version = 3;

    /// The clock of calls without a supplied `now`, for tests of code that uses a limiter; empty by
    /// default: the clock of the store. It must not throw, and with `config::thread_safe` it may be
    /// called by several threads. As with supplied times, there is no deny cache then, the keys of
    /// other limiters should not be used, and `wait` waits in real time.
    std::function<time_point()> clock{};

    /// The calls for which `config::on_decision` is called; by default every one.
    colimit::audit_sampling audit_sampling{};
};

} // namespace colimit
