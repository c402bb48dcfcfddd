// SPDX-License-Identifier: BSL-1.0
//
// Observes calls for counters per policy and for audit logs. If a configuration asks for neither, a
// limiter has no observer.
//
//   start of a call    -> begin: the policy, and a copy of the key
//   its decision       -> end: counts it, and selects it for the audit log (with the lock held)
//   before its handler -> report: calls `config::on_decision` (without the lock)

#pragma once

#include <colimit/config.hpp>
#include <colimit/detail/call_operation.hpp>
#include <colimit/statistics.hpp>
#include <limiter/observed_call.hpp>
#include <limiter/policy_counter.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace colimit::detail {

class call_observer {
  public:
    /// Returns null if the configuration does not ask for one.
    [[nodiscard]] static std::unique_ptr<call_observer> make(const config& settings);
    explicit call_observer(const config& settings);

    /// Keeps the data that is valid only now.
    void begin(operation& op, const call& c) const;
    /// @param took the time from the start of the call; null if it was not measured
    void end(operation& op, const std::chrono::microseconds* took) noexcept;
    void report(operation& op) const;

    [[nodiscard]] std::vector<policy_statistics> counted() const { return counter_.counted(); }

  private:
    /// Selects one of so many.
    struct sample {
        std::uint32_t every = 1;
        std::uint32_t passed = 0;

        /// Returns the number of calls that this one stands for, or 0.
        [[nodiscard]] std::uint32_t next() noexcept {
            if (every == 0 || ++passed < every)
                return 0;
            passed = 0;
            return every;
        }
    };

    void keep(observed_call::part& to, char*& room, const policy_pointer& policy,
              std::string_view key, std::int64_t cost) const noexcept;
    [[nodiscard]] std::size_t room_for(std::string_view key) const noexcept;
    void count(const observed_call::part& part, bool is_granted, const error_code& ec,
               const decision& d, const std::chrono::microseconds* took) noexcept;
    [[nodiscard]] sample& sample_of(const error_code& ec, const decision& d) noexcept;

    policy_counter counter_;
    std::function<void(const audit_record&)> on_decision_;
    sample allowed_;
    sample denied_;
    sample failed_;
};

} // namespace colimit::detail
