// SPDX-License-Identifier: BSL-1.0
//
// Looks at the sets of holders on the server while processes acquire and release slots.

#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace colimit::oracle {

/// In a thread, from its construction to `end`.
class slot_observer {
  public:
    slot_observer(std::string server, std::string prefix);
    ~slot_observer() { end(); }
    slot_observer(const slot_observer&) = delete;
    slot_observer& operator=(const slot_observer&) = delete;

    void end();
    /// How often it has looked.
    [[nodiscard]] std::int64_t looks() const noexcept { return looks_; }
    /// How many sets had more holders than places, or one that ends later than a lease from then.
    [[nodiscard]] std::int64_t crowded() const noexcept { return crowded_; }

  private:
    void look();

    std::string server_;
    std::string prefix_;
    std::atomic<bool> is_over_ = false;
    std::atomic<std::int64_t> looks_ = 0;
    std::atomic<std::int64_t> crowded_ = 0;
    std::thread thread_;
};

} // namespace colimit::oracle
