// SPDX-License-Identifier: BSL-1.0
//
// A slot is the handle of what its limiter keeps for it.

#include <base/clocks.hpp>
#include <colimit/slot.hpp>
#include <limiter/limiter_core.hpp>

#include <mutex>
#include <utility>

namespace colimit {

bool slot::lost() const noexcept {
    if (!held_)
        return false;
    const std::lock_guard guard{held_->pool->lock};
    return held_->state == detail::slot_state::lost || detail::steady_now() >= held_->ends;
}

void slot::cancel_when_lost(boost::asio::cancellation_signal& signal,
                            boost::asio::cancellation_type type) noexcept {
    if (!held_)
        return;
    const std::lock_guard guard{held_->pool->lock};
    if (held_->state != detail::slot_state::ended)
        held_->core->slots().watch(*held_, signal, type);
}

void slot::release() noexcept {
    if (const auto held = std::exchange(held_, nullptr))
        detail::give_back(*held);
}

slot detail::take_slot(operation& op) noexcept {
    if (op.ec || !op.attached)
        return {};
    if (!op.result.allowed())
        return {nullptr, op.result, 0};
    return {std::move(static_cast<acquisition&>(*op.attached).slot), op.result, op.fencing_token};
}

} // namespace colimit
