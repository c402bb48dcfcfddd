// SPDX-License-Identifier: BSL-1.0
//
// Plans and filters as bytes: what the scripts unpack, and what distinguishes two policies. All
// numbers are little-endian; those of the arithmetic are doubles (f64), which hold them exactly.
//
//   plan    rules:u8 slots:u8 flags:u8 (1: shadow, 2: packed), then for each slot
//           tag:u32 kind:u8 flags:u8 (1: shadow, 2: counts refused)
//           capacity num den unit most period count offset initial calendar (f64)
//           then, if it is packed, generation (f64)
//   filter  words:u8 age:f64 block_bytes:f64

#ifndef COLIMIT_CORE_POLICY_ENCODING_HPP
#define COLIMIT_CORE_POLICY_ENCODING_HPP

#include <core/bloom.hpp>
#include <core/compiled_policy.hpp>

#include <string>

namespace colimit::core {

[[nodiscard]] std::string encode_policy(const compiled_policy& rules);
[[nodiscard]] std::string encode_filter(const bloom_shape& shape);

} // namespace colimit::core

#endif
