// SPDX-License-Identifier: BSL-1.0
//
// One handler at a time, whose memory is preallocated. When the timer is set to an earlier time,
// the handler is cancelled and waits anew.

#include <async/deadline_timer.hpp>
#include <async/post_preallocated.hpp>
#include <base/clocks.hpp>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

namespace colimit::detail {

deadline_timer::deadline_timer(const asio::any_io_executor& executor, thread_lock& lock,
                               std::function<void()> on_time)
    : timer_(executor), lock_(lock), on_time_(std::move(on_time)) {}

void deadline_timer::set(std::int64_t at, const std::shared_ptr<void>& owner) noexcept {
    if (expires_by(at))
        return;
    at_ = std::min(at, at_);
    if (is_waiting_)
        timer_.cancel();
    else
        wait(owner);
}

void deadline_timer::clear() noexcept {
    at_ = never;
    timer_.cancel();
}

void deadline_timer::wait(const std::shared_ptr<void>& owner) noexcept {
    is_waiting_ = true;
    try {
        timer_.expires_at(time_at(at_));
        timer_.async_wait(with_memory(
            memory_, [this, owner](boost::system::error_code /*called off*/) { wake(owner); }));
    } catch (const std::bad_alloc&) {
        wait_an_iteration(owner);
    }
}

void deadline_timer::wait_an_iteration(const std::shared_ptr<void>& owner) noexcept {
    try {
        post_preallocated(timer_.get_executor(), memory_, [this, owner] { wake(owner); });
    } catch (const std::bad_alloc&) {
        is_waiting_ = false; // it is tried again when the timer is set again
    }
}

void deadline_timer::wake(const std::shared_ptr<void>& owner) {
    {
        const std::lock_guard guard{lock_};
        is_waiting_ = false;
        if (at_ == never)
            return;
        if (steady_now() < at_)
            return wait(owner);
        at_ = never;
    }
    on_time_();
}

} // namespace colimit::detail
