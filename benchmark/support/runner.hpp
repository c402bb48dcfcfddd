// SPDX-License-Identifier: BSL-1.0
//
// Runs the scenarios alternately, each several times, each after the one it is compared with, and
// reports its progress on stderr.

#pragma once

#include <support/result.hpp>
#include <support/scenario.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::benchmark {

class runner {
  public:
    /// @param scenarios must outlive this
    runner(std::span<const scenario> scenarios, conditions each, std::size_t rounds);

    /// Runs these, in the order of the table.
    /// @throws std::runtime_error that names the failed scenario
    void run(const std::vector<std::string_view>& names);

    /// Returns the results in the order of the table, including scenarios that others were compared
    /// with.
    [[nodiscard]] std::vector<result> results() const;
    /// Returns `name: why` of rivals that are not available here.
    [[nodiscard]] const std::vector<std::string>& left_out() const noexcept { return left_out_; }

  private:
    [[nodiscard]] const scenario* find(std::string_view name) const;
    [[nodiscard]] bool is_baseline(const scenario& s) const;
    [[nodiscard]] measurement run_once(const scenario& s, const std::string& round);
    void run_rounds(const scenario& s);
    void find_most_per_s();

    std::span<const scenario> scenarios_;
    conditions each_;
    std::size_t rounds_;
    std::map<std::string_view, result> made_;
    std::map<std::string_view, std::vector<measurement>> baselines_;
    std::vector<std::string> left_out_;
    std::size_t turn_ = 0;  ///< turns
    std::size_t turns_ = 0; ///< the total
    std::chrono::steady_clock::time_point begin_;
};

} // namespace colimit::benchmark
