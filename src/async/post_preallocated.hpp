// SPDX-License-Identifier: BSL-1.0
//
// Posts a function to the next event-loop iteration with preallocated memory. Through
// `any_io_executor` alone Asio allocates memory; if that failed, the calls that the function was to
// complete would never be completed.
//
// So completing calls allocates nothing: a deadline whose timer cannot be set is checked in every
// event-loop iteration (deadline_timer.hpp), and the wait queue is linked through the calls. If
// memory for anything else cannot be allocated, a buffer that has to grow or a socket, the
// connection is treated as lost and made again. A verb may throw bad_alloc, or its call end with
// `not_enough_memory`; nothing is thrown out of `run`. That holds for an `io_context` and a
// `thread_pool`. A strand, a handler with another executor and `thread_safe` use memory that Asio
// allocates when the call is complete: if it cannot, Asio throws from `run` and the handler is
// lost. So it does where it stores the result of name resolution; there only the attempt to connect
// is lost.

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
