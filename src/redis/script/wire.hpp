// SPDX-License-Identifier: BSL-1.0
//
// The encoding of calls and facts, which are exchanged with the script besides policies
// (core/policy_encoding.hpp) and the values of keys (core/state_encoding.hpp). All numbers are
// little-endian; those of the arithmetic are doubles (f64), which hold them exactly.
//
//   calls  for each run of equal calls   key:u16 verb:u8 times:u16 cost:f64 at_least:f64, and if
//          the policy has a distinct rule  size:u16 and as many bytes of the member; if it has a
//          concurrent rule, the same of the holder's id, empty if the verb has none; if the calls
//          have ids  policy:u64 member:u64, the digests of core/request_record.hpp
//   ids    for each id of a Bloom filter   block:u16, plus `asks_only` for `probably_seen`; then
//          for the first and the last byte of its line the position as text, because Redis's
//          commands take text, after its size:u8, and its bits in that line. Plus `counts_bits` for
//          `filter_status`: then these are the first and the last byte of a part of the block, and
//          no bits
//   facts  for each call and each log, distinct or concurrent rule  t debt num capacity (f64)
//
// Packed states are in two generations of hashes. A write is kept for the current one and the next,
// so for as long as the slowest rule takes to recover: a state in neither is equivalent to no
// state. The first write after a generation renames the new hash to the old one. So a denial writes
// nothing, no key needs a TTL of its own, and a policy whose period changes finds its states. It
// works because debt never exceeds the limit: `charge` stops there, `block` is refused, and `wait`
// reserves nothing. The numbers that all states of a rule share are in the head of their hash; a
// state that was written with other numbers has its own. The head also has the longest generation
// that was written under it, and that of the old hash, so that a version with a shorter generation
// deletes neither too early.

#pragma once

#include <core/bloom.hpp>
#include <core/compiled_policy.hpp>
#include <core/evaluate.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace colimit::redis {

/// Appends a call, made `times` times in a row, on the key with index `key` in the batch.
void append_call(std::string& out, std::uint16_t key, std::uint16_t times,
                 const core::call_request& request);

/// Appends the number of calls on a key, if all calls are an allow of cost 1.
/// @param wide in two bytes
void append_times(std::string& out, std::uint16_t times, bool wide);

/// The largest number of bytes that `append_call` appends, and more than an id of a filter takes
/// besides its mark.
inline constexpr std::size_t call_bytes = 21;

/// Added to the number of the block of an id that is looked up and not recorded. A batch has fewer
/// blocks.
inline constexpr std::uint16_t asks_only = 0x4000;
/// Added to the number of a block whose set bits are counted.
inline constexpr std::uint16_t counts_bits = 0x8000;

/// Appends the number of an id's block in the batch.
void append_block(std::string& out, std::uint16_t block, core::verb v);

/// Appends the position of an id's line and the id's bits in it.
void append_mark(std::string& out, const core::bloom_shape& shape, const core::bloom_bits& mark);

/// Appends the position of the part of each block whose bits are counted, instead of a mark.
void append_sample(std::string& out, const core::bloom_shape& shape);

/// Reads and removes the numbers of bits that are set in a block, of the current and the previous
/// generation. Returns false if they are not valid.
[[nodiscard]] bool take_bits(std::string_view& answers, const core::bloom_shape& shape,
                             std::array<std::int64_t, 2>& set) noexcept;

/// Reads and removes an id's result: '1' for seen, or '0'. Returns false if it is neither.
[[nodiscard]] bool take_seen(std::string_view& answers, bool& seen) noexcept;

/// Returns the family of the bitmaps of even (0) or odd (1) generations. It has a digest of the
/// filter's numbers: with other numbers, an id has other bits.
[[nodiscard]] std::array<char, 10> bitmap_family(const core::bloom_shape& shape,
                                                 std::size_t parity) noexcept;

/// Returns the size of a call's facts in bytes.
[[nodiscard]] std::size_t fact_bytes(const core::compiled_policy& rules) noexcept;
/// Reads a call's facts, `fact_bytes` bytes, into the states of their rules; returns false if they
/// are not valid numbers.
[[nodiscard]] bool decode_facts(const core::compiled_policy& rules, std::string_view facts,
                                std::span<core::rule_state> states) noexcept;

} // namespace colimit::redis
