// SPDX-License-Identifier: BSL-1.0
//
// A key under a policy, made ready once for who asks about it again and again.

#ifndef COLIMIT_PREPARED_KEY_HPP
#define COLIMIT_PREPARED_KEY_HPP

#include <colimit/policy.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit {

/// What every call for a key works out of key and policy anew, kept: for a connection that has a
/// limit of its own, and for the one key that is everybody's. It serves all limiters of the process
/// and costs what a copy of the key does; benchmark/README.md has what it gains.
///
/// It is for this policy: where a policy is replaced by another of the same name, a new one is to
/// be prepared. Until then calls ask the old rules.
///
/// @par Threads
/// Immutable: one may be used from all threads.
class prepared_key {
  public:
    /// @param key any bytes, at most 64 KiB
    /// @throws colimit::error with `errc::invalid_key`
    prepared_key(std::string_view key, const colimit::policy& p);

    [[nodiscard]] std::string_view key() const noexcept { return key_; }
    [[nodiscard]] const colimit::policy& policy() const noexcept { return policy_; }

    /// What it is looked up by in this process: for the library itself.
    [[nodiscard]] const std::array<std::uint64_t, 2>& digest() const noexcept { return digest_; }

  private:
    std::string key_;
    colimit::policy policy_;
    std::array<std::uint64_t, 2> digest_;
};

} // namespace colimit

#endif
