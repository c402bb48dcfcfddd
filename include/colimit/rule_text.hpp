// SPDX-License-Identifier: BSL-1.0
//
// Rules as people write them: `100/s`, `5/m burst 10`, `20 per 1m sliding_log; 3 per month utc+8`.

#ifndef COLIMIT_RULE_TEXT_HPP
#define COLIMIT_RULE_TEXT_HPP

#include <colimit/rule.hpp>

#include <string_view>
#include <vector>

namespace colimit {

/// Reads 1 to 8 rules joined by `;` (one more at the end does no harm). Each of them is
///
///     COUNT ('/' | 'per') [N] UNIT [ALGORITHM] [REFINEMENT ...]
///
///   - COUNT and N are whole numbers up to 2^63 - 1, without sign or separators;
///   - UNIT is us, ms, s, m, h or d, or usec, msec, sec, min, hr, microsecond, millisecond, second,
///     minute, hour, day, or one of their plurals; or week, month or year, of which N is 1;
///   - ALGORITHM is gcra (the default), cell, token_bucket, leaky_bucket, fixed_window, calendar,
///     sliding_window, sliding_log or distinct;
///
/// and the refinements are those of `rule`:
///
/// | refinement | meaning |
/// |---|---|
/// | `burst N` | the most that fits at once; for cell it is max_burst + 1 (default: COUNT) |
/// | `stepwise`, `aligned` | how a bucket is refilled (default: continuously) |
/// | `initially N` | what a bucket starts with (default: full) |
/// | `from_first` | a fixed window starts with the first charge |
/// | `count_denied` | a sliding log counts refused calls too |
/// | `utc`, `utc+8`, `utc-3`, `utc+05:30` | where a calendar's days begin (default: utc) |
/// | `shadow` | refuses nobody |
/// | `named NAME` | 1 to 64 characters of `[A-Za-z0-9_.-]` |
///
/// `3 per month`, and so week and year, is a calendar rule by itself. A day is also a period of
/// 24 h: `5/day` is a gcra rule, and a calendar rule only with a word that says so, as in
/// `5 per day calendar` and `5 per day utc+8`.
///
/// The words after the unit may stand in any order, each once. Case does not matter, except in
/// names. Spaces, tabs and line ends may stand between words, and need not stand around `/` and
/// `;` or between N and UNIT. `parse_rules(to_string(r))` gives back r, if the factories
/// made it and a policy can be made of it.
///
/// @throws colimit::error with `errc::invalid_policy`: the character at which reading stopped, what
/// stands there and what is allowed, such as `rule text, character 3: expected a unit of time (us,
/// ms, s, m, h, d, week, month, year), found 'x'`. Whether the numbers make a rule, and whether
/// its algorithm has such a refinement, is checked when a policy is made of it.
[[nodiscard]] std::vector<rule> parse_rules(std::string_view text);

} // namespace colimit

#endif
