// SPDX-License-Identifier: BSL-1.0
//
// Leases that decide no call, and a failure mode that denies none. On a route with several policies
// one `allow_all` checks them, which uses no leases.

#include <tool/lint/idle_fields.hpp>
#include <tool/lint/trust.hpp>

#include <colimit/detail/access.hpp>
#include <policy/policy_data.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace tool::lint {

namespace {

using colimit::policy_document;
using colimit::detail::access;

/// Returns whether there are routes with the policy, and all of them have others, too.
bool is_never_alone(const policy_document& document, const colimit::policy& p) {
    auto has_route = false;
    for (std::size_t i = 0; i < document.routes().size(); ++i) {
        const auto policies = document.policies_of(i);
        if (std::ranges::none_of(policies,
                                 [&](const auto& own) { return own.limit.name() == p.name(); }))
            continue;
        if (policies.size() == 1)
            return false;
        has_route = true;
    }
    return has_route;
}

} // namespace

void look_at_idle_fields(const policy_document& document, std::vector<finding>& found) {
    for (const auto& p : document.policies()) {
        const auto& data = *access::data(p);
        const auto warn = [&](const std::string& field, std::string message) {
            found.push_back({problem::no_effect, "policies." + std::string{p.name()} + field,
                             std::move(message)});
        };
        if (data.options.has_leases && !data.may_lease)
            warn(".leases", "a policy with a rule in shadow mode uses no leases, which only lower "
                            "the bursts of its buckets (remove the field)");
        else if (data.options.has_leases && is_never_alone(document, p))
            warn(".leases",
                 "each route of the policy has several policies, which are checked "
                 "together without leases, so these only lower the bursts of its buckets "
                 "(remove the field)");
        if (data.options.has_failure_mode &&
            data.options.on_failure == colimit::failure_mode::deny && !may_deny(p))
            warn(".on_failure", "deny denies nothing, as the policy is in shadow mode (remove the "
                                "field, or shadow)");
    }
}

} // namespace tool::lint
