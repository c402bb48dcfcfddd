// SPDX-License-Identifier: BSL-1.0
//
// When tokens come back: asked with peeks, so it is exact for every kind of rule and storage.

#pragma once

#include <colimit/config.hpp>
#include <colimit/decision.hpp>
#include <colimit/policy.hpp>
#include <tool/frame/policy_options.hpp>

#include <boost/json/object.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tool {

/// So many tokens are left after a time.
struct return_time {
    std::int64_t tokens = 0;
    std::chrono::microseconds after{};
};

struct recovery {
    colimit::decision now; ///< of a peek of cost 1, or 0 if a rule counts members
    /// For each rule: the next token, about half of the missing ones, and all; fewer if they are
    /// the same or not known.
    std::vector<std::vector<return_time>> returns;
};

/// Asks about each key under its policy.
[[nodiscard]] std::vector<recovery> recoveries_of(const colimit::config& settings,
                                                  const std::vector<limited_key>& keys);

/// Returns the decision and one line for each rule.
[[nodiscard]] std::string recovery_text(const colimit::policy& p, const recovery& r);

/// Adds `returns` to each rule of a decision's object.
void add_returns(boost::json::object& decision, const recovery& r);

} // namespace tool
