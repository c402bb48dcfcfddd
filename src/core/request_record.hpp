// SPDX-License-Identifier: BSL-1.0
//
// What a store remembers of a call with an id, so that the same call gets the same answer again and
// is charged once. It has all that the decision was made from; so the decision is not stored, but
// computed again.
//
//   record  'r' verb:u8 found:u8 cost:f64 at_least:f64 policy:u64 member:u64 now:f64, then the
//           key's value as it was before the call (core/state_encoding.hpp), then the facts that
//           the reply had for the call (redis/script/wire.hpp); found is 0 and the value empty if
//           there was none
//
// `policy` and `member` are digests. All numbers are little-endian.

#pragma once

#include <core/call_fault.hpp>
#include <core/evaluate.hpp>
#include <core/state_encoding.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::core {

/// The parts of a call that are compared as digests, in the form in which records have them.
struct call_digests {
    std::uint64_t policy = 0; ///< its version, `policy_data::version`
    std::uint64_t member = 0; ///< 0 if the policy counts none

    friend bool operator==(const call_digests&, const call_digests&) = default;
};

struct request_record {
    detail::verb verb{};
    std::int64_t cost = 0;
    std::int64_t at_least = 0;
    call_digests digests{};
    std::int64_t now = 0;                    ///< the time of the decision
    std::optional<std::string_view> value{}; ///< of the key, before the call
    std::string_view facts{};
};

inline constexpr std::size_t record_head_bytes = 43;
inline constexpr std::size_t max_record_bytes =
    record_head_bytes + 32 * limits::max_rules_per_policy + max_value_bytes;

void append_record(std::string& out, const request_record& r);

/// Decodes a record, which is a view of `bytes`; nullopt if it is not one. It has facts and a value
/// only if it is of this version of the policy.
/// @param fact_bytes the size of a call's facts under the policy
[[nodiscard]] std::optional<request_record>
decode_record(std::string_view bytes, std::uint64_t policy, std::size_t fact_bytes) noexcept;

/// Returns whether these may be the bytes of a record: what the script tests.
[[nodiscard]] constexpr bool is_like_record(std::string_view bytes) noexcept {
    return bytes.size() >= record_head_bytes && bytes.size() <= max_record_bytes &&
           bytes.front() == 'r';
}

/// Returns how a call differs from the one that was remembered under its id; none if it is the
/// same.
[[nodiscard]] detail::fault difference(const request_record& r, const call_request& request,
                                       const call_digests& digests) noexcept;

} // namespace colimit::core
