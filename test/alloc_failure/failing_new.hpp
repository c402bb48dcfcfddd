// SPDX-License-Identifier: BSL-1.0
//
// Memory that runs out on request of a test: what operator new and aligned_alloc, which Asio uses,
// are asked for in the thread of the test.

#pragma once

#include <cstdint>

namespace colimit::test {

/// For as long as it lives, `length` allocations fail, from number `first` on, which counts from 1.
class shortage {
  public:
    shortage(std::int64_t first, std::int64_t length) noexcept;
    shortage(const shortage&) = delete;
    shortage& operator=(const shortage&) = delete;
    ~shortage();

    /// Returns whether it came to that.
    [[nodiscard]] static bool has_struck() noexcept;
    /// From now on there is memory again.
    static void end() noexcept;
};

/// For what the test itself does: nothing is counted and nothing fails.
class plenty {
  public:
    plenty() noexcept;
    plenty(const plenty&) = delete;
    plenty& operator=(const plenty&) = delete;
    ~plenty();

  private:
    bool was_counting_;
};

} // namespace colimit::test
