// SPDX-License-Identifier: BSL-1.0
//
// Warnings about what a document believes of clients.

#include <tool/lint/trust.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

namespace tool::lint {

namespace {

using colimit::keyed_policy;

/// Returns whether the policy has a rule that is not in shadow mode.
[[nodiscard]] bool may_deny(const colimit::policy& p) {
    return !std::ranges::all_of(p.rules(), &colimit::rule::is_shadow);
}

void look_at_keys(std::span<const keyed_policy> policies, std::size_t route,
                  std::vector<finding>& found) {
    const auto is_chosen = [](const keyed_policy& p) { return p.key.is_chosen_by_client(); };
    const auto chosen = std::ranges::find_if(policies, is_chosen);
    if (chosen == policies.end() || std::ranges::any_of(policies, [&](const keyed_policy& p) {
            return !is_chosen(p) && may_deny(p.limit);
        }))
        return;
    found.push_back({problem::invented_key, "routes[" + std::to_string(route) + "]",
                     "a client that invents values has a new key, with a whole limit, for each "
                     "request: the key of each policy that may deny is like '" +
                         to_string(chosen->key) +
                         "' (write verified:header:NAME and set guard_options::verifier, or add a "
                         "policy with the key ip that is not in shadow mode)"});
}

} // namespace

void look_at_trust(const colimit::policy_document& document, std::vector<finding>& found) {
    using colimit::http::forwarding_field;
    if (document.trusted_proxies() != colimit::http::trusted_proxies{} &&
        document.trusted_proxies().field() == forwarding_field::either)
        found.push_back({problem::no_proxy_field, "trusted_proxies",
                         "the field that the proxies write is not named: requests of clients that "
                         "add the other one share a limit (set proxy_field to X-Forwarded-For or "
                         "Forwarded)"});
    for (std::size_t i = 0; i < document.routes().size(); ++i)
        look_at_keys(document.policies_of(i), i, found);
}

} // namespace tool::lint
