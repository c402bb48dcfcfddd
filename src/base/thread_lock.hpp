// SPDX-License-Identifier: BSL-1.0
//
// An optional mutex: a limiter that is confined to one thread only tests a flag.

#pragma once

#include <mutex>

namespace colimit::detail {

class thread_lock {
  public:
    explicit thread_lock(bool is_needed) noexcept : is_needed_(is_needed) {}

    void lock() {
        if (is_needed_)
            mutex_.lock();
    }
    void unlock() noexcept {
        if (is_needed_)
            mutex_.unlock();
    }
    [[nodiscard]] bool is_needed() const noexcept { return is_needed_; }

  private:
    std::mutex mutex_;
    const bool is_needed_;
};

} // namespace colimit::detail
