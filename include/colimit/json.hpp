// SPDX-License-Identifier: BSL-1.0
//
// Policies as JSON, for configuration files. The JSON library is not part of the interface, and
// colimit's copy of Boost.JSON does not conflict with one that the program uses.

#pragma once

#include <colimit/policy.hpp>
#include <colimit/policy_set.hpp>

#include <string>
#include <string_view>

namespace colimit {

/// Parses a document of policies:
///
///     {"policies": {
///       "api": "100/s; 5000/h named hour",
///       "search": ["20/m sliding_log", "3 per month utc+8"],
///       "login": {
///         "rules": ["5/s burst 10",
///                   {"algorithm": "sliding_log", "limit": 20, "period": "1m", "name": "minute"}],
///         "prevent_duplicate": "5s"
///       }
///     }}
///
/// A policy is its rules, or an object with `rules` and, optionally, `prevent_duplicate` (a
/// duration), `shadow` (true or false), `on_failure` (`local`, `allow`, `deny` or `error`),
/// `storage` (`per_key` or `shared_hash`), `leases` (a duration) and `prefix` (a name): see
/// `policy`. Rules are a text of `parse_rules`, or an array of such texts and of objects, 1 to 8
/// rules together. The fields of an object are
///
/// | field | of | meaning |
/// |---|---|---|
/// | `algorithm` | | `gcra` (the default) or another name of `algorithm` |
/// | `limit` | | a whole number; `count` is a synonym for buckets |
/// | `period` | all but calendar | a duration |
/// | `burst` | buckets | the largest burst; `capacity` is a synonym (default: the limit) |
/// | `refill` | buckets | `continuous` (the default), `stepwise` or `aligned` |
/// | `initially` | buckets | the initial tokens of a bucket (default: full) |
/// | `from_first` | fixed_window | true: a window starts with the first charge |
/// | `count_denied` | sliding_log | true: denied calls count too |
/// | `unit` | calendar | `day`, `week`, `month` or `year` |
/// | `utc_offset` | calendar | `+05:30`, `-3`, `utc` (the default) |
/// | `shadow` | | true: never denies |
/// | `name` | | a name (default: the algorithm's) |
///
/// A duration is a text with a unit, `500ms`, `1m`, `24h`; a number alone is not a valid duration.
/// Numbers are whole, without fraction and exponent. Unknown fields and fields given twice, also by
/// two synonyms, are errors.
///
/// @par Limits `limits::max_json_bytes`, `json_depth`, `json_members`, `json_values` and
/// `policies`. Parsing does not recurse.
///
/// @throws colimit::error with `errc::invalid_policy`. `what()` begins with the position: a path
/// through the document, `policies.login.rules[1].limit: invalid value (got 0, expected at least
/// 1)`, followed by the character within a rule text, or, if the document is not valid JSON, `JSON,
/// line 3, column 5: syntax error`.
[[nodiscard]] policy_set parse_policies(std::string_view document);

/// Returns a document with one line per policy and rules as texts, which parses to an equal set.
[[nodiscard]] std::string to_json(const policy_set& policies);

/// Returns a document with this policy alone.
[[nodiscard]] std::string to_json(const policy& single);

} // namespace colimit
