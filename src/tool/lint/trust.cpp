// SPDX-License-Identifier: BSL-1.0
//
// Warnings about what a document believes of clients.

#include <base/bytes.hpp>
#include <colimit/detail/access.hpp>
#include <http/address_text.hpp>
#include <policy/policy_data.hpp>
#include <tool/lint/trust.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool::lint {

namespace {

using colimit::keyed_policy;

/// The bits of the smallest network that providers give to a client of IPv6.
constexpr int shortest_network = 64;
/// The bits of the smallest network that registries give to a provider.
constexpr int provider_network = 32;

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

/// Returns the length of a network's prefix in IPv6 form.
[[nodiscard]] int bits_of(std::string_view text) {
    const auto slash = text.find('/');
    if (slash == std::string_view::npos)
        return 128;
    const auto bits = colimit::detail::read_decimal(text.substr(slash + 1), 128).value_or(128);
    return static_cast<int>(bits) + (text.find(':') == std::string_view::npos ? 96 : 0);
}

/// Returns whether the first network is a part of the second one.
[[nodiscard]] bool is_in(std::string_view own, std::string_view other) {
    const auto first = colimit::http::parse_address(own.substr(0, own.find('/')));
    return bits_of(other) <= bits_of(own) && first &&
           colimit::http::network{other}.contains(*first);
}

/// Returns how much of a network of which most hosts are clients it has, a /8 of IPv4 or a /17 of
/// global IPv6.
[[nodiscard]] double width_of(std::string_view text) {
    const auto slash = text.find('/');
    const auto address = colimit::http::parse_address(text.substr(0, slash));
    if (!address || slash == std::string_view::npos)
        return 0;
    const auto bits =
        static_cast<int>(colimit::detail::read_decimal(text.substr(slash + 1), 128).value_or(128));
    if (address->is_v4() || (bits >= 96 && colimit::http::canonical(*address).is_v4()))
        return std::ldexp(1, (address->is_v4() ? 8 : 104) - bits);
    const auto first = address->to_v6().to_bytes()[0];
    const auto is_global = bits < 3 || (first & 0xe0U) == 0x20U;
    return is_global ? std::ldexp(1, 17 - bits) : 0;
}

/// Returns how many bytes of an address come before the groups at its end that are 0.
[[nodiscard]] std::size_t used_bytes(std::span<const unsigned char> bytes, std::size_t group) {
    auto used = bytes.size();
    while (used > 0 &&
           std::ranges::all_of(bytes.subspan(used - group, group), [](auto b) { return b == 0; }))
        used -= group;
    return used;
}

/// Looks for a network without its prefix length: the bits for hosts are 0.
void look_at_address(std::string_view text, std::size_t i, std::vector<finding>& found) {
    const auto read = colimit::http::parse_address(text);
    if (!read)
        return;
    const auto address = colimit::http::canonical(*read);
    const auto used = address.is_v4() ? used_bytes(address.to_v4().to_bytes(), 1)
                                      : used_bytes(address.to_v6().to_bytes(), 2);
    if (used > (address.is_v4() ? 3U : 8U))
        return;
    const auto name = address.to_string();
    auto message = std::string{text} + " is one address";
    if (used == 0)
        message += ", which no proxy has (expected the networks of the proxies)";
    else
        message += "; a network needs its prefix, such as " + name + '/' +
                   std::to_string(8 * used) + " (or " + name + (address.is_v4() ? "/32" : "/128") +
                   " for this address alone)";
    found.push_back(
        {problem::one_address, "trusted_proxies[" + std::to_string(i) + "]", std::move(message)});
}

} // namespace

bool may_deny(const colimit::policy& p) noexcept {
    return colimit::detail::access::data(p)->may_deny();
}

void look_at_networks(std::span<const std::string_view> networks, std::vector<finding>& found) {
    /// Returns another network that has this one; of equal ones the first.
    const auto found_in = [&](std::size_t i) {
        for (std::size_t other = 0; other < networks.size(); ++other)
            if (other != i && is_in(networks[i], networks[other]) &&
                (other < i || !is_in(networks[other], networks[i])))
                return other;
        return i;
    };
    constexpr auto most = 4; // such as all networks of a provider, with those of its customers
    auto together = 0.0;
    for (std::size_t i = 0; i < networks.size(); ++i) {
        const auto width = width_of(networks[i]);
        const auto other = found_in(i);
        together += width > 1 || other != i ? 0 : width;
        if (other != i)
            found.push_back({problem::no_effect, "trusted_proxies[" + std::to_string(i) + "]",
                             "is in the network " + std::string{networks[other]} +
                                 ", which is trusted, too (remove one of them)"});
        look_at_address(networks[i], i, found);
        if (width > 1)
            found.push_back({problem::wide_proxies, "trusted_proxies[" + std::to_string(i) + "]",
                             "a client in the network " + std::string{networks[i]} +
                                 " can claim to have any address (expected the networks of the "
                                 "proxies alone)"});
    }
    if (together > most)
        found.push_back({problem::wide_proxies, "trusted_proxies",
                         "a client in one of the networks, which together have the size of more "
                         "than four /8 of IPv4 or /17 of IPv6, can claim to have any address "
                         "(expected the networks of the proxies alone)"});
}

void look_at_trust(const colimit::policy_document& document, std::vector<finding>& found) {
    using colimit::http::forwarding_field;
    if (document.trusted_proxies() != colimit::http::trusted_proxies{} &&
        document.trusted_proxies().field() == forwarding_field::either)
        found.push_back({problem::no_proxy_field, "trusted_proxies",
                         "the field that the proxies write is not named: requests of clients that "
                         "add the other one share a limit (set proxy_field to X-Forwarded-For or "
                         "Forwarded)"});
    if (document.prefixes().v6 > shortest_network)
        found.push_back({problem::invented_key, "ipv6_prefix",
                         "a client of IPv6 has a network of 64 bits or fewer, so it can use a new "
                         "address, with a whole limit, for each request (expected at most 64)"});
    if (document.prefixes().v6 <= provider_network)
        found.push_back(
            {problem::wide_prefix, "ipv6_prefix",
             "all clients of an IPv6 provider have one key, so they share a limit (got " +
                 std::to_string(document.prefixes().v6) + ", expected 48 to 64)"});
    for (std::size_t i = 0; i < document.routes().size(); ++i)
        look_at_keys(document.policies_of(i), i, found);
}

} // namespace tool::lint
