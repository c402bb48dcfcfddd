// SPDX-License-Identifier: BSL-1.0
//
// All bounds of the library, each with its reason. Nothing in colimit grows without bound with
// client input: exceeding one of these is a clear error or a documented decision.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace colimit::limits {

/// Rules per policy. Eight keep the value of a key small, and more would be hard to reason about.
inline constexpr std::size_t max_rules_per_policy = 8;

/// Characters of a prefix, policy or rule name, each of `[A-Za-z0-9._-]`. Names are part of every
/// key in Redis, so they are short and have no characters with a special meaning in Redis.
inline constexpr std::size_t max_name_length = 64;

/// The longest key that is stored literally, in bytes; a longer one is replaced by a 128-bit
/// digest, so that client input cannot fill the server's memory.
inline constexpr std::size_t plain_key_bytes = 256;

/// The longest key that is accepted, in bytes; a longer one is `errc::invalid_key`.
inline constexpr std::size_t max_key_bytes = std::size_t{64} * 1024;

/// Failures in a row after which the circuit breaker opens and the server is only probed:
/// event-loop iterations in which calls passed their deadline although they had been sent in time,
/// connections that were lost or could not be made, replies that say that the server is busy. One
/// slow moment is not an outage; five are.
inline constexpr int breaker_failures = 5;

/// Probes in a row that the server must answer in time before the circuit breaker closes.
inline constexpr int breaker_probes = 2;

/// The longest pause between two probes of a server that does not answer on an open connection,
/// unless `config::advanced.reconnect_delay_min` is longer. A probe is a PING, which costs a server
/// less than a new connection.
inline constexpr std::chrono::milliseconds probe_pause_max{250};

/// The shortest time without a reply after which an idle connection is replaced, even if
/// `config::timeout` is shorter: a server that forks to save a large data set is silent for a
/// quarter of a second and still works.
inline constexpr std::chrono::milliseconds ping_timeout{250};

/// The longest id of a call, in bytes: as long as a key that is stored literally. Stores keep a
/// digest of it.
inline constexpr std::size_t max_request_bytes = 256;

/// The range of the time for which calls with an id are remembered. A shorter one could end while
/// the call is still made again; a longer one would keep the calls of more than a day in memory.
inline constexpr std::chrono::milliseconds min_request_ttl = std::chrono::seconds{1};
inline constexpr std::chrono::milliseconds max_request_ttl = std::chrono::hours{24};

/// The longest part of a `key` that is written literally, in bytes; a longer one is replaced by a
/// digest, so that the other parts stay readable.
inline constexpr std::size_t max_key_part_bytes = 128;

/// The largest integer of the arithmetic. Lua's doubles are exact up to this value.
inline constexpr std::int64_t max_exact_integer = (std::int64_t{1} << 53) - 1;

/// The latest time that the arithmetic accepts, in microseconds since 1970: the year 2112.
inline constexpr std::int64_t max_time = std::int64_t{1} << 52;

/// The longest time from empty to full recovery that a rule may have: a hundred years. The sum of a
/// time and a recovery is still exact.
inline constexpr std::chrono::microseconds max_recovery = std::chrono::hours{24} * 36525;

/// `charge` stops adding debt when it would take longer than this to recover (or 2^52 ticks), so
/// that no sequence of charges blocks a key forever.
inline constexpr std::chrono::microseconds max_repayment = std::chrono::hours{24} * 366;

/// The range of the length of leases. A shorter lease would often end before its reply arrives;
/// with a longer one, changes by other processes would take hours to take effect.
inline constexpr std::chrono::microseconds min_lease = std::chrono::milliseconds{1};
inline constexpr std::chrono::microseconds max_lease = std::chrono::hours{1};

/// The largest limit of a `concurrent` rule, whose holders are remembered: 100,000 take about 10 MB
/// on a server.
inline constexpr std::int64_t max_concurrent = 100'000;

/// The range of the lease of a `concurrent` rule. A shorter one would often end before a renewal
/// arrives; a longer one would block the slots of a crashed process for more than a day.
inline constexpr std::chrono::microseconds min_slot_lease = std::chrono::milliseconds{100};
inline constexpr std::chrono::microseconds max_slot_lease = std::chrono::hours{24};

