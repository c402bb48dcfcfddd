// SPDX-License-Identifier: BSL-1.0
//
// An exception must not leave a connection's handler through the event loop, so it becomes an error
// code.

#pragma once

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
