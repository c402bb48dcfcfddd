// SPDX-License-Identifier: BSL-1.0
//
// The bytes that this process and lua/bucket.lua exchange: plans, calls and the values of keys. All
// numbers are little-endian; those of the arithmetic are doubles, which hold them exactly.
//
//   plan   n:u8, then n times  tag:u32 capacity:f64 num:f64 den:f64 unit:f64 most:f64 shadow:u8
//   calls  for each call       key:u16 verb:u8 cost:f64 at_least:f64
//   value  expires:f64, then n times  tag:u32 t:f64 debt:f64 num:f64 capacity:f64
//
// A value of one rule is 44 bytes, the longest string that Redis keeps in one allocation with its
// header. `expires` is a time before which the server will not drop the key (0: unknown).

#ifndef COLIMIT_REDIS_WIRE_HPP
#define COLIMIT_REDIS_WIRE_HPP

#include <core/evaluate.hpp>
#include <core/plan.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::redis {

[[nodiscard]] std::string encode_plan(const core::plan& rules);

/// Appends one call on the key at place `key` of the batch.
void append_call(std::string& out, std::uint16_t key, const core::question& asked);

/// Reads what the server holds for a key; nothing when there is no key.
[[nodiscard]] core::key_state decode_value(const core::plan& rules,
                                           std::optional<std::string_view> value) noexcept;

/// The value as the script writes it, for tests that compare the two.
[[nodiscard]] std::string encode_value(const core::plan& rules, const core::key_state& state,
                                       std::int64_t expires);

} // namespace colimit::redis

#endif
