// SPDX-License-Identifier: BSL-1.0
//
// One timer for the first of the line.

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

bool waiting_line::by_turn::operator()(operation* a, operation* b) const noexcept {
    const auto& first = place_of(*a);
    const auto& second = place_of(*b);
    return std::tie(first.turn, first.order) < std::tie(second.turn, second.order);
}

void waiting_line::add(operation& op, const std::shared_ptr<void>& owner) {
    auto& place = place_of(op);
    const auto wait = op.result.retry_after;
    place.turn = (op.result.server_time + wait).time_since_epoch().count();
    place.due = due_in(wait);
    place.order = taken_++;
    line_.insert(&op);
    place.in_line = true;
    set_timer(owner);
}

void waiting_line::remove(operation& op) noexcept {
    line_.erase(&op);
    place_of(op).in_line = false;
    if (line_.empty()) {
        timer_.cancel();
        timer_at_ = 0;
    }
}

operation_list waiting_line::take_due(const std::shared_ptr<void>& owner) {
    auto due = operation_list{};
    while (!line_.empty() && has_come(place_of(**line_.begin()).due)) {
        auto& op = **line_.begin();
        line_.erase(line_.begin());
        place_of(op).in_line = false;
        place_of(op).served = true;
        bring_to_turn(op.result);
        due.push_back(op);
    }
    timer_at_ = 0;
    set_timer(owner);
    return due;
}

operation_list waiting_line::take_all() noexcept {
    auto all = operation_list{};
    for (auto* op : line_) {
        place_of(*op).in_line = false;
        place_of(*op).served = true;
        all.push_back(*op);
    }
    line_.clear();
    timer_.cancel();
    timer_at_ = 0;
    return all;
}

void waiting_line::set_timer(const std::shared_ptr<void>& owner) {
    if (line_.empty())
        return;
    const auto at = place_of(**line_.begin()).due;
    if (at == timer_at_)
        return;
    timer_at_ = at;
    timer_.expires_at(steady_clock::time_point{microseconds{at}});
    timer_.async_wait([this, owner](boost::system::error_code ec) {
        if (!ec)
            on_due_();
    });
}

} // namespace colimit::detail
