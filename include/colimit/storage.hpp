// SPDX-License-Identifier: BSL-1.0
//
// How the state of a policy's keys is laid out on the server: chosen for a policy.

#ifndef COLIMIT_STORAGE_HPP
#define COLIMIT_STORAGE_HPP

#include <cstdint>
#include <string_view>

namespace colimit {

/// Where a policy's state is kept in Redis. In process there is no difference, but the same calls
/// are refused.
enum class storage : std::uint8_t {
    /// A key of Redis for each key: it can be inspected, has its own end, and is what the server
    /// evicts when its memory is full.
    per_key,
    /// Many keys together, in hashes that begin anew once all in them has recovered: for less than
    /// half the memory and a quarter less of the server's time, where a limit has very many keys
    /// that recover soon. Most is saved where a policy has one rule that is no sliding window: then
    /// a state is two numbers. What that costs:
    ///
    /// - A state is kept from once to twice as long as the slowest rule takes to recover, whatever
    ///   its key used of it.
    /// - An eviction takes a sixteenth of all keys' state, and with it what they owe.
    /// - `charge` stops at the limit: nobody owes more.
    /// - There is no `block`, `wait` or `allow_all` (`errc::invalid_argument`), and no rule that is
    ///   a sliding log or counts distinct members (`errc::invalid_policy`).
    /// - A limit made slower finds only what is left of the hashes: at least what was used in the
    ///   time in which the rule recovered before.
    /// - A policy that changes its storage begins with no state.
    shared_hash,
};

/// `per_key` or `shared_hash`.
[[nodiscard]] std::string_view to_string(storage s) noexcept;

} // namespace colimit

#endif
