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

} // namespace

void pass_time(decision& d, microseconds by) noexcept {
    const auto after = [by](microseconds t) {
        return t == never_again ? t : std::max(t - by, microseconds{0});
    };
    d.server_time += by;
    d.retry_after = after(d.retry_after);
    d.reset_after = after(d.reset_after);
    // NOLINTNEXTLINE(modernize-loop-convert): iterators over statuses are constant
    for (std::size_t i = 0; i < d.rules.size(); ++i) {
        d.rules[i].retry_after = after(d.rules[i].retry_after);
        d.rules[i].reset_after = after(d.rules[i].reset_after);
    }
}

bool wait_queue::earlier_due::operator()(const reservation& a,
                                         const reservation& b) const noexcept {
    return std::tie(a.due, a.order) < std::tie(b.due, b.order);
}

bool wait_queue::by_key::operator()(const reservation& a, const reservation& b) const noexcept {
    const auto& of_a = a.op->key_digest;
    const auto& of_b = b.op->key_digest;
    return std::tie(of_a.low, of_a.high, a.order) < std::tie(of_b.low, of_b.high, b.order);
}

/// Returns the latest reservation of the same key that still waits, if its admission is not after
/// this one's: if it is, quota was returned in the meantime, and this one need not wait for it. If
/// the store's clock was set back in the meantime, its times cannot be compared.
const reservation* wait_queue::predecessor_of(const reservation& entry) const noexcept {
    auto after = keys_.lower_bound(entry);
    if (after == keys_.begin())
        return nullptr;
    const auto& latest = *--after;
    if (latest.op->key_digest != entry.op->key_digest)
        return nullptr;
    return latest.admission <= entry.admission || entry.granted < latest.granted ? &latest
                                                                                 : nullptr;
}

bool wait_queue::prepare_wait(operation& op) noexcept {
    if (by_due_.empty() && op.result.retry_after.count() == 0)
        return false;
    auto& entry = entry_of(op);
    entry.op = &op;
    entry.granted = in_us(op.result.server_time);
    entry.admission = in_us(op.result.server_time + op.result.retry_after);
    entry.order = taken_;
    return op.result.retry_after.count() != 0 || predecessor_of(entry) != nullptr;
}

void wait_queue::add(operation& op, clock::time_point now,
                     const std::shared_ptr<void>& owner) noexcept {
    auto& entry = entry_of(op);
    entry.due = due_after(op.result.retry_after, now);
    if (const auto* before = predecessor_of(entry))
        entry.due = std::max(entry.due, before->due);
    ++taken_;
    by_due_.insert(entry);
    keys_.insert(entry);
    entry.is_queued = true;
    set_timer(owner);
}

void wait_queue::erase(reservation& entry) noexcept {
    by_due_.erase(by_due_.iterator_to(entry));
    keys_.erase(keys_.iterator_to(entry));
    entry.is_queued = false;
}

void wait_queue::remove(operation& op) noexcept {
    erase(entry_of(op));
    if (by_due_.empty())
        timer_.clear();
}

operation_list wait_queue::take_due(clock::time_point now,
                                    const std::shared_ptr<void>& owner) noexcept {
    auto due = operation_list{};
    while (!by_due_.empty() && microseconds{by_due_.begin()->due} <= now.time_since_epoch()) {
        auto& entry = *by_due_.begin();
        erase(entry);
        entry.served = true;
        pass_time(entry.op->result, entry.op->result.retry_after);
        due.push_back(*entry.op);
    }
    set_timer(owner);
    return due;
}

operation_list wait_queue::take_all() noexcept {
    auto all = operation_list{};
    for (auto& entry : by_due_) {
        entry.is_queued = false;
        entry.served = true;
        all.push_back(*entry.op);
    }
    by_due_.clear();
    keys_.clear();
    timer_.clear();
    return all;
}

void wait_queue::set_timer(const std::shared_ptr<void>& owner) noexcept {
    if (!by_due_.empty())
        timer_.set(by_due_.begin()->due, owner);
}

} // namespace colimit::detail
