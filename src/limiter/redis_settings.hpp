// SPDX-License-Identifier: BSL-1.0
//
// What a limiter's configuration means to the parts of its engine.

#ifndef COLIMIT_LIMITER_REDIS_SETTINGS_HPP
#define COLIMIT_LIMITER_REDIS_SETTINGS_HPP

#include <colimit/config.hpp>
#include <redis/connection/address.hpp>
#include <redis/connection/breaker.hpp>
#include <redis/connection/session.hpp>
#include <redis/connection/stream.hpp>
#include <redis/connection/tls_context.hpp>
#include <redis/protocol/resp.hpp>
#include <redis/queue/call_queue.hpp>

#include <chrono>
#include <cstdint>
#include <memory>

namespace colimit::detail {

/// Microseconds of the clock that is never set.
[[nodiscard]] std::int64_t steady_now() noexcept;

[[nodiscard]] inline std::chrono::steady_clock::time_point time_at(std::int64_t us) noexcept {
    return std::chrono::steady_clock::time_point{std::chrono::microseconds{us}};
}

[[nodiscard]] inline std::int64_t in_us(std::chrono::milliseconds t) noexcept {
    return std::chrono::microseconds{t}.count();
}

[[nodiscard]] redis::session_settings session_settings_of(const config& c, const redis::address& a);

[[nodiscard]] redis::breaker_settings breaker_settings_of(const config& c);

[[nodiscard]] inline redis::tcp_options tcp_options_of(const config& c) noexcept {
    return {.keep_alive = c.tcp_keep_alive, .user_timeout = c.tcp_user_timeout};
}

/// Commands of transactions answer with members of sorted sets, and those of a set that is not a
/// log may be long. Scripts answer with states.
[[nodiscard]] inline redis::resp::decoder::long_bulks long_bulks_of(const config& c) noexcept {
    using redis::resp::decoder;
    return c.mode == mode::transaction ? decoder::long_bulks::empty
                                       : decoder::long_bulks::malformed;
}

/// Null where the address is not one of TLS.
/// @throws colimit::error with `errc::invalid_config` for files that are not what they should be.
[[nodiscard]] std::unique_ptr<const redis::tls_context> tls_context_of(const config& c,
                                                                       const redis::address& a);

/// The queue for the way in which the server is asked.
[[nodiscard]] std::unique_ptr<redis::call_queue> make_queue(const config& c);

} // namespace colimit::detail

#endif
