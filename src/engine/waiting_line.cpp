// SPDX-License-Identifier: BSL-1.0
//
// One alarm for the first of the line.

#include <engine/waiting_line.hpp>

#include <algorithm>
#include <chrono>
#include <tuple>

namespace colimit::detail {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

/// Rounded up, so that nobody is served a part of a microsecond early.
[[nodiscard]] std::int64_t due_in(microseconds wait) noexcept {
    const auto at = steady_clock::now() + wait;
    return std::chrono::ceil<microseconds>(at.time_since_epoch()).count();
}

[[nodiscard]] bool has_come(std::int64_t due) noexcept {
    return steady_clock::now().time_since_epoch() >= microseconds{due};
}

/// The decision as it is when the turn has come.
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

bool waiting_line::by_turn::operator()(const reservation& a, const reservation& b) const noexcept {
    return std::tie(a.turn, a.order) < std::tie(b.turn, b.order);
}

void waiting_line::add(operation& op, const std::shared_ptr<void>& owner) noexcept {
    auto& place = place_of(op);
    const auto wait = op.result.retry_after;
    place.op = &op;
    place.turn = (op.result.server_time + wait).time_since_epoch().count();
    place.due = due_in(wait);
    place.order = taken_++;
    line_.insert(place);
    place.in_line = true;
    set_alarm(owner);
}

void waiting_line::remove(operation& op) noexcept {
    auto& place = place_of(op);
    line_.erase(line_.iterator_to(place));
    place.in_line = false;
    if (line_.empty())
        alarm_.clear();
}

operation_list waiting_line::take_due(const std::shared_ptr<void>& owner) noexcept {
    auto due = operation_list{};
    while (!line_.empty() && has_come(line_.begin()->due)) {
        auto& place = *line_.begin();
        line_.erase(line_.begin());
        place.in_line = false;
        place.served = true;
        bring_to_turn(place.op->result);
        due.push_back(*place.op);
    }
    set_alarm(owner);
    return due;
}

operation_list waiting_line::take_all() noexcept {
    auto all = operation_list{};
    for (auto& place : line_) {
        place.in_line = false;
        place.served = true;
        all.push_back(*place.op);
    }
    line_.clear();
    alarm_.clear();
    return all;
}

void waiting_line::set_alarm(const std::shared_ptr<void>& owner) noexcept {
    if (!line_.empty())
        alarm_.set(line_.begin()->due, owner);
}

} // namespace colimit::detail
