// SPDX-License-Identifier: BSL-1.0
//
// Handlers of a connection: they use preallocated memory, and an exception must not leave through
// the event loop, so it becomes an error code.

#pragma once

#include <async/handler_memory.hpp>
#include <colimit/error.hpp>

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/error.hpp>

#include <exception>
#include <utility>

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

/// Returns the handler, for which Asio allocates `memory`.
template<class Handler>
[[nodiscard]] auto with_memory(detail::handler_memory& memory, Handler handler) {
    return boost::asio::bind_allocator(detail::handler_allocator<char>{memory}, std::move(handler));
}

} // namespace colimit::redis
