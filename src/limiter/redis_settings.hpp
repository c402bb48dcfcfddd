// SPDX-License-Identifier: BSL-1.0
//
// The settings of the queue and the connection, made from a limiter's configuration.

#pragma once

#include <colimit/config.hpp>
#include <redis/connection/address.hpp>
#include <redis/connection/connection.hpp>
#include <redis/queue/call_queue.hpp>

#include <chrono>
#include <cstdint>
#include <memory>

namespace colimit::detail {

[[nodiscard]] inline std::int64_t in_us(std::chrono::milliseconds t) noexcept {
    return std::chrono::microseconds{t}.count();
}

/// @throws colimit::error with `errc::invalid_config` for TLS files that are not valid
[[nodiscard]] redis::connection_settings connection_settings_of(const config& c,
                                                                const redis::address& a);

/// Returns the queue for this execution mode.
[[nodiscard]] std::unique_ptr<redis::call_queue> make_queue(const config& c);

} // namespace colimit::detail
