// SPDX-License-Identifier: BSL-1.0
//
// The facts in CLUSTER INFO that say how far a node's map can be trusted:
//
//   cluster_state:ok            it sees most of the masters, and serves
//   cluster_current_epoch:6     the highest epoch that it has heard of
//
// A failover raises the epoch, and so does a slot that was moved, unless its new owner has the
// highest one already; all nodes hear of it within a moment. So a node with a lower epoch than
// another has not heard of the latest change. Nodes with equal epochs may have different maps, for
// a moment. In one write with CLUSTER SLOTS, CLUSTER INFO comes first: the map is then at least as
// recent as the epoch.

#pragma once

#include <base/bytes.hpp>
#include <redis/protocol/info_field.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace colimit::redis {

struct cluster_info {
    bool is_ok;
    std::uint64_t epoch;

    friend bool operator==(const cluster_info&, const cluster_info&) = default;
};

/// Returns nullopt if one of the facts is missing or malformed.
[[nodiscard]] inline std::optional<cluster_info> read_cluster_info(std::string_view text) noexcept {
    const auto state = field_of(text, "cluster_state");
    const auto digits = field_of(text, "cluster_current_epoch");
    const auto epoch =
        digits ? detail::read_decimal(*digits, std::numeric_limits<std::uint64_t>::max())
               : std::nullopt;
    if (!state || !epoch)
        return std::nullopt;
    return cluster_info{.is_ok = *state == "ok", .epoch = *epoch};
}

} // namespace colimit::redis
