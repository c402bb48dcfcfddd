// SPDX-License-Identifier: BSL-1.0
//
// Rules as people write them: `100/s`, `5/m burst 10`, `20 per 1m; 200 per 24h named day`.

#ifndef COLIMIT_TEXT_HPP
#define COLIMIT_TEXT_HPP

#include <colimit/rule.hpp>

#include <string_view>
#include <vector>

namespace colimit {

/// Reads rules joined by `;`. Each of them is
///
///     COUNT ('/' | 'per') [N] UNIT [ALGORITHM] ['burst' CAPACITY] ['named' NAME] ['shadow']
///
/// with UNIT one of us, ms, s, m, h, d (also sec, second, minute, hour, day and their plurals),
/// ALGORITHM one of gcra (the default), cell, token_bucket, leaky_bucket, and CAPACITY the most
/// that fits at once (default: COUNT; for cell that is max_burst + 1). Words may stand in any order
/// after the unit, each once; case does not matter, except in names. `parse_rules(to_string(r))`
/// gives back r.
///
/// @throws colimit::error with `errc::invalid_policy`: the character at which reading stopped, what
/// stands there and what is allowed. Whether the numbers make a rule is checked when a policy is
/// made of it.
[[nodiscard]] std::vector<rule> parse_rules(std::string_view text);

} // namespace colimit

#endif
