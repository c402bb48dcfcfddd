// SPDX-License-Identifier: BSL-1.0
//
// The peak memory of this process since a moment, as the kernel counts it: memory that was
// allocated and never touched does not count, memory that was freed in between does.

#pragma once

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace colimit::test {

class peak_memory {
  public:
    peak_memory() {
        auto reset = std::ofstream{"/proc/self/clear_refs"};
        reset << "5" << std::flush;
        if (!reset)
            throw std::runtime_error{"the peak of memory cannot be reset"};
        before_ = bytes("VmRSS:");
    }

    /// Bytes above what there was when this was made.
    [[nodiscard]] std::int64_t growth() const { return bytes("VmHWM:") - before_; }

  private:
    [[nodiscard]] static std::int64_t bytes(std::string_view field) {
        auto status = std::ifstream{"/proc/self/status"};
        auto word = std::string{};
        auto kib = std::int64_t{0};
        while (status >> word)
            if (word == field && status >> kib)
                return kib * 1024;
        throw std::runtime_error{"no memory in /proc/self/status"};
    }

    std::int64_t before_ = 0;
};

} // namespace colimit::test
