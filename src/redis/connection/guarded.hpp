// SPDX-License-Identifier: BSL-1.0
//
// Steps of a connection that run as handlers: an exception must not leave through the event loop,
// so it becomes an error code.

#ifndef COLIMIT_REDIS_CONNECTION_GUARDED_HPP
#define COLIMIT_REDIS_CONNECTION_GUARDED_HPP

#include <colimit/error.hpp>

#include <boost/asio/error.hpp>

#include <exception>

namespace colimit::redis {

/// Runs `step`, which returns an error code; returns `no_memory` if it throws.
template<class Step>
[[nodiscard]] error_code guarded(Step step) noexcept {
    try {
        return step();
    } catch (const std::exception&) {
        return boost::asio::error::no_memory;
    }
}

} // namespace colimit::redis

#endif
