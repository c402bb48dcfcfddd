// SPDX-License-Identifier: BSL-1.0
//
// The representation of a policy: its rules, their compiled form, and the bytes that
// the scripts read. Immutable and shared.

#pragma once

#include <colimit/detail/access.hpp>
#include <colimit/policy.hpp>
#include <core/bloom.hpp>
#include <core/compiled_policy.hpp>
#include <hash/process_secret.hpp>
#include <hash/siphash.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::detail {

/// The name of the policy that shares the states of the commands COLIMIT.ALLOW and CL.THROTTLE: its
/// keys are the names of keys in Redis.
inline constexpr std::string_view command_policy = "CL.THROTTLE";

struct policy_data {
    std::string name;
    std::vector<rule> rules;
    policy_options options;
    core::compiled_policy compiled;
    /// Leases may decide calls: not with shadow rules, whose reports are those of the store.
    bool may_lease = false;
    /// The shape of a Bloom filter, which has no rules; its keys are ids.
    std::optional<core::bloom_shape> filter;
    /// The policy or the filter, in the form that its script unpacks.
    std::string wire;
    /// A digest of these bytes, which is the same in every process: it tells versions apart.
    std::uint64_t version = 0;
    /// Identifies the state, the rules and the leases: policies with equal identities are
    /// interchangeable.
    std::string identity;
    /// A hash of the identity.
    std::uint64_t fingerprint = 0;
    /// The name in the keys of the in-process store.
    hash::digest id;
    /// The hash state at the beginning of all digests of its keys, computed once.
    hash::key_hash begun{hash::digest{}};

    /// Returns whether it denies any call: a part of it is not in shadow mode.
    [[nodiscard]] bool may_deny() const noexcept {
        return !std::ranges::all_of(compiled.all(), &core::compiled_rule::shadow);
    }

    void identify(std::string_view as) {
        id = hash::name_digest(as);
        begun = hash::begin_key_hash(hash::process_secret(), id);
    }

    /// Returns the digest by which this process looks up a key under the policy.
    [[nodiscard, gnu::always_inline]] hash::digest digest(std::string_view key) const noexcept {
        return hash::key_digest(begun, key);
    }

    /// Returns the first part of its keys.
    [[nodiscard]] std::string_view prefix(std::string_view of_limiter) const noexcept {
        return options.has_prefix ? options.prefix.view() : of_limiter;
    }
};

using policy_pointer = std::shared_ptr<const policy_data>;

/// Returns the policy of the ids of `once`, which the whole process shares. It has no name, so that
/// it differs from all policies of users, and no rules, so that its only state is a block.
[[nodiscard]] const policy_pointer& once_policy();

} // namespace colimit::detail
