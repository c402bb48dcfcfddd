// SPDX-License-Identifier: BSL-1.0
//
// The representation of a document.

#pragma once

#include <colimit/policy_document.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace colimit::detail {

/// What is known of how the routes were written; not a part of their content, so always equal.
struct written_routes {
    std::vector<bool> unlikely; ///< each route: hardly any request has its path or methods

    friend bool operator==(const written_routes& /*a*/, const written_routes& /*b*/) noexcept {
        return true;
    }
};

struct document_data {
    std::optional<std::int64_t> version;
    policy_set policies;
    std::vector<keyed_policy> keyed; ///< in the order of `policies`
    bool has_routes = false;         ///< it lists them, also if there are none
    http::route_table routes;
    written_routes written;
    std::vector<std::vector<keyed_policy>> policies_of; ///< each route
    http::trusted_proxies proxies;
    address_prefixes prefixes;

    friend bool operator==(const document_data&, const document_data&) = default;
};

} // namespace colimit::detail
