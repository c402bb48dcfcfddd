// SPDX-License-Identifier: BSL-1.0
//
// A suite of a case file: an algorithm, its numbers, and steps with what they are to give.

#pragma once

#include "document.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace colimit::conformance {

/// A suite that cannot be run here, and why.
struct left_out {
    std::string reason;
};

enum class algo : std::uint8_t { gcra, token_bucket, fixed_window, sliding_log, sliding_counter };

enum class op : std::uint8_t {
    consume,
    peek,
    consume_up_to,
    consume_force,
    add,
    add_force,
    available,
    balance,
    time_to_full,
    delay_for,
    reset,
    formula,
};

/// How tokens return to a bucket, as named in the files.
enum class refilling : std::uint8_t { greedy, interval, aligned };

struct bandwidth {
    std::int64_t capacity;
    std::int64_t refill;
    std::int64_t period; ///< ns
    std::int64_t initial;
    refilling kind;
};

struct step {
    conformance::op op;
    std::int64_t n = 0;
    std::int64_t time = 0; ///< ns
    std::string key;
    element source; ///< with what is expected
};

struct suite {
    std::string id;
    conformance::algo algo;
    std::int64_t limit = 0;              ///< the capacity of gcra, and of windows and logs
    std::int64_t count = 0;              ///< of gcra
    std::int64_t period = 0;             ///< ns
    std::vector<bandwidth> bandwidths{}; ///< of token_bucket
    std::vector<step> steps{};

    [[nodiscard]] bool is_formula() const noexcept {
        return !steps.empty() && steps.front().op == op::formula;
    }
};

/// Throws `left_out` for a suite that cannot be run here, and `bad_file` for one that makes no
/// sense.
[[nodiscard]] suite read_suite(const element& source);

} // namespace colimit::conformance
