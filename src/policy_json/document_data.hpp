// SPDX-License-Identifier: BSL-1.0
//
// The representation of a document.

#pragma once

#include <colimit/policy_document.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace colimit::detail {

struct document_data {
    std::optional<std::int64_t> version;
    policy_set policies;
    std::vector<keyed_policy> keyed; ///< in the order of `policies`
    bool has_routes = false;         ///< it lists them, also if there are none
    http::route_table routes;
    std::vector<std::vector<keyed_policy>> policies_of; ///< each route
    http::trusted_proxies proxies;
    address_prefixes prefixes;

    friend bool operator==(const document_data&, const document_data&) = default;
};

} // namespace colimit::detail
