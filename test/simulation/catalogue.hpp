// SPDX-License-Identifier: BSL-1.0
//
// The policies and keys of a run, by the names that the servers see.

#pragma once

#include "ledger.hpp"

#include <colimit/policy.hpp>
#include <policy/policy_data.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::simulation {

/// A key under a policy: one state.
struct state_name {
    std::size_t policy;
    std::size_t key;
    std::uint16_t slot;
    std::string text;
};

class catalogue {
  public:
    catalogue(std::vector<policy> policies, std::size_t keys, std::string_view prefix);

    [[nodiscard]] const std::vector<policy>& policies() const noexcept { return policies_; }
    [[nodiscard]] const std::vector<std::string>& keys() const noexcept { return keys_; }
    [[nodiscard]] const std::vector<state_name>& states() const noexcept { return states_; }
    [[nodiscard]] std::vector<limit> limits() const;
    /// Returns the index of the state, if it is one.
    [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
    [[nodiscard]] std::size_t state_of(std::string_view name) const;
    /// Returns the policies whose encodings the text consists of.
    [[nodiscard]] std::vector<const detail::policy_data*> policies_in(std::string_view wire) const;

  private:
    std::vector<policy> policies_;
    std::vector<std::string> keys_;
    std::vector<state_name> states_;
    std::map<std::string, std::size_t, std::less<>> index_;
};

} // namespace colimit::simulation
