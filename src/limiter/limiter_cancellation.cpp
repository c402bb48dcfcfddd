// SPDX-License-Identifier: BSL-1.0
//
// The cancellation of a call, according to the table in src/README.md.

#include <core/verb_traits.hpp>
#include <limiter/limiter_core.hpp>
#include <limiter/many_calls.hpp>

#include <boost/asio/error.hpp>

namespace colimit::detail {

bool limiter_core::may_have_effect_locked(const operation& op) const noexcept {
    if (core::traits_of(op.request.verb).only_asks || (op.is_held && !backend_->is_sent(op)) ||
        !wait_stage::may_be_charged(op))
        return false;
    return op.kind != call_kind::each || op.attached == nullptr ||
           static_cast<const many_calls&>(*op.attached).may_have_effect();
}

void limiter_core::cancel_locked(operation& op, asio::cancellation_type type) noexcept {
    const auto ends_anyway =
        type & (asio::cancellation_type::terminal | asio::cancellation_type::partial);
    const auto promises_no_effect = type & asio::cancellation_type::total;
    if (ends_anyway == asio::cancellation_type::none &&
        (promises_no_effect == asio::cancellation_type::none || may_have_effect_locked(op)))
        return;
    if (op.request.verb == verb::acquire && op.is_held && backend_->is_sent(op))
        slot_keeper::note_cancelled(op);
    if (op.is_held)
        return backend_->cancel(op, asio::error::operation_aborted);
    if (op.kind == call_kind::each && op.attached != nullptr)
        return static_cast<many_calls&>(*op.attached).cancel();
    if (waits_.cancel(op))
        complete(op, asio::error::operation_aborted);
}

} // namespace colimit::detail
