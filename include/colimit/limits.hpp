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
inline constexpr std::size_t rules_per_policy = 8;

/// Characters of a prefix, policy or rule name, each of `[A-Za-z0-9_.-]`. Names are part of every
/// key in Redis, so they are kept short and free of characters that mean something to a server.
inline constexpr std::size_t name_length = 64;

/// Bytes of a key that are stored as they are; a longer key is replaced by a 128-bit digest, so
/// that what a client sends cannot fill the server's memory.
inline constexpr std::size_t plain_key_bytes = 256;

/// Bytes of the longest key that is accepted at all; a longer one is `errc::invalid_key`.
inline constexpr std::size_t key_bytes = std::size_t{64} * 1024;

/// The largest integer of the arithmetic. Lua's numbers are doubles, exact up to here.
inline constexpr std::int64_t exact_integer = (std::int64_t{1} << 53) - 1;

/// The latest time that the arithmetic accepts, in microseconds since 1970: the year 2112.
inline constexpr std::int64_t latest_time = std::int64_t{1} << 52;

/// The longest time from empty to full recovery that a rule may have: a hundred years. A time and a
/// recovery together still stay exact.
inline constexpr std::chrono::microseconds longest_recovery = std::chrono::hours{24} * 36525;

/// `charge` stops adding debt when it would take longer than this to recover (or 2^52 ticks), so
/// that no sequence of charges locks a key out for ever.
inline constexpr std::chrono::microseconds longest_debt = std::chrono::hours{24} * 366;

/// Characters of a rule text that the parser reads: eight rules with the longest numbers and names
/// are 1,300.
inline constexpr std::size_t rule_text_bytes = 2048;

/// Characters of a server address that the parser reads.
inline constexpr std::size_t address_bytes = 4096;

} // namespace colimit::limits

#endif
