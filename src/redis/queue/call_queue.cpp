// SPDX-License-Identifier: BSL-1.0
//
// How calls end, with a script or with MULTI.

#include <core/verb_traits.hpp>
#include <redis/queue/call_queue.hpp>

#include <utility>

namespace colimit::redis {
namespace {

/// Returns the error of a call that may have been executed: `otherwise` if it changes nothing.
[[nodiscard]] errc error_if_sent(const detail::operation& op, errc otherwise) noexcept {
    return core::traits_of(op.request.verb).only_asks ? otherwise : errc::outcome_unknown;
}

} // namespace

void call_queue::withdraw(detail::operation& op, error_code why) {
    BOOST_ASSERT(op.is_held);
    auto& b = *op.batch;
    b.drop(op.index);
    if (b.is_abandoned() && !b.encoded)
        ++abandoned_;
    finish(op, why);
}

void call_queue::end_unsent(error_code why) {
    for (auto* op = by_deadline_.front(); op != nullptr;) {
        auto* next = by_deadline_.after(*op);
        if (!is_sent(*op) && op->request.verb != detail::verb::release)
            withdraw(*op, why);
        op = next;
    }
    drop_abandoned();
}

void call_queue::substitute(detail::operation& op, detail::operation& by) noexcept {
    by.batch = std::exchange(op.batch, nullptr);
    by.is_held = std::exchange(op.is_held, false);
    by.index = op.index;
    by.deadline = op.deadline;
    by.batch->substitute(by.index, by);
    by_deadline_.replace(op, by);
}

void call_queue::finish(detail::operation& op) {
    by_deadline_.remove(op);
    op.batch = nullptr;
    op.is_held = false;
    done.push_back(op);
}

void call_queue::finish(detail::operation& op, error_code why) {
    op.ec = why;
    finish(op);
}

void call_queue::finish_lost(detail::operation& op) {
    finish(op, error_if_sent(op, errc::unavailable));
}

void call_queue::move_deadlines(call_queue& to) noexcept {
    auto* next_there = to.by_deadline_.front();
    for (auto* op = by_deadline_.front(); op != nullptr;) {
        auto* next = by_deadline_.after(*op);
        if (op->batch->queue == &to) {
            while (next_there != nullptr && next_there->deadline <= op->deadline)
                next_there = to.by_deadline_.after(*next_there);
            by_deadline_.remove(*op);
            to.by_deadline_.insert_before(next_there, *op);
        }
        op = next;
    }
}

bool call_queue::expire_calls(std::int64_t now, errc unsent, bool also_sent) {
    auto any = false;
    for (auto* op = by_deadline_.front(); op != nullptr && op->deadline <= now;) {
        auto* next = by_deadline_.after(*op);
        if (also_sent || !op->batch->encoded) {
            withdraw(*op, is_sent(*op) ? error_if_sent(*op, unsent) : unsent);
            any = true;
        }
        op = next;
    }
    drop_abandoned();
    return any;
}

std::optional<std::int64_t> call_queue::next_deadline() const noexcept {
    if (by_deadline_.empty())
        return std::nullopt;
    return by_deadline_.begin()->deadline;
}

} // namespace colimit::redis
