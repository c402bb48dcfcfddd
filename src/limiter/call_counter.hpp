// SPDX-License-Identifier: BSL-1.0
//
// Counters of a limiter's calls and of their outcomes.

#pragma once

#include <colimit/detail/operation.hpp>
#include <colimit/statistics.hpp>

#include <boost/asio/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace colimit::detail {

class call_counter {
  public:
    /// @param timeout microseconds from the start of a call to its deadline
    explicit call_counter(std::int64_t timeout) noexcept : timeout_(timeout) {}

    void begin(const operation& op) noexcept { counted_.checks += is_counted(op) ? 1U : 0U; }

    /// @param now according to the clock of the deadline, if the call has one
    void end(const operation& op, std::int64_t now) noexcept {
        if (!is_counted(op))
            return;
        if (op.deadline != 0)
            counted_.latency.add(std::chrono::microseconds{now - (op.deadline - timeout_)});
        if (!op.ec) {
            const auto& d = op.result;
            ++(d.allowed()                    ? counted_.allowed
               : d.outcome == outcome::denied ? counted_.denied
                                              : counted_.never);
            ++counted_.sources[static_cast<std::size_t>(d.source)];
            return;
        }
        if (op.ec == boost::asio::error::operation_aborted) {
            ++counted_.cancelled;
            return;
        }
        ++counted_.failed;
        const auto is_own = op.ec.category() == error_category();
        ++counted_.errors[is_own ? static_cast<std::size_t>(op.ec.value()) : 0];
    }

    [[nodiscard]] const colimit::statistics& counted() const noexcept { return counted_; }

  private:
    /// Counts the parts of a call of several, such as `allow_many`, not the call that has them.
    [[nodiscard]] static bool is_counted(const operation& op) noexcept {
        return op.kind != call_kind::ready && op.kind != call_kind::each &&
               op.kind != call_kind::release && op.kind != call_kind::inspect;
    }

    std::int64_t timeout_;
    colimit::statistics counted_;
};

} // namespace colimit::detail
