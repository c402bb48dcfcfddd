// SPDX-License-Identifier: BSL-1.0
//
// Rules in text form: `100/s`, `5/m burst 10`, `20 per 1m sliding_log; 3 per month utc+8`.

#pragma once

#include <colimit/rule.hpp>

#include <string_view>
#include <vector>

namespace colimit {

/// Parses 1 to 8 rules separated by `;` (a trailing `;` is accepted). Each of them is
///
///     COUNT ('/' | 'per') [N] UNIT [ALGORITHM] [REFINEMENT ...]
///
///   - COUNT and N are whole numbers up to 2^63 - 1, without sign or separators. The COUNT of a
///     bucket that is refilled continuously may have a decimal fraction: `0.5/s` is one per two
///     seconds, and its burst is the count, rounded up, unless it is given;
///   - UNIT is us, ms, s, m, h or d, or usec, msec, sec, min, hr, microsecond, millisecond, second,
///     minute, hour, day, or one of their plurals; or week, month or year, for which N must be 1;
///   - ALGORITHM is gcra (the default), cell, token_bucket, leaky_bucket, fixed_window, calendar,
///     sliding_window, sliding_log, distinct or concurrent, whose lease is the period;
///
/// and the refinements are those of `rule`:
///
/// | refinement | meaning |
/// |---|---|
/// | `burst N` | the largest burst; for cell it is max_burst + 1 (default: COUNT) |
/// | `stepwise`, `aligned` | how a bucket is refilled (default: continuously) |
/// | `initially N` | the initial tokens of a bucket (default: full) |
/// | `from_first` | a fixed window starts with the first charge |
/// | `count_denied` | a sliding log counts denied calls too |
/// | `utc`, `utc+8`, `utc-3`, `utc+05:30` | where a calendar's days begin (default: utc) |
/// | `shadow` | never denies |
/// | `named NAME` | 1 to 64 characters of `[A-Za-z0-9_.-]` |
///
/// `3 per month` is a calendar rule, as are week and year. A day is a period of 24 h: `5/day` is a
/// gcra rule; a calendar rule needs the word `calendar` or a UTC offset, as in `5 per day calendar`
/// and `5 per day utc+8`.
///
/// The words after the unit may stand in any order, each once. Case does not matter, except in
/// names. Spaces, tabs and line ends may stand between words, and are optional around `/` and `;`
/// and between N and UNIT. `parse_rules(to_string(r))` returns r if the factories made it and it is
/// valid in a policy.
///
/// @throws colimit::error with `errc::invalid_policy`: with the position of the error, the text
/// found there and the expected one, such as `rule text, character 3: expected a unit of time (us,
/// ms, s, m, h, d, week, month, year), found 'x'`. The numbers, and whether the algorithm has a
/// refinement, are checked when a policy is made of the rules.
[[nodiscard]] std::vector<rule> parse_rules(std::string_view text);

} // namespace colimit
