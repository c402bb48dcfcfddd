// SPDX-License-Identifier: BSL-1.0
//
// How calls end, with a script or with MULTI.

#include <core/verb_traits.hpp>
#include <redis/queue/call_queue.hpp>

#include <utility>

namespace colimit::redis {

void call_queue::withdraw(detail::operation& op, error_code why) {
    auto& b = *op.batch;
    b.drop(op.index);
    if (b.is_abandoned() && !b.encoded)
        ++abandoned_;
    finish(op, why);
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
    finish(op,
           core::traits_of(op.request.verb).only_asks ? errc::unavailable : errc::outcome_unknown);
}

bool call_queue::expire(std::int64_t now, errc unsent) {
    auto any = false;
    auto* op = by_deadline_.front();
    for (; op != nullptr && op->deadline <= now; op = by_deadline_.front()) {
        const auto only_asks = core::traits_of(op->request.verb).only_asks;
        withdraw(*op, is_sent(*op) && !only_asks ? errc::outcome_unknown : unsent);
        any = true;
    }
    drop_abandoned();
    return any;
}

bool call_queue::expire_unsent(std::int64_t now) {
    auto any = false;
    for (auto* op = by_deadline_.front(); op != nullptr && op->deadline <= now;) {
        auto* next = by_deadline_.after(*op);
        if (!is_sent(*op)) {
            withdraw(*op, errc::deadline_exceeded);
            any = true;
        }
        op = next;
    }
    if (any)
        drop_abandoned();
    return any;
}

std::optional<std::int64_t> call_queue::next_deadline() const noexcept {
    if (by_deadline_.empty())
        return std::nullopt;
    return by_deadline_.begin()->deadline;
}

} // namespace colimit::redis
