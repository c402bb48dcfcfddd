// SPDX-License-Identifier: BSL-1.0
//
// Every bound of the library in one place, each with its reason. Nothing in colimit grows with what
// strangers send: hitting one of these is a clear error or a documented verdict.

#ifndef COLIMIT_LIMITS_HPP
#define COLIMIT_LIMITS_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace colimit::limits {

/// Rules in one policy. Eight fit in one cache-friendly value, and nobody could explain nine.
inline constexpr std::size_t max_rules_per_policy = 8;

/// Characters of a prefix, policy or rule name, each of `[A-Za-z0-9_.-]`. Names are part of every
/// key in Redis, so they are kept short and free of characters that mean something to a server.
inline constexpr std::size_t max_name_length = 64;

/// Bytes of a key that are stored as they are; a longer key is replaced by a 128-bit digest, so
/// that what a client sends cannot fill the server's memory.
inline constexpr std::size_t plain_key_bytes = 256;

/// Bytes of the longest key that is accepted at all; a longer one is `errc::invalid_key`.
inline constexpr std::size_t max_key_bytes = std::size_t{64} * 1024;

/// Misses in a row after which a server is not asked any more but probed: turns of the loop in
/// which calls passed their deadline though they had been sent in time, connections that were lost
/// or could not be made, replies that say that the server is busy. One slow moment is not an
/// outage; five are.
inline constexpr int breaker_misses = 5;

/// Probes in a row that a server must answer in time before it is asked again.
inline constexpr int breaker_probes = 2;

/// How long a connection that was idle may stay silent at least before it is replaced, if
/// `config::timeout` is shorter: a server that forks to save a large data set is silent for a
/// quarter of a second and is not lost.
inline constexpr std::chrono::milliseconds ping_timeout{250};

/// Bytes of one part of a `key` that are written as they are; a digest stands for a longer one, so
/// that the others stay readable.
inline constexpr std::size_t max_key_part_bytes = 128;

/// The largest integer of the arithmetic. Lua's numbers are doubles, exact up to here.
inline constexpr std::int64_t max_exact_integer = (std::int64_t{1} << 53) - 1;

/// The latest time that the arithmetic accepts, in microseconds since 1970: the year 2112.
inline constexpr std::int64_t max_time = std::int64_t{1} << 52;

/// The longest time from empty to full recovery that a rule may have: a hundred years. A time and a
/// recovery together still stay exact.
inline constexpr std::chrono::microseconds max_recovery = std::chrono::hours{24} * 36525;

/// `charge` stops adding debt when it would take longer than this to recover (or 2^52 ticks), so
/// that no sequence of charges locks a key out for ever.
inline constexpr std::chrono::microseconds max_repayment = std::chrono::hours{24} * 366;

/// Checks in one `allow_all`, all of which a server decides while everybody else waits.
inline constexpr std::size_t max_checks = 64;

/// The largest limit of a sliding log, which remembers every charge: 100,000 of them are some
/// 10 MB in a server.
inline constexpr std::int64_t max_log_events = 100'000;

/// How far a calendar rule may be ahead of UTC or behind it. No place on Earth is beyond 14 h.
inline constexpr std::chrono::minutes max_utc_offset = std::chrono::hours{18};

/// What a Bloom filter may hold in one age: a thousand million ids are 1.6 GB at 1 %.
inline constexpr std::int64_t max_filter_ids = 1'000'000'000;

/// The error of a Bloom filter. Below one in a million exact records are little larger.
inline constexpr double min_error_rate = 0.000001;
inline constexpr double max_error_rate = 0.5;

/// The age of a Bloom filter: keys live for whole milliseconds, and three ages after any time must
/// stay exact.
inline constexpr std::chrono::microseconds min_filter_ttl = std::chrono::milliseconds{1};
inline constexpr std::chrono::microseconds max_filter_ttl = std::chrono::hours{24} * 366;

/// Bloom filters of one in-process store that know any id. They are made by programs, not by
/// strangers; a program that makes one for each stranger is told so.
inline constexpr std::size_t max_local_filters = 1'000;

/// Characters of a rule text that the parser reads: eight rules with the longest numbers and names
/// and every refinement are 1,806.
inline constexpr std::size_t max_rule_text_bytes = 2048;

/// Policies in a set: more than any server has, and a document of them is read in a moment.
inline constexpr std::size_t max_policies = 1'000;

/// Bytes of a JSON document of policies. As many policies with the longest texts are 2 MB.
inline constexpr std::size_t max_json_bytes = std::size_t{4} * 1024 * 1024;

/// Levels of arrays and objects in such a document: the fields of a rule are in the fifth. A little
/// more, so that a slip is refused by its path.
inline constexpr std::size_t max_json_depth = 8;

/// Members of one object or elements of one array in such a document: a little more than there are
/// policies, so that one too many is refused by its count.
inline constexpr std::size_t max_json_members = 1'024;

/// Values in such a document. A policy of eight objects with every field there is has fewer than
/// 128; in memory a value takes 20 bytes beside its texts.
inline constexpr std::size_t max_json_values = max_policies * 128;

/// Bytes of the text of a `problem`: the words of a server, which may be of any length, with room
/// for the names of all commands that it denies.
inline constexpr std::size_t max_problem_bytes = 512;

/// Characters of a server address that the parser reads.
inline constexpr std::size_t max_address_bytes = 4096;

} // namespace colimit::limits

#endif
