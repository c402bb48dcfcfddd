// SPDX-License-Identifier: BSL-1.0
//
// Compiled policies and filters as bytes. The scripts unpack them, and equal bytes identify equal
// policies. All numbers are little-endian; those of the arithmetic are exact doubles (f64).
//
//   policy  rules:u8 limits:u8 flags:u8 (1: shadow, 2: packed, 4: bare keys), then for each limit
//           tag:u32 kind:u8 flags:u8 (1: shadow, 2: counts denied)
//           capacity num den unit debt_max period count offset initial calendar (f64)
//           then, if it is packed, generation (f64)
//   filter  words:u8 ttl:f64 block_bytes:f64

#pragma once

#include <core/bloom.hpp>
#include <core/compiled_policy.hpp>

#include <string>
#include <string_view>

namespace colimit::core {

[[nodiscard]] std::string encode_policy(const compiled_policy& rules);
[[nodiscard]] std::string encode_filter(const bloom_shape& shape);

/// Decodes the policy at the beginning of `bytes`, and removes it from there; more may follow. Only
/// bytes that `encode_policy` makes of a policy of `compile_policy`, or of `once`, are accepted. So
/// the arithmetic is safe with every policy that this returns.
/// @throws colimit::error errc::invalid_policy, naming the rule and the reason
[[nodiscard]] compiled_policy decode_policy(std::string_view& bytes);

/// Decodes a filter. The bytes do not contain the number of its blocks, which is 1 in the result,
/// or its capacity.
/// @throws colimit::error errc::invalid_policy, with the reason
[[nodiscard]] bloom_shape decode_filter(std::string_view bytes);

} // namespace colimit::core
