// SPDX-License-Identifier: BSL-1.0
//
// What a policy is made into: the rules as they were given, the plan that the arithmetic reads, and
// the bytes that the scripts read. Made once, shared, never changed.

#ifndef COLIMIT_POLICY_POLICY_DATA_HPP
#define COLIMIT_POLICY_POLICY_DATA_HPP

#include <colimit/policy.hpp>
#include <core/bloom.hpp>
#include <core/plan.hpp>
#include <hash/process_secret.hpp>
#include <hash/siphash.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::detail {

struct policy_data {
    std::string name;
    std::vector<rule> rules;
    policy_options options;
    core::plan plan;
    /// Instead of rules and a plan, where this is a Bloom filter: its keys are ids.
    std::optional<core::bloom_shape> filter;
    /// The plan or the filter as its script unpacks it.
    std::string wire;
    /// Where the state is and what is asked of it: two policies with equal identities ask the same.
    std::string identity;
    /// A hash of the identity.
    std::uint64_t fingerprint = 0;
    /// Stands for the name in the keys of the in-process store.
    hash::digest id;
    /// What the digests of its keys begin with, so that no call begins anew.
    hash::key_hash begun{hash::digest{}};

    void identify(std::string_view as) {
        id = hash::name_digest(as);
        begun = hash::begin_key_hash(hash::process_secret(), id);
    }

    /// What stands for a key under the policy wherever this process looks it up.
    [[nodiscard, gnu::always_inline]] hash::digest digest(std::string_view key) const noexcept {
        return hash::key_digest(begun, key);
    }

    /// The first part of its keys.
    [[nodiscard]] std::string_view prefix(std::string_view of_limiter) const noexcept {
        return options.has_prefix ? options.prefix.view() : of_limiter;
    }
};

using policy_pointer = std::shared_ptr<const policy_data>;

} // namespace colimit::detail

#endif
