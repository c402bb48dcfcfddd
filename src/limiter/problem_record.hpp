// SPDX-License-Identifier: BSL-1.0
//
// A recorded problem, without allocated memory, from which `colimit::problem` is made.

#pragma once

#include <colimit/diagnostics.hpp>
#include <limiter/problem_text.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace colimit::detail {

struct problem_record {
    using clock = std::chrono::system_clock;

    errc code{};
    colimit::phase phase{};
    problem_text text;
    clock::time_point first;
    clock::time_point last;
    std::uint64_t count = 0;

    [[nodiscard]] bool is_same(const problem_record& other) const noexcept {
        return code == other.code && phase == other.phase && text.view() == other.text.view();
    }

    void repeat(clock::time_point now) noexcept {
        last = now;
        ++count;
    }

    [[nodiscard]] problem as_problem() const {
        return {.code = code,
                .phase = phase,
                .text = std::string{text.view()},
                .first = first,
                .last = last,
                .count = count};
    }
};

} // namespace colimit::detail
