// SPDX-License-Identifier: BSL-1.0
//
// The settings of the queue and the connection, made from a limiter's configuration.

#pragma once

#include <colimit/config.hpp>
#include <redis/cluster/map_finder.hpp>
#include <redis/connection/address.hpp>
#include <redis/connection/connection.hpp>
#include <redis/connection/tls_context.hpp>
#include <redis/queue/call_queue.hpp>
#include <redis/script/script_queue.hpp>

#include <chrono>
#include <cstdint>
#include <memory>

namespace colimit::detail {

[[nodiscard]] inline std::int64_t in_us(std::chrono::milliseconds t) noexcept {
    return std::chrono::microseconds{t}.count();
}

using shared_tls = std::shared_ptr<const redis::tls_context>;

/// Returns what all TLS connections of a limiter share; null if the address is one without TLS.
/// @throws colimit::error with `errc::invalid_config` for TLS files that are not valid
[[nodiscard]] shared_tls make_tls(const config& c, const redis::address& a);

/// Returns the settings of the connection on which calls are made: to the server, the master behind
/// Sentinels, or a node of a cluster. The addresses of the latter two follow later.
[[nodiscard]] redis::connection_settings
connection_settings_of(const config& c, const redis::address& a, shared_tls tls);

/// Returns the settings of connections to the Sentinels of an address.
[[nodiscard]] redis::connection_settings
sentinel_settings_of(const config& c, const redis::address& a, shared_tls tls);

/// Returns the settings of what finds the nodes of a cluster.
[[nodiscard]] redis::map_finder_settings map_settings_of(const config& c, const redis::address& a,
                                                         shared_tls tls);

/// Returns the queue for this execution mode.
[[nodiscard]] std::unique_ptr<redis::call_queue> make_queue(const config& c,
                                                            const redis::address& a);

/// Returns the queue of a node of a cluster.
[[nodiscard]] std::unique_ptr<redis::script_queue> make_node_queue(const config& c);

} // namespace colimit::detail
