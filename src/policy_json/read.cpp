// SPDX-License-Identifier: BSL-1.0
//
// Reads a document of policies alone.

#include <colimit/json.hpp>
#include <policy_json/read_policy.hpp>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit {

policy_set parse_policies(std::string_view document) {
    const auto parsed = json::parse(document);
    const auto root = json::fields{json::node_ref{parsed, parsed.root, ""}};
    constexpr std::array<std::string_view, 1> known{"policies"};
    root.allow_only(known);
    const auto all = json::policies_in(root);
    std::vector<policy> policies;
    policies.reserve(all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        policies.push_back(json::read_policy(all.member(i)));
    return policy_set{std::move(policies)};
}

} // namespace colimit
