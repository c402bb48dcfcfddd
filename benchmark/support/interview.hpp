// SPDX-License-Identifier: BSL-1.0
//
// Asks the questions in turn, each several times, each after the one it is compared with, and says
// on stderr how far it is.

#ifndef COLIMIT_BENCHMARK_SUPPORT_INTERVIEW_HPP
#define COLIMIT_BENCHMARK_SUPPORT_INTERVIEW_HPP

#include <support/question.hpp>
#include <support/result.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::benchmark {

class interview {
  public:
    /// @param questions must outlive this
    interview(std::span<const question> questions, conditions each, std::size_t rounds);

    /// Asks those, in the order of the questions.
    /// @throws std::runtime_error that names the question which has no answer
    void ask(const std::vector<std::string_view>& names);

    /// In the order of the questions, those that others were compared with included.
    [[nodiscard]] std::vector<result> results() const;
    /// `name: why`, of rivals that are not to be had here.
    [[nodiscard]] const std::vector<std::string>& left_out() const noexcept { return left_out_; }

  private:
    [[nodiscard]] const question* find(std::string_view name) const;
    [[nodiscard]] bool is_baseline(const question& q) const;
    [[nodiscard]] measurement ask_once(const question& q, const std::string& round);
    void ask_rounds(const question& q);
    void find_most_per_s();

    std::span<const question> questions_;
    conditions each_;
    std::size_t rounds_;
    std::map<std::string_view, result> made_;
    std::map<std::string_view, std::vector<measurement>> baselines_;
    std::vector<std::string> left_out_;
    std::size_t asked_ = 0; ///< turns
    std::size_t turns_ = 0; ///< that there will be
    std::chrono::steady_clock::time_point begin_;
};

} // namespace colimit::benchmark

#endif
