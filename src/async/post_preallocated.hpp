// SPDX-License-Identifier: BSL-1.0
//
// Posts a function to the next event-loop iteration with preallocated memory. Through
// `any_io_executor` alone Asio allocates memory; if that failed, the calls that the function was to
// complete would never be completed.

#pragma once

#include <async/handler_memory.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <utility>

namespace colimit::detail {

namespace asio = boost::asio;

/// Never throws for an `io_context` or a `thread_pool` while the memory is not in use; other
/// executors, including strands, may have to allocate.
template<class Function>
void post_preallocated(const asio::any_io_executor& executor, handler_memory& memory, Function f) {
    auto bound = with_memory(memory, std::move(f));
    if (const auto* context = executor.target<asio::io_context::executor_type>())
        return asio::post(*context, std::move(bound));
    if (const auto* pool = executor.target<asio::thread_pool::executor_type>())
        return asio::post(*pool, std::move(bound));
    asio::post(executor, std::move(bound));
}

} // namespace colimit::detail
