// SPDX-License-Identifier: BSL-1.0
//
// Metrics for Prometheus: writes the statistics of limiters, and the state of sources of policies,
// in its text format, version 0.0.4.

#pragma once

#include <colimit/diagnostics.hpp>
#include <colimit/limiter.hpp>
#include <colimit/policy_source.hpp>
#include <colimit/statistics.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colimit {

/// A label that a program adds to all samples of a limiter or a source, such as its name or its
/// thread.
struct metric_label {
    /// Letters, digits and `_`, not beginning with a digit or `__`; not one of the names that the
    /// metrics use themselves: `outcome`, `source`, `code`, `state`, `policy`, `problem`, `le`.
    std::string name;
    /// Any UTF-8. A label without a value is left out, as Prometheus ignores it.
    std::string value;
};

/// The metrics of one limiter at one moment. Keys of users are not among them: each would be a time
/// series of its own.
struct limiter_metrics {
    std::vector<metric_label> labels;
    colimit::statistics statistics;
    colimit::health health;
    /// Empty unless `config::counted_policies` is set.
    std::vector<colimit::policy_statistics> policies;
};

/// Returns the metrics of a limiter now; without `config::thread_safe` call it where the limiter is
/// used.
[[nodiscard]] limiter_metrics metrics_of(const limiter& of, std::vector<metric_label> labels = {});

/// The Content-Type of the text.
inline constexpr std::string_view prometheus_content_type =
    "text/plain; version=0.0.4; charset=utf-8";

/// Returns the metrics of several limiters as one text, which other metrics may precede or follow.
/// Times are in seconds. Counters begin with the limiter and never decrease; a limiter that is
/// replaced by another one with the same labels starts at 0, like a process that restarts.
///
/// @par Metrics
///   - `colimit_checks_total{outcome}`: calls that have ended; `outcome` is `allowed`, `denied`,
///     `never`, `failed` or `cancelled`. `colimit_checks_in_flight`: those that have not.
///   - `colimit_decisions_total{source}`: decisions, by `decision_source`.
///   - `colimit_errors_total{code}`: failed calls, by `errc`; `other` for codes of other libraries.
///   - `colimit_check_duration_seconds`: a histogram of the time of calls, with a server. Each
///     bucket is twice as wide as the one before it, from 64 us to 2.1 s.
///   - `colimit_policy_checks_total{policy, outcome}`, `colimit_policy_decisions_total{policy,
///     source}`, `colimit_policy_shadow_denials_total{policy}`: the same per policy, and grants
///     that a shadow rule would have denied. `policy` is `policy_statistics::policy`.
///   - `colimit_state{state}`: 1 for the limiter's `health_state`, 0 for the others.
///     `colimit_state_changed_timestamp_seconds`: since when. `colimit_problem_timestamp_seconds`:
///     the last time of `health::last_problem`; missing if there was none.
///   - `colimit_batches_total`, `colimit_batch_checks_total`, `colimit_batch_keys_total`,
///     `colimit_module_checks_total`, `colimit_module_connections`, `colimit_largest_batch_keys`,
///     `colimit_merged_checks_total`, `colimit_script_loads_total`, `colimit_sent_bytes_total`,
///     `colimit_received_bytes_total`, `colimit_reconnects_total`,
///     `colimit_breaker_openings_total`, `colimit_cached_denials`, `colimit_leases_total`,
///     `colimit_lease_tokens_taken_total`, `colimit_lease_tokens_spent_total`,
///     `colimit_lease_tokens_lapsed_total`, `colimit_slots_held`, `colimit_slots_acquired_total`,
///     `colimit_slots_renewed_total`, `colimit_slots_released_total`, `colimit_slots_lost_total`:
///     as in `statistics`.
///
/// @throws colimit::error with `errc::invalid_argument` if a label is not valid, or if two limiters
/// have the same labels; its `reason` says which
[[nodiscard]] std::string to_prometheus(std::span<const limiter_metrics> limiters);
[[nodiscard]] std::string to_prometheus(const limiter_metrics& one);

/// The metrics of one source of policies at one moment.
struct policy_source_metrics {
    std::vector<metric_label> labels;
    policy_status status;
};

/// Returns the metrics of a source now. May be called from any thread.
[[nodiscard]] policy_source_metrics metrics_of(const policy_source& of,
                                               std::vector<metric_label> labels = {});

/// Returns the metrics of several sources as one text, which those of limiters may precede or
/// follow.
///
/// @par Metrics
///   - `colimit_policies_loads_total`: documents that were in force so far.
///   - `colimit_policies_version`: that of the document in force; missing if it has none.
///     `colimit_policies_loaded_timestamp_seconds`: since when it is in force.
///   - `colimit_policies_limiting_routes`, `colimit_policies_unlikely_routes`: as in
///     `policy_status`. If there is no limiting one, no request is limited by its route.
///   - `colimit_policies_problem{problem}`: 1 for the kind of `policy_status::problem`, `refused`,
///     `older` or `unavailable`, while it lasts, and for `copy failed` while there is a
///     `copy_problem`; 0 for the others.
///
/// @throws colimit::error with `errc::invalid_argument` as above
[[nodiscard]] std::string to_prometheus(std::span<const policy_source_metrics> sources);
[[nodiscard]] std::string to_prometheus(const policy_source_metrics& one);

} // namespace colimit
