// SPDX-License-Identifier: BSL-1.0
//
// The cut matrix: bytes of a conversation's messages x the connection ends, is reset, falls silent,
// trickles, or one bit is another.

#pragma once

#include <faults/trial.hpp>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace colimit::test {

/// The messages of a connection that are cut.
struct cut_range {
    std::size_t connection = 0; ///< index in conversation::connections
    std::size_t first = 0;      ///< message
};

/// Every kind of fault at each of these messages, and checks of what has come of it.
class cut_matrix {
  public:
    explicit cut_matrix(trial_servers servers) : servers_(std::move(servers)) {}

    void cut(const conversation& c, const cut_range& range, fault_kind kind);

  private:
    [[nodiscard]] std::vector<trial> every_byte(const conversation& c, const cut_range& range,
                                                fault_kind kind) const;
    void check_ttls() const;

    trial_servers servers_;
    int number_ = 0; ///< of the next trial
};

inline constexpr auto matrix_kinds = std::array{
    fault_kind::fin, fault_kind::reset, fault_kind::stall, fault_kind::trickle, fault_kind::flip};

} // namespace colimit::test
