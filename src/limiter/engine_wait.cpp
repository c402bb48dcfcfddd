// SPDX-License-Identifier: BSL-1.0
//
// Second part of the engine: cancelling calls, and the queues of `wait`.

#include <core/evaluate.hpp>
#include <limiter/engine.hpp>
#include <limiter/many_calls.hpp>
#include <limiter/reservation.hpp>

#include <boost/asio/error.hpp>

#include <memory>
#include <mutex>
#include <new>

namespace colimit::detail {

bool engine::may_have_effect_locked(const operation& op) const noexcept {
    if (op.asked.verb == verb::peek || (op.place != nullptr && !is_sent(op)))
        return false;
    const auto* calls = dynamic_cast<const many_calls*>(op.attached.get());
    return calls == nullptr || calls->may_have_effect();
}

void engine::cancel_locked(operation& op, asio::cancellation_type type) noexcept {
    const auto ends_anyway =
        type & (asio::cancellation_type::terminal | asio::cancellation_type::partial);
    const auto promises_no_effect = type & asio::cancellation_type::total;
    if (ends_anyway == asio::cancellation_type::none &&
        (promises_no_effect == asio::cancellation_type::none || may_have_effect_locked(op)))
        return;
    if (op.place != nullptr)
        return withdraw(op, asio::error::operation_aborted);
    if (op.attached == nullptr)
        return;
    if (auto* calls = dynamic_cast<many_calls*>(op.attached.get()); calls != nullptr)
        return calls->cancel();
    auto* place = dynamic_cast<reservation*>(op.attached.get());
    if (place == nullptr)
        return;
    if (!place->in_line) {
        place->cancelled = true;
        return;
    }
    line_of(op).remove(op);
    place->served = true;
    give_back_locked(*place, op.asked.cost, core::recovers_at(op.result));
    complete(op, asio::error::operation_aborted);
}

waiting_line& engine::line_of(const operation& op) noexcept {
    return op.result.origin == origin::fallback ? line_instead_ : line_;
}

/// Returns whether a call that the store has decided has to wait for its turn from now on.
bool engine::keeps_waiting(operation& op) {
    if (op.asked.verb != verb::reserve || op.ec || op.attached == nullptr)
        return false;
    auto& place = waiting_line::place_of(op);
    auto& line = line_of(op);
    if (!op.result.allowed() || place.served || !line.has_to_wait(op))
        return false;
    place.is_instead = op.result.origin == origin::fallback;
    if (place.cancelled) {
        give_back_locked(place, op.asked.cost, core::recovers_at(op.result));
        op.ec = asio::error::operation_aborted;
        return false;
    }
    if (closed_) {
        op.ec = errc::closed;
        return false;
    }
    line.add(op, waiting_line::clock::now(), shared_from_this());
    return true;
}

void engine::serve_line() {
    const std::lock_guard guard{lock_};
    for (auto* line : {&line_, &line_instead_}) {
        auto due = line->take_due(waiting_line::clock::now(), shared_from_this());
        complete_all(due);
    }
}

namespace {

/// Releases a place; its result is not needed.
struct returned_place final : operation {
    returned_place(engine& e, const reservation& from, std::int64_t cost, std::int64_t end)
        : operation(e, &finish_call), place(from.key, from.policy) {
        asked = {verb::unreserve, cost, end};
    }

    static void finish_call(operation* base, bool /*invoke*/) {
        delete static_cast<returned_place*>(base);
    }

    reservation place;
};

} // namespace

void engine::give_back(const reservation& place, std::int64_t cost, std::int64_t end) noexcept {
    const std::lock_guard guard{lock_};
    give_back_locked(place, cost, end);
}

void engine::give_back_locked(const reservation& place, std::int64_t cost,
                              std::int64_t end) noexcept {
    if (place.is_instead)
        return give_back_instead(place, cost, end);
    try {
        auto* op = new returned_place{*this, place, cost, end};
        const auto& kept = op->place;
        start_locked(*op, {.kind = call::shape::one,
                           .key = kept.key,
                           .policy = &kept.policy,
                           .asked = op->asked});
    } catch (const std::bad_alloc&) { // the place lapses
    }
}

} // namespace colimit::detail
