// SPDX-License-Identifier: BSL-1.0
//
// A sorted vector: sets are small, made rarely and searched often.

#include <colimit/policy_set.hpp>

#include <colimit/error.hpp>
#include <colimit/limits.hpp>
#include <rule_text/cursor.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace colimit {

policy_set::policy_set(std::vector<policy> policies) : policies_(std::move(policies)) {
    if (policies_.size() > limits::max_policies)
        throw error{errc::invalid_policy, "too many policies (got " + std::to_string(size()) +
                                              ", expected at most " +
                                              std::to_string(limits::max_policies) + ")"};
    std::ranges::sort(policies_, {}, &policy::name);
    const auto twin = std::ranges::adjacent_find(policies_, {}, &policy::name);
    if (twin != policies_.end())
        throw error{errc::invalid_policy,
                    "two policies are named '" + std::string{twin->name()} + "'"};
}

const policy* policy_set::find(std::string_view name) const noexcept {
    const auto found = std::ranges::lower_bound(policies_, name, {}, &policy::name);
    return found != policies_.end() && found->name() == name ? &*found : nullptr;
}

const policy& policy_set::at(std::string_view name) const {
    if (const auto* const found = find(name))
        return *found;
    throw error{errc::invalid_policy, "no policy is named " + text::quoted(name)};
}

} // namespace colimit
