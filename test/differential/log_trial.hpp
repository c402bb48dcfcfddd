// SPDX-License-Identifier: BSL-1.0
//
// A history of sliding logs on a server that is asked without scripts, compared with the store's
// own log in this process. A row leaves when the one before has been answered, as its removals do.

#pragma once

#include "history.hpp"
#include "sent_batch.hpp"

#include <core/event_log.hpp>
#include <redis/multi/multi_queue.hpp>
#include <support/fake_operation.hpp>
#include <support/raw_client.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::differential {

class log_trial {
  public:
    /// @param prefix of its keys, its own
    log_trial(history told, std::string prefix);

    [[nodiscard]] const history& told() const noexcept { return told_; }
    [[nodiscard]] bool is_over() const noexcept { return step_ == told_.steps.size(); }

    /// Appends the next step, and what the step before left to be removed.
    void send(std::string& out);
    /// Reads all replies to it, and answers the first difference.
    [[nodiscard]] std::optional<mismatch> compare(test::raw_client& server);

  private:
    [[nodiscard]] const core::compiled_policy& rules() const noexcept;
    [[nodiscard]] std::string name_of(std::size_t key) const;
    [[nodiscard]] decision expected(const key_call& c);
    void compare_decisions(const step& s);
    void compare_end(std::size_t key, const test::reply& ttl);
    void report(std::string what);

    history told_;
    std::string prefix_;
    redis::multi_queue queue_;
    std::vector<core::event_log> logs_; ///< in this process
    std::deque<test::fake_operation> calls_;
    std::size_t step_ = 0;
    std::optional<mismatch> first_;
};

/// Many histories side by side. Says how it went, with the smallest one that shows a difference;
/// true when all agreed.
[[nodiscard]] bool compare_logs(test::raw_client& server, std::size_t calls, std::uint64_t seed);

} // namespace colimit::differential
