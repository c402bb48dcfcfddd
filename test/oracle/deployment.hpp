// SPDX-License-Identifier: BSL-1.0
//
// Servers that replace each other, behind Sentinels or as a cluster, and the ways in which they are
// made to do so while processes call.

#pragma once

#include "caller.hpp"
#include "clock.hpp"
#include "record.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::oracle {

/// Another server became responsible for some keys.
struct failover {
    std::int64_t begin = 0; ///< nothing had been done yet
    /// When clients could know of the new server: its address was published, or it served the keys.
    std::int64_t known = 0;
    key_set keys = key_set{}.set();
    std::optional<oracle::loss> loss = {}; ///< nothing if no state may be lost
    /// From then until then the old server was back and no replica yet: decisions may be its own.
    std::int64_t old_back = 0;
    std::int64_t old_demoted = 0;
    bool has_partition = false; ///< processes on the first side were cut off
    bool had_others = false;    ///< servers replaced each other more often than ordered
};

/// A way to cause a failover.
struct fault {
    std::string_view name;
    std::function<failover()> make; ///< ends when all servers are well again
};

class deployment {
  public:
    deployment() = default;
    virtual ~deployment() = default;
    deployment(const deployment&) = delete;
    deployment& operator=(const deployment&) = delete;

    /// For config::server.
    [[nodiscard]] virtual std::string address() const = 0;
    /// Of one server only, as if it had no replicas; it serves at least one of the keys.
    [[nodiscard]] virtual std::string fixed_address() = 0;
    [[nodiscard]] virtual key_names keys() = 0;
    [[nodiscard]] virtual std::vector<fault> faults() = 0;
    /// Returns the state that was lost since the last fault because servers replaced each other
    /// without one, as a busy machine makes them do.
    [[nodiscard]] virtual std::optional<loss> unordered() = 0;
    /// From what time first decisions are measured.
    [[nodiscard]] virtual std::string_view measured_from() const = 0;
    /// Whether the first decision by a new server is that on the first connection after `begin`,
    /// not the first one after `known`, when an old server may still decide.
    [[nodiscard]] virtual bool has_one_connection() const = 0;
};

/// @param has_partitions whether they can be made; otherwise masters are frozen for as long
[[nodiscard]] std::unique_ptr<deployment> make_sentinel_deployment(bool has_partitions);
[[nodiscard]] std::unique_ptr<deployment> make_cluster_deployment(bool has_partitions);

} // namespace colimit::oracle
