// SPDX-License-Identifier: BSL-1.0
//
// epoll, edge-triggered as Asio uses it for all descriptors but its timer, and the time.

#include "machine.hpp"

#include <hash/fnv1a.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

namespace colimit::simulation {
namespace {

machine* the_machine = nullptr;

/// Has no events of its own.
struct idle_descriptor final : descriptor {
    [[nodiscard]] std::uint32_t ready() const noexcept override { return 0; }
};

} // namespace

machine::machine(std::uint64_t seed, simulation::flaw broken)
    : flaw_(broken), random_(seed), device_(seed + 0x9e3779b97f4a7c15U) {
    the_machine = this;
}

machine::~machine() {
    the_machine = nullptr;
}

machine* machine::current() noexcept {
    return the_machine;
}

std::uint32_t machine::device() noexcept {
    return flaw_ == flaw::equal_jitter ? 1 : static_cast<std::uint32_t>(device_.bits());
}

void machine::at(std::int64_t time, std::function<void()> what) {
    events_.push({std::max(time, now_), event_count_++, std::move(what)});
}

void machine::trace(std::string_view what, std::uint64_t a, std::uint64_t b) {
    for (const auto value : {static_cast<std::uint64_t>(now_), a, b})
        trace_hash_ = (trace_hash_ ^ value) * 0x9e3779b97f4a7c15U + (trace_hash_ >> 29U);
    trace_hash_ ^= hash::fnv1a_64(what);
    if (prints_trace)
        std::printf("%12.6f %.*s %llu %llu\n", static_cast<double>(now_) / 1e6,
                    static_cast<int>(what.size()), what.data(), static_cast<unsigned long long>(a),
                    static_cast<unsigned long long>(b));
}

int machine::open(std::shared_ptr<descriptor> what) {
    descriptors_.push_back(std::move(what));
    return first_descriptor + static_cast<int>(descriptors_.size()) - 1;
}

/// The only one, as a context has one.
int machine::open_timer() {
    timer_descriptor_ = std::make_shared<idle_descriptor>();
    return open(timer_descriptor_);
}

std::shared_ptr<descriptor> machine::find(int fd) const noexcept {
    const auto at = static_cast<std::size_t>(fd - first_descriptor);
    return at < descriptors_.size() ? descriptors_[at] : nullptr;
}

void machine::close(int fd) {
    const auto at = static_cast<std::size_t>(fd - first_descriptor);
    if (const auto closed = std::exchange(descriptors_.at(at), nullptr))
        closed->on_close();
}

int machine::control(int operation, int fd, const epoll_event* event) {
    const auto of = find(fd);
    if (!of) {
        errno = EBADF;
        return -1;
    }
    of->interest_ = operation == EPOLL_CTL_DEL ? 0 : event->events;
    if (operation == EPOLL_CTL_DEL)
        return 0;
    of->data_ = event->data;
    raise(*of, of->ready());
    return 0;
}

void machine::raise(descriptor& of, std::uint32_t events) {
    events &= of.interest_ | EPOLLERR | EPOLLHUP;
    if (of.interest_ == 0 || events == 0)
        return;
    of.raised_ |= events;
    if (std::exchange(of.is_queued_, true))
        return;
    ready_.push_back(of.weak_from_this());
}

void machine::set_timer(std::int64_t at) noexcept {
    if (flaw_ == flaw::loses_timers && at != never && at > now_ && device_.percent(2))
        at += 10 * second;
    timer_ = at;
}

int machine::report(epoll_event* into, int most) {
    auto count = 0;
    while (!ready_.empty() && count < most) {
        const auto of = ready_.front().lock();
        ready_.pop_front();
        if (!of)
            continue;
        of->is_queued_ = false;
        const auto events = std::exchange(of->raised_, 0U);
        if (of->interest_ != 0)
            into[count++] = {events, of->data_};
    }
    return count;
}

/// Everything that is due.
void machine::happen() {
    while (!events_.empty() && events_.top().time <= now_) {
        const auto what = std::move(const_cast<event&>(events_.top()).what);
        events_.pop();
        what();
    }
}

void machine::stand_still(std::int64_t duration) {
    const auto end = now_ + duration;
    while (!events_.empty() && events_.top().time <= end) {
        now_ = std::max(now_, events_.top().time);
        happen();
    }
    now_ = std::max(now_, end);
}

int machine::wait(epoll_event* into, int most, int timeout) {
    const auto end = timeout < 0 ? never : now_ + timeout * millisecond;
    waits_ = std::exchange(waited_at_, now_) == now_ ? waits_ + 1 : 0;
    if (waits_ > most_waits_at_once)
        throw violation{"the process runs in a circle"};
    for (;;) {
        happen();
        auto count = report(into, most - 1);
        if (timer_ <= now_)
            into[count++] = {EPOLLIN, timer_descriptor_->data_};
        if (count != 0 || now_ >= end)
            return count;
        const auto next = std::min({end, timer_, events_.empty() ? never : events_.top().time});
        if (next == never)
            throw violation{"the process waits forever"};
        now_ = std::max(now_, next);
    }
}

} // namespace colimit::simulation
