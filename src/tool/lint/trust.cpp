// SPDX-License-Identifier: BSL-1.0
//
// Warnings about what a document believes of clients.

#include <base/bytes.hpp>
#include <colimit/detail/access.hpp>
#include <http/address_text.hpp>
#include <policy/policy_data.hpp>
#include <tool/lint/trust.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

namespace tool::lint {

namespace {

using colimit::keyed_policy;

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

/// Finds networks of which most hosts are clients: those with more than a /8 of the IPv4 addresses,
/// or than a /17 of the global IPv6 addresses.
[[nodiscard]] bool is_wide(std::string_view text) {
    const auto slash = text.find('/');
    const auto address = colimit::http::parse_address(text.substr(0, slash));
    if (!address || slash == std::string_view::npos)
        return false;
    const auto bits = colimit::detail::read_decimal(text.substr(slash + 1), 128).value_or(128);
    if (colimit::http::canonical(*address).is_v4())
        return bits < (address->is_v4() ? 8U : 104U);
    const auto first = address->to_v6().to_bytes()[0];
    return bits < 17 && (bits < 3 || (first & 0xe0U) == 0x20U);
}

} // namespace

bool may_deny(const colimit::policy& p) noexcept {
    const auto& all = colimit::detail::access::data(p)->compiled;
    return !std::ranges::all_of(all.all(), &colimit::core::compiled_rule::shadow);
}

void look_at_network(std::string_view text, std::size_t i, std::vector<finding>& found) {
    if (is_wide(text))
        found.push_back({problem::wide_proxies, "trusted_proxies[" + std::to_string(i) + "]",
                         "a client in the network " + std::string{text} +
                             " can claim to have any address (expected the networks of the "
                             "proxies alone)"});
}

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
