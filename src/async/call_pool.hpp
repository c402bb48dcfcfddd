// SPDX-License-Identifier: BSL-1.0
//
// The part of a limiter that its calls need until their handlers have been called. A completion
// that is dispatched to another executor may run after the limiter and its context have been
// destroyed. It keeps this part alive, but not the rest, whose timers, sockets and strand must not
// outlive their context.

#pragma once

#include <async/node_pool.hpp>
#include <base/thread_lock.hpp>

namespace colimit::detail {

struct call_pool {
    explicit call_pool(bool thread_safe) : lock(thread_safe), memory(thread_safe) {}

    thread_lock lock; ///< of the limiter, and of `operation::has_left`
    node_pool memory;
};

} // namespace colimit::detail
