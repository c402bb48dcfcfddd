// SPDX-License-Identifier: BSL-1.0
//
// The value of a key as bytes. All numbers are little-endian; those of the arithmetic are doubles
// (f64), which hold them exactly.
//
//   value  expires:f64, then for each limit except logs  tag:u32 num:f64 capacity:f64  and, if
//          the key is blocked, one more; then for each of them  t:f64 debt:f64
//   brief  of one limit that is packed, unless it is a counter's: t:f64 debt:f64, where the head of
//          the shard has tag, num and capacity
//
// A value of one rule has 44 bytes, the longest string that Redis stores in one allocation with its
// header. `expires` is a time before which the server will not drop the key (0: unknown, or the
// value is packed).
//
// A key has one value, however many rules its policy has. The tag of a rule is made from its name,
// so rules can be added, removed and reordered, and keep their state.
//
// A value is rewritten in place while its key outlives the debt; the TTL is set again when it would
// not, or when it has become too long after a refund. So after every call that writes, the key of a
// bucket lives for at most twice its recovery plus one second, by the state at that time. Windows
// and counters expire one second after they stop mattering, logs an eighth of their longest window
// later.

#pragma once

#include <core/compiled_policy.hpp>
#include <core/state.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace colimit::core {

/// The tag of the state with the end of a key's block: FNV-1a of a family that no rule has.
inline constexpr std::uint32_t block_tag = 0xee0c38eaU;

inline constexpr std::size_t value_head_bytes = 8;
inline constexpr std::size_t fixed_bytes = 20;  ///< tag, num and capacity
inline constexpr std::size_t moving_bytes = 16; ///< t and debt, all of a brief value
inline constexpr std::size_t value_state_bytes = fixed_bytes + moving_bytes;
/// All states of a policy, and a block.
inline constexpr std::size_t max_value_bytes =
    value_head_bytes + (max_states + 1) * value_state_bytes;

/// Reads a whole number (f64) from `least` to 2^53 - 1. Returns false for all else: fractions, NaN,
/// infinities.
[[nodiscard]] bool read_whole(const char* at, std::int64_t least, std::int64_t& out) noexcept;

/// Decodes the value of a key, brief ones with the policy's numbers; nullopt: there is no key.
[[nodiscard]] key_state decode_value(const compiled_policy& rules,
                                     std::optional<std::string_view> value) noexcept;

/// Returns whether a value has the policy's states, and perhaps a block, and nothing else. The
/// value of a key with a name of its own may have other states, as the policy's rules may have
/// changed.
/// @param state that of the value
[[nodiscard]] bool has_only_own_states(const compiled_policy& rules, std::string_view value,
                                       const key_state& state) noexcept;

/// The value of a key, without memory from the heap.
class encoded_value {
  public:
    /// @param state in the form to be stored, as `evaluate` leaves it
    /// @param expires in microseconds since 1970
    encoded_value(const compiled_policy& rules, const key_state& state,
                  std::int64_t expires) noexcept;
    encoded_value(const encoded_value&) = delete;
    encoded_value& operator=(const encoded_value&) = delete;

    operator std::string_view() const noexcept { // NOLINT: it is a text
        return {bytes_.data(), size_};
    }

  private:
    std::array<char, max_value_bytes> bytes_; // NOLINT: the constructor writes `size_` of them
    std::size_t size_;
};

/// The numbers that brief values omit, in the form in which a value has them; zeros if none is
/// brief.
using brief_numbers = std::array<char, fixed_bytes>;

/// Returns whether the states of the policy's only limit have the same numbers, so that values omit
/// them.
[[nodiscard]] bool has_brief_values(const compiled_policy& rules) noexcept;
[[nodiscard]] brief_numbers brief_numbers_of(const compiled_policy& rules) noexcept;

} // namespace colimit::core
