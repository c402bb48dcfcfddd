// SPDX-License-Identifier: BSL-1.0
//
// Rules as people write them: `100/s`, `5/m burst 10`, `20 per 1m; 200 per 24h named day`.

#ifndef COLIMIT_TEXT_HPP
#define COLIMIT_TEXT_HPP

#include <colimit/rule.hpp>

#include <string_view>
#include <vector>

namespace colimit {

/// Reads 1 to 8 rules joined by `;` (one more at the end does no harm). Each of them is
///
///     COUNT ('/' | 'per') [N] UNIT [ALGORITHM] ['burst' CAPACITY] ['shadow'] ['named' NAME]
///
///   - COUNT, N and CAPACITY are whole numbers up to 2^63 - 1, without sign or separators;
///   - UNIT is us, ms, s, m, h or d, or usec, msec, sec, min, hr, microsecond, millisecond, second,
///     minute, hour, day, or one of their plurals; a month, a week or a year is none;
///   - ALGORITHM is gcra (the default), cell, token_bucket or leaky_bucket;
///   - CAPACITY is the most that fits at once (default: COUNT; for cell it is max_burst + 1);
///   - NAME has 1 to 64 characters of `[A-Za-z0-9_.-]`.
///
/// The words after the unit may stand in any order, each once. Case does not matter, except in
/// names. Spaces, tabs and line ends may stand between words, and need not stand around `/` and
/// `;` or between N and UNIT. `parse_rules(to_string(r))` gives back r.
///
/// @throws colimit::error with `errc::invalid_policy`: the character at which reading stopped, what
/// stands there and what is allowed, such as `rule text, character 3: expected a unit of time (us,
/// ms, s, m, h, d), found 'x'`. Whether the numbers make a rule is checked when a policy is made of
/// it.
[[nodiscard]] std::vector<rule> parse_rules(std::string_view text);

} // namespace colimit

#endif
