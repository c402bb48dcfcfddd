// SPDX-License-Identifier: BSL-1.0
//
// The interface of rival programs: `PROGRAM SOCKET CHECKS KEYS SHA1` makes CHECKS checks, of keys
// drawn uniformly, in a closed loop, and prints `checks_per_s client_us_per_check`. The first tenth
// of the checks is not in the figures. SHA1 is that of reference.lua, which the server has loaded;
// rivals with their own scripts ignore it. `PROGRAM --version` prints its libraries.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

namespace colimit::benchmark {

/// Checks in flight at a time.
inline constexpr std::uint32_t rival_callers = 256;

struct rival_arguments {
    std::string socket;
    std::uint64_t checks = 0;
    std::uint32_t keys = 1;
    std::string sha1;
};

/// Counts results, and measures time and processor time from the end of the first tenth to the
/// last.
class stopwatch {
  public:
    stopwatch(std::uint64_t checks, std::uint32_t callers)
        : checks_(std::max<std::uint64_t>(checks, 10)), untimed_(checks_ / 10),
          last_asked_(checks_ - std::min<std::uint64_t>(callers, checks_)) {}

    /// Counts a result, and returns whether another check is to be made.
    [[nodiscard]] bool answered() {
        if (++answered_ == untimed_) {
            begin_ = clock::now();
            cpu_ = cpu_seconds();
        }
        if (is_over()) {
            took_ = std::chrono::duration<double>(clock::now() - begin_).count();
            cpu_ = cpu_seconds() - cpu_;
        }
        return answered_ <= last_asked_;
    }
    [[nodiscard]] bool is_over() const noexcept { return answered_ == checks_; }

    void print() const {
        const auto timed = static_cast<double>(checks_ - untimed_);
        std::cout << timed / took_ << ' ' << cpu_ / timed * 1e6 << '\n';
    }

  private:
    using clock = std::chrono::steady_clock;

    [[nodiscard]] static double cpu_seconds() {
        auto t = std::timespec{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
    }

    std::uint64_t checks_;
    std::uint64_t untimed_;
    std::uint64_t last_asked_; ///< with this result the last check is sent
    std::uint64_t answered_ = 0;
    clock::time_point begin_;
    double took_ = 0;
    double cpu_ = 0;
};

template<class Run>
int rival_main(int argc, char** argv, const std::string& version, Run run) {
    try {
        if (argc == 2 && std::string_view{argv[1]} == "--version") {
            std::cout << version << '\n';
            return 0;
        }
        if (argc != 5) {
            std::cerr << "usage: " << argv[0] << " SOCKET CHECKS KEYS SHA1\n";
            return 2;
        }
        return run(rival_arguments{.socket = argv[1],
                                   .checks = std::stoull(argv[2]),
                                   .keys = static_cast<std::uint32_t>(std::stoul(argv[3])),
                                   .sha1 = argv[4]});
    } catch (const std::exception& e) {
        std::cerr << argv[0] << ": " << e.what() << '\n';
        return 1;
    }
}

} // namespace colimit::benchmark
