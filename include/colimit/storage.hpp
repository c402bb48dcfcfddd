// SPDX-License-Identifier: BSL-1.0
//
// The storage layout of a policy's state on the server, chosen per policy.

#pragma once

#include <cstdint>
#include <string_view>

namespace colimit {

/// How a policy's state is stored in Redis. The in-process store makes no difference, except that
/// it rejects the same calls.
enum class storage : std::uint8_t {
    /// One Redis key per key: it can be inspected, has its own TTL, and is evicted alone when the
    /// server's memory is full.
    per_key,
    /// Many keys per hash; the hashes are replaced once all states in them have recovered. For
    /// limits with very many keys that recover soon it needs less than half the memory and a
    /// quarter less of the server's time. It saves most if the policy has one rule that is not a
    /// sliding window: then a state is two numbers. The costs:
    ///
    /// - A state is kept from once to twice as long as the slowest rule takes to recover,
    ///   regardless of its use.
    /// - An eviction removes a sixteenth of all states, including their debt.
    /// - `charge` stops at the limit: the balance is never negative.
    /// - `block` and `allow_all` are not supported (`errc::invalid_argument`), nor are rules that
    ///   are a sliding log, or count distinct members or holders of slots
    ///   (`errc::invalid_policy`).
    /// - A rule that is changed to recover more slowly finds only the states that still exist: at
    ///   least the use within the former recovery time.
    /// - A policy whose storage is changed starts without state.
    shared_hash,
};

/// Returns `per_key` or `shared_hash`.
[[nodiscard]] std::string_view to_string(storage s) noexcept;

} // namespace colimit