/// Checks per `allow_all`; the server decides all of them while other clients wait.
inline constexpr std::size_t max_checks = 64;

/// The largest limit of a sliding log, which records charges: 100,000 take 1.5 MB on a server, and
/// 10 MB with `execution_mode::multi`.
inline constexpr std::int64_t max_log_events = 100'000;

/// How far a calendar rule may be ahead of UTC or behind it. No time zone on Earth is beyond 14 h.
inline constexpr std::chrono::minutes max_utc_offset = std::chrono::hours{18};

/// The largest capacity of a Bloom filter, in ids per TTL: a thousand million ids take 1.6 GB at an
/// error rate of 1 %.
inline constexpr std::int64_t max_filter_ids = 1'000'000'000;

/// The range of a Bloom filter's error rate. Below 1e-6, exact records are little larger.
inline constexpr double min_error_rate = 0.000001;
inline constexpr double max_error_rate = 0.5;

/// The range of a Bloom filter's TTL: the TTL of keys is in whole milliseconds, and any time plus
/// three TTLs must stay exact.
inline constexpr std::chrono::microseconds min_filter_ttl = std::chrono::milliseconds{1};
inline constexpr std::chrono::microseconds max_filter_ttl = std::chrono::hours{24} * 366;

/// The part of a Bloom filter whose bits `filter_status` counts, in bytes of each of so many
/// blocks: the server counts them in about a millisecond, and the estimate is within a few
/// thousandths when a larger filter is full.
inline constexpr std::uint32_t sampled_block_bytes = 64 * 1024;
inline constexpr std::uint32_t max_sampled_blocks = 16;

/// Non-empty Bloom filters per in-process store. Filters are meant to be constants of a program;
/// one that makes a filter per client gets an error.
inline constexpr std::size_t max_local_filters = 1'000;

/// The longest rule text, in bytes: eight rules of the greatest length have 1,806.
inline constexpr std::size_t max_rule_text_bytes = 2048;

/// Policies per set: more than any service needs, and a document of so many is parsed in a moment.
inline constexpr std::size_t max_policies = 1'000;

/// Policies of a route, which are checked together.
inline constexpr std::size_t max_route_policies = 8;

/// The longest JSON document of policies, in bytes. `max_policies` with the longest texts are 2 MB.
inline constexpr std::size_t max_json_bytes = std::size_t{4} * 1024 * 1024;

/// Nested arrays and objects in such a document: the fields of a rule are in the fifth level. A
/// little more, so that the error for a misplaced value has its path.
inline constexpr std::size_t max_json_depth = 8;

/// Members of one object or elements of one array in such a document: a little more than
/// `max_policies`, so that the error for too many policies has their number.
inline constexpr std::size_t max_json_members = 1'024;

/// Values in such a document. A policy of eight objects with every possible field has fewer than
/// 128; in memory a value takes 20 bytes plus its text.
inline constexpr std::size_t max_json_values = max_policies * 128;

/// Routes per table: as `max_policies`.
inline constexpr std::size_t max_routes = 1'000;

/// The methods of a route; to match more, it leaves them out and matches all.
inline constexpr std::size_t max_route_methods = 64;
/// The longest path of a route, in bytes, and its segments: routes are compared segment by segment.
inline constexpr std::size_t max_route_bytes = 1'024;
inline constexpr std::size_t max_route_segments = 32;

/// The longest key template, in bytes, and its parts and alternatives together. More than eight
/// would leave each of them few of the `plain_key_bytes`.
inline constexpr std::size_t max_key_template_bytes = 512;
inline constexpr std::size_t max_key_template_parts = 8;

/// Trusted proxies between a client and the server, and networks in which they are. A header field
/// with more hops is read no further.
inline constexpr int max_proxies = 32;
inline constexpr std::size_t max_proxy_networks = 256;

/// The longest text of a `problem`, in bytes: server messages may have any length; this has room
/// for the names of all commands that a server may deny.
inline constexpr std::size_t max_problem_bytes = 512;

/// The longest server address, in bytes.
inline constexpr std::size_t max_address_bytes = 4096;

/// Hosts in a server address with several.
inline constexpr std::size_t max_hosts = 64;

} // namespace colimit::limits
