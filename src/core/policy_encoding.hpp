// SPDX-License-Identifier: BSL-1.0
//
// Compiled policies and filters as bytes. The scripts unpack them, and equal bytes identify equal
// policies. All numbers are little-endian; those of the arithmetic are exact doubles (f64).
//
//   policy  rules:u8 slots:u8 flags:u8 (1: shadow, 2: packed), then for each slot
//           tag:u32 kind:u8 flags:u8 (1: shadow, 2: counts denied)
//           capacity num den unit most period count offset initial calendar (f64)
//           then, if it is packed, generation (f64)
//   filter  words:u8 ttl:f64 block_bytes:f64

#pragma once

#include <core/bloom.hpp>
#include <core/compiled_policy.hpp>

#include <string>

namespace colimit::core {

[[nodiscard]] std::string encode_policy(const compiled_policy& rules);
[[nodiscard]] std::string encode_filter(const bloom_shape& shape);

} // namespace colimit::core
