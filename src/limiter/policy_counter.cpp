// SPDX-License-Identifier: BSL-1.0
//
// Names of policies are compared once per policy, not per call.

#include <colimit/limits.hpp>
#include <limiter/policy_counter.hpp>

#include <algorithm>
#include <new>
#include <string>

namespace colimit::detail {
namespace {

/// Returns the name of a policy's counters; a part of it that no name may contain distinguishes
/// what is not a policy.
[[nodiscard]] std::string name_of(const policy_data& policy) {
    if (policy.filter)
        return "filter:" + policy.name;
    return policy.name.empty() ? "(once)" : policy.name;
}

} // namespace

policy_counter::policy_counter(std::size_t capacity) : capacity_(capacity) {
    if (is_on())
        counted_.resize(1);
}

policy_statistics& policy_counter::of(const policy_data& policy) noexcept {
    const auto known = by_fingerprint_.find(policy.fingerprint);
    if (known != by_fingerprint_.end())
        return counted_[known->second];
    try {
        return counted_[find(policy)];
    } catch (const std::bad_alloc&) {
        return counted_.front();
    }
}

/// Returns the index of a policy's counters, which the table then has, too.
std::size_t policy_counter::find(const policy_data& policy) {
    auto name = name_of(policy);
    const auto same_name =
        std::ranges::find(counted_.begin() + 1, counted_.end(), name, &policy_statistics::policy);
    auto index = static_cast<std::size_t>(same_name - counted_.begin());
    if (index == counted_.size()) {
        if (index > capacity_)
            index = 0;
        else
            counted_.emplace_back().policy = std::move(name);
    }
    if (by_fingerprint_.size() >= limits::max_policies)
        by_fingerprint_.clear();
    by_fingerprint_.emplace(policy.fingerprint, index);
    return index;
}

std::vector<policy_statistics> policy_counter::counted() const {
    if (!is_on())
        return {};
    auto all = std::vector<policy_statistics>(counted_.begin() + 1, counted_.end());
    if (counted_.front().ended() != 0) {
        all.push_back(counted_.front());
        all.back().policy = "(other)";
    }
    return all;
}

} // namespace colimit::detail
