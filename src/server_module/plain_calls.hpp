// SPDX-License-Identifier: BSL-1.0
//
// Calls on keys whose states are numbers in a string of their own.

#pragma once

#include <server_module/key_calls.hpp>
#include <server_module/key_results.hpp>
#include <server_module/policy_states.hpp>
#include <server_module/string_value.hpp>

#include <optional>
#include <span>

namespace colimit::server_module {

class plain_calls final : public key_calls {
  public:
    /// @param names of the keys, the first of which has the index `first` in the results
    plain_calls(command_run& run, const core::compiled_policy& rules, std::span<api::string*> names,
                std::size_t first, key_results& results) noexcept
        : run_(run), names_(names), first_(first), results_(results), rules_(rules),
          states_(rules) {}

    void begin(std::size_t key) override;
    void make(const listed_call& call, pass how) override;
    void finish() override;
    [[nodiscard]] bool finds_stale() const noexcept override { return finds_stale_; }

  private:
    command_run& run_;
    std::span<api::string*> names_;
    std::size_t first_;
    key_results& results_;
    const core::compiled_policy& rules_;
    policy_states states_;
    std::size_t key_ = 0;
    std::optional<string_value> value_{};
    bool finds_stale_ = false;
};

} // namespace colimit::server_module
