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

/// Counts a call that has ended.
inline void add_call(call_counts& to, const error_code& ec, const decision& d) noexcept {
    if (!ec) {
        ++(d.allowed() ? to.allowed : d.outcome == outcome::denied ? to.denied : to.never);
        ++to.sources[static_cast<std::size_t>(d.source)];
        return;
    }
    if (ec == boost::asio::error::operation_aborted) {
        ++to.cancelled;
        return;
    }
    ++to.failed;
    const auto is_own = ec.category() == error_category();
    ++to.errors[is_own ? static_cast<std::size_t>(ec.value()) : 0];
}

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
            counted_.latency.add(duration(op, now));
        add_call(counted_, op.ec, op.result);
    }

    /// Returns the time since the start of a call with a deadline.
    [[nodiscard]] std::chrono::microseconds duration(const operation& op,
                                                     std::int64_t now) const noexcept {
        return std::chrono::microseconds{now - (op.deadline - timeout_)};
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
