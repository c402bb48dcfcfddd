// SPDX-License-Identifier: BSL-1.0
//
// One timer for the first call of the queue.

#include <limiter/wait_queue.hpp>

#include <algorithm>
#include <chrono>
#include <tuple>

namespace colimit::detail {
namespace {

using std::chrono::microseconds;

/// Rounded up, so that a call is not admitted a fraction of a microsecond early.
[[nodiscard]] std::int64_t due_after(microseconds wait, wait_queue::clock::time_point now) {
    return std::chrono::ceil<microseconds>((now + wait).time_since_epoch()).count();
}

[[nodiscard]] std::int64_t in_us(time_point t) noexcept {
    return t.time_since_epoch().count();
}

/// Changes the decision to the time of admission.
void bring_to_turn(decision& d) noexcept {
    const auto wait = d.retry_after;
    const auto after = [wait](microseconds t) { return std::max(t - wait, microseconds{0}); };
    d.server_time += wait;
    d.retry_after = microseconds{0};
    d.reset_after = after(d.reset_after);
    // NOLINTNEXTLINE(modernize-loop-convert): iterators over statuses are constant
    for (std::size_t i = 0; i < d.rules.size(); ++i) {
        d.rules[i].retry_after = microseconds{0};
        d.rules[i].reset_after = after(d.rules[i].reset_after);
    }
}

} // namespace

bool wait_queue::by_turn::operator()(const reservation& a, const reservation& b) const noexcept {
    return std::tie(a.due, a.order) < std::tie(b.due, b.order);
}

bool wait_queue::by_key::operator()(const reservation& a, const reservation& b) const noexcept {
    return std::tie(a.key_digest.low, a.key_digest.high, a.order) <
           std::tie(b.key_digest.low, b.key_digest.high, b.order);
}

/// Returns the latest reservation of the same key that still waits, if its admission is not after
/// this one's: if it is, quota was returned in the meantime, and this one need not wait for it. If
/// the store's clock was set back in the meantime, its times cannot be compared.
const reservation* wait_queue::predecessor_of(const reservation& place) const noexcept {
    auto after = keys_.lower_bound(place);
    if (after == keys_.begin())
        return nullptr;
    const auto& latest = *--after;
    if (latest.key_digest != place.key_digest)
        return nullptr;
    return latest.turn <= place.turn || place.granted < latest.granted ? &latest : nullptr;
}

bool wait_queue::has_to_wait(operation& op) const noexcept {
    if (line_.empty() && op.result.retry_after.count() == 0)
        return false;
    auto& place = place_of(op);
    place.key_digest = place.policy->digest(place.key);
    place.granted = in_us(op.result.server_time);
    place.turn = in_us(op.result.server_time + op.result.retry_after);
    place.order = taken_;
    return op.result.retry_after.count() != 0 || predecessor_of(place) != nullptr;
}

void wait_queue::add(operation& op, clock::time_point now,
                     const std::shared_ptr<void>& owner) noexcept {
    auto& place = place_of(op);
    place.op = &op;
    place.due = due_after(op.result.retry_after, now);
    if (const auto* before = predecessor_of(place))
        place.due = std::max(place.due, before->due);
    ++taken_;
    line_.insert(place);
    keys_.insert(place);
    place.is_queued = true;
    set_alarm(owner);
}

void wait_queue::erase(reservation& place) noexcept {
    line_.erase(line_.iterator_to(place));
    keys_.erase(keys_.iterator_to(place));
    place.is_queued = false;
}

void wait_queue::remove(operation& op) noexcept {
    erase(place_of(op));
    if (line_.empty())
        alarm_.clear();
}

operation_list wait_queue::take_due(clock::time_point now,
                                    const std::shared_ptr<void>& owner) noexcept {
    auto due = operation_list{};
    while (!line_.empty() && microseconds{line_.begin()->due} <= now.time_since_epoch()) {
        auto& place = *line_.begin();
        erase(place);
        place.served = true;
        bring_to_turn(place.op->result);
        due.push_back(*place.op);
    }
    set_alarm(owner);
    return due;
}

operation_list wait_queue::take_all() noexcept {
    auto all = operation_list{};
    for (auto& place : line_) {
        place.is_queued = false;
        place.served = true;
        all.push_back(*place.op);
    }
    line_.clear();
    keys_.clear();
    alarm_.clear();
    return all;
}

void wait_queue::set_alarm(const std::shared_ptr<void>& owner) noexcept {
    if (!line_.empty())
        alarm_.set(line_.begin()->due, owner);
}

} // namespace colimit::detail
