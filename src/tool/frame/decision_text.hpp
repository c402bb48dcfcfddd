// SPDX-License-Identifier: BSL-1.0
//
// Decisions as text and as JSON, for all commands that make calls.

#pragma once

#include <colimit/decision.hpp>
#include <colimit/policy.hpp>

#include <boost/json/object.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace tool {

/// Returns a rule's text, with `shadow` also if its policy is in shadow mode.
[[nodiscard]] std::string rule_text(const colimit::policy& p, std::size_t rule);

/// Returns the first line of `decision_text`, without a line break.
[[nodiscard]] std::string decision_headline(const colimit::policy& p, const colimit::decision& d);

/// Returns one line, such as `allowed: 4 of 10 left, rule gcra; all of it in 1.2 s`, and one line
/// for each rule if there are several.
[[nodiscard]] std::string decision_text(const colimit::policy& p, const colimit::decision& d);

/// Returns a decision for --json: the members `outcome`, `policy`, `key`, `limit` and so on.
[[nodiscard]] boost::json::object decision_object(std::string_view key, const colimit::policy& p,
                                                  const colimit::decision& d);

} // namespace tool
