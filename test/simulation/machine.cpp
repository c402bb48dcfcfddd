// SPDX-License-Identifier: BSL-1.0
//
// epoll, and the time.

#include "machine.hpp"

#include "resolver_threads.hpp"

#include <hash/fnv1a.hpp>

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <future>
#include <utility>

namespace colimit::simulation {
namespace {

machine* the_machine = nullptr;

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

std::shared_ptr<descriptor> machine::find(int fd) const noexcept {
    const auto at = static_cast<std::size_t>(fd - first_descriptor);
    return at < descriptors_.size() ? descriptors_[at] : nullptr;
}

void machine::close(int fd) {
    const auto at = static_cast<std::size_t>(fd - first_descriptor);
    if (const auto closed = std::exchange(descriptors_.at(at), nullptr))
        closed->on_close();
}

void machine::set_timer(timer& which, std::int64_t at) noexcept {
    if (flaw_ == flaw::loses_timers && at != never && at > now_ && device_.percent(2))
        at += 10 * second;
    which.at = at;
}

/// Everything that is due.
void machine::happen() {
    while (!events_.empty() && events_.top().time <= now_) {
        const auto what = std::move(const_cast<event&>(events_.top()).what);
        events_.pop();
        what();
    }
}

void machine::from_thread(std::function<void()> what) {
    const auto lock = std::lock_guard{mutex_};
    from_threads_.push_back(std::move(what));
}

void machine::sleep_in_thread(std::int64_t duration) {
    auto is_over = std::promise<void>{};
    from_thread([&] { at(now_ + duration, [&] { is_over.set_value(); }); });
    is_over.get_future().wait();
}

bool machine::await_threads() {
    if (names.empty())
        return false;
    while (!other_threads_sleep())
        ::sched_yield();
    const auto lock = std::lock_guard{mutex_};
    for (const auto& f : from_threads_)
        f();
    return !std::exchange(from_threads_, {}).empty();
}

void machine::advance(std::int64_t until) {
    const auto next = std::min(until, events_.empty() ? never : events_.top().time);
    if (next == never)
        throw violation{"the process waits forever"};
    now_ = std::max(now_, next);
}

int machine::wait(epoll& of, epoll_event* into, int most, int timeout) {
    waits_ = std::exchange(waited_at_, now_) == now_ ? waits_ + 1 : 0;
    if (waits_ > most_waits_at_once)
        throw violation{"the process runs in a circle"};
    const auto end = end_of(timeout);
    for (;;) {
        happen();
        const auto count = of.report(into, most, now_);
        if (count != 0 || now_ >= end)
            return count;
        if (!await_threads())
            advance(std::min(of.next_timer(), end));
    }
}

bool machine::wait(const descriptor& of, std::uint32_t events, int timeout) {
    for (const auto end = end_of(timeout);;) {
        const auto is_ready = (of.ready() & events) != 0;
        if (is_ready || now_ >= end)
            return is_ready;
        advance(end);
        happen();
    }
}

void machine::stand_still(std::int64_t duration) {
    for (const auto end = now_ + duration; now_ < end; advance(end))
        happen();
}

void descriptor::raise(std::uint32_t events) {
    events &= interest_ | EPOLLERR | EPOLLHUP;
    const auto by = epoll_.lock();
    if (!by || interest_ == 0 || events == 0)
        return;
    raised_ |= events;
    if (!std::exchange(is_queued_, true))
        by->ready_.push_back(weak_from_this());
}

void epoll::add(descriptor& what, const epoll_event& event) {
    what.epoll_ = std::static_pointer_cast<epoll>(shared_from_this());
    what.interest_ = event.events;
    what.data_ = event.data;
    what.raise(what.ready());
}

void epoll::add(std::shared_ptr<timer> what, const epoll_event& event) {
    timer_ = std::move(what);
    add(*timer_, event);
}

int epoll::report(epoll_event* into, int most, std::int64_t now) {
    auto count = 0;
    while (!ready_.empty() && count < most - 1) { // the last is that of the timer
        const auto of = ready_.front().lock();
        ready_.pop_front();
        if (!of)
            continue;
        of->is_queued_ = false;
        const auto events = std::exchange(of->raised_, 0U);
        if (of->interest_ != 0)
            into[count++] = {events, of->data_};
    }
    if (next_timer() <= now)
        into[count++] = {EPOLLIN, timer_->data_};
    return count;
}

std::int64_t epoll::next_timer() const noexcept {
    return timer_ ? timer_->at : never;
}

} // namespace colimit::simulation
