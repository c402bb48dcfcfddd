// SPDX-License-Identifier: BSL-1.0
//
// The functions of a limiter that the templates of the verbs call.

#include <limiter/limiter_core.hpp>

#include <memory>
#include <mutex>

namespace colimit::detail {

std::shared_ptr<call_pool> pool_of(const limiter_core& core) noexcept {
    return core.calls();
}

call_pool& pool_reference(const limiter_core& core) noexcept {
    return *core.calls();
}

static_assert(pool_alignment == node_pool::alignment);

void* allocate(call_pool& pool, std::size_t bytes) {
    return pool.memory.allocate(bytes);
}

void deallocate(call_pool& pool, void* memory, std::size_t bytes) noexcept {
    pool.memory.deallocate(memory, bytes);
}

bool serves_threads(const call_pool& pool) noexcept {
    return pool.lock.is_needed();
}

const asio::any_io_executor& executor_of(const limiter_core& core) noexcept {
    return core.executor();
}

void cancel(operation& op, asio::cancellation_type type) noexcept {
    const std::lock_guard guard{op.pool->lock};
    if (!op.has_left)
        op.owner->cancel_locked(op, type);
}

} // namespace colimit::detail
