// SPDX-License-Identifier: BSL-1.0
//
// Metrics of limiters: the text format wants all samples of a metric together, so it is written
// metric by metric, each for all limiters.
//
// `latency_histogram` has eight buckets per doubling, which would be 250 time series per limiter. A
// sum of whole buckets is exact, so every eighth boundary is one for Prometheus (64 us to 2.1 s).
// `to_prometheus` takes snapshots of limiters (`metrics_of`), as each limiter belongs to a thread.

#include <api/metric_labels.hpp>
#include <api/metric_text.hpp>
#include <base/enumerator.hpp>
#include <colimit/metrics.hpp>

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace colimit {
namespace {

using std::chrono::microseconds;

constexpr auto outcomes = std::to_array<std::pair<const char*, std::uint64_t call_counts::*>>(
    {{"allowed", &call_counts::allowed},
     {"denied", &call_counts::denied},
     {"never", &call_counts::never},
     {"failed", &call_counts::failed},
     {"cancelled", &call_counts::cancelled}});

[[nodiscard]] std::string_view name_of_code(std::size_t code) noexcept {
    return name_of(code, {"other", "unavailable", "deadline_exceeded", "outcome_unknown",
                          "too_many_in_flight", "server_error", "bad_reply", "key_conflict",
                          "corrupt_state", "auth_failed", "untrusted_server", "closed",
                          "invalid_argument", "invalid_policy", "invalid_key", "invalid_config",
                          "wrong_node"});
}

/// Writes all metrics of some limiters.
class writer {
  public:
    explicit writer(std::span<const limiter_metrics> limiters)
        : limiters_(limiters), labels_(texts_of_labels("limiters", limiters)) {}

    [[nodiscard]] std::string write() {
        write_calls();
        write_policies();
        write_health();
        write_traffic();
        return std::move(out_);
    }

  private:
    /// @param each writes the samples of one limiter
    template<std::invocable<metric&, const limiter_metrics&, const std::string&> Each>
    void write(std::string_view name, std::string_view type, std::string_view help, Each each) {
        auto of = metric{out_, name, type, help};
        for (std::size_t i = 0; i < limiters_.size(); ++i)
            each(of, limiters_[i], labels_[i]);
    }

    void write(std::string_view name, std::string_view type, std::string_view help,
               std::uint64_t statistics::* member) {
        write(name, type, help,
              [member](metric& to, const limiter_metrics& l, const std::string& labels) {
                  to.add(labels, l.statistics.*member);
              });
    }

    /// @param each writes the samples of one policy
    template<class Each>
    void write_per_policy(std::string_view name, std::string_view help, Each each) {
        write(name, "counter", help,
              [&](metric& to, const limiter_metrics& l, const std::string& labels) {
                  for (const auto& p : l.policies)
                      each(to, p, joined(labels, "policy", p.policy));
              });
    }

    static void add_outcomes(metric& to, const call_counts& counts, std::string_view labels) {
        for (const auto& [name, member] : outcomes)
            to.add(joined(labels, "outcome", name), counts.*member);
    }

    static void add_sources(metric& to, const call_counts& counts, std::string_view labels) {
        for (std::size_t i = 0; i < counts.sources.size(); ++i)
            to.add(joined(labels, "source", to_string(static_cast<decision_source>(i))),
                   counts.sources[i]);
    }

    /// A bucket ends where one of the finer histogram does. Its times are whole microseconds,
    /// rounded down: so the number of those below 64 us is that of times up to 64 us.
    static void add_histogram(metric& to, const latency_histogram& h, std::string_view labels) {
        constexpr auto least = microseconds{64};
        constexpr auto most = microseconds{std::int64_t{1} << 21};
        auto sum = std::uint64_t{0};
        auto next = std::size_t{0};
        for (auto end = least; end <= most; end *= 2) {
            for (; latency_histogram::bucket_lower_bound(next) < end; ++next)
                sum += h[next];
            to.add(joined(labels, "le", seconds(end)), sum, "_bucket");
        }
        to.add(joined(labels, "le", "+Inf"), h.count(), "_bucket");
        to.add(labels, seconds(h.sum()), "_sum");
        to.add(labels, h.count(), "_count");
    }

    void write_calls() {
        write("colimit_checks_total", "counter",
              "Calls of the limiter that have ended, by outcome.",
              [](metric& to, const limiter_metrics& l, const std::string& labels) {
                  add_outcomes(to, l.statistics, labels);
              });
        write("colimit_checks_in_flight", "gauge", "Calls of the limiter that have not ended yet.",
              [](metric& to, const limiter_metrics& l, const std::string& labels) {
                  to.add(labels, l.statistics.checks - l.statistics.ended());
              });
        write("colimit_decisions_total", "counter",
              "Decisions, by source: the store, the deny cache, a lease or a failure mode.",
              [](metric& to, const limiter_metrics& l, const std::string& labels) {
                  add_sources(to, l.statistics, labels);
              });
        write("colimit_errors_total", "counter", "Calls that ended with an error, by its code.",
              [](metric& to, const limiter_metrics& l, const std::string& labels) {
                  for (std::size_t i = 0; i < l.statistics.errors.size(); ++i)
                      to.add(joined(labels, "code", name_of_code(i)), l.statistics.errors[i]);
              });
        write("colimit_check_duration_seconds", "histogram",
              "Time from the start of calls to their completion, with a server.",
              [](metric& to, const limiter_metrics& l, const std::string& labels) {
                  add_histogram(to, l.statistics.latency, labels);
              });
    }

    void write_policies() {
        write_per_policy("colimit_policy_checks_total",
                         "Calls under a policy that have ended, by outcome.",
                         [](metric& to, const policy_statistics& p, const std::string& labels) {
                             add_outcomes(to, p, labels);
                         });
        write_per_policy("colimit_policy_decisions_total", "Decisions under a policy, by source.",
                         [](metric& to, const policy_statistics& p, const std::string& labels) {
                             add_sources(to, p, labels);
                         });
        write_per_policy("colimit_policy_shadow_denials_total",
                         "Calls that were granted and that a shadow rule would have denied.",
                         [](metric& to, const policy_statistics& p, const std::string& labels) {
                             to.add(labels, p.shadow_denied);
                         });
    }

    void write_health() {
        write("colimit_state", "gauge", "1 for the current state of the limiter, 0 for the others.",
              [](metric& to, const limiter_metrics& l, const std::string& labels) {
                  using enum health_state;
                  for (const auto state : {connecting, ready, degraded, refused, closed})
                      to.add(joined(labels, "state", to_string(state)),
                             std::uint64_t{l.health.state == state});
              });
        write("colimit_state_changed_timestamp_seconds", "gauge",
              "Unix time since which the limiter has its current state.",
              [](metric& to, const limiter_metrics& l, const std::string& labels) {
                  to.add(labels, seconds(l.health.since));
              });
        write("colimit_problem_timestamp_seconds", "gauge",
              "Unix time of the last problem with the server.",
              [](metric& to, const limiter_metrics& l, const std::string& labels) {
                  if (l.health.last_problem)
                      to.add(labels, seconds(l.health.last_problem->last));
              });
    }

    void write_traffic() {
        write("colimit_batches_total", "counter", "Script calls sent to the server.",
              &statistics::batches);
        write("colimit_batch_checks_total", "counter", "Calls of the limiter in batches.",
              &statistics::batch_calls);
        write("colimit_batch_keys_total", "counter", "Different keys in batches.",
              &statistics::batch_keys);
        write("colimit_module_checks_total", "counter",
              "Calls of the limiter that were sent to the server module.",
              &statistics::module_calls);
        write("colimit_module_connections", "gauge",
              "Connections on which the server module executes calls.",
              &statistics::module_connections);
        write("colimit_largest_batch_keys", "gauge", "The largest number of keys in one batch.",
              &statistics::largest_batch);
        write("colimit_merged_checks_total", "counter",
              "Calls that were merged into an identical one for the same key.",
              &statistics::merged);
        write("colimit_script_loads_total", "counter", "Scripts sent to the server to be loaded.",
              &statistics::script_loads);
        write("colimit_sent_bytes_total", "counter", "Bytes written to the server.",
              &statistics::bytes_out);
        write("colimit_received_bytes_total", "counter", "Bytes read from the server.",
              &statistics::bytes_in);
        write("colimit_reconnects_total", "counter",
              "Connections that became ready, except the first.", &statistics::reconnects);
        write("colimit_breaker_openings_total", "counter",
              "Times that the circuit breaker has opened.", &statistics::breaker_openings);
        write("colimit_cached_denials", "gauge", "Denials in the deny cache.",
              &statistics::cached_denials);
        write("colimit_leases_total", "counter", "Leases that the store has granted.",
              &statistics::leases);
        write("colimit_lease_tokens_taken_total", "counter", "Tokens taken with leases.",
              &statistics::lease_tokens_taken);
        write("colimit_lease_tokens_spent_total", "counter",
              "Tokens of calls that leases have decided.", &statistics::lease_tokens_spent);
        write("colimit_lease_tokens_lapsed_total", "counter",
              "Tokens that were not spent before their lease ended.",
              &statistics::lease_tokens_lapsed);
        write("colimit_slots_held", "gauge", "Slots that are held.", &statistics::slots_held);
        write("colimit_slots_acquired_total", "counter", "Slots that were granted.",
              &statistics::slots_acquired);
        write("colimit_slots_renewed_total", "counter", "Renewals of slots.",
              &statistics::slots_renewed);
        write("colimit_slots_released_total", "counter", "Slots that were given back.",
              &statistics::slots_released);
        write("colimit_slots_lost_total", "counter",
              "Slots whose lease has ended before they were given back.", &statistics::slots_lost);
    }

    std::span<const limiter_metrics> limiters_;
    std::vector<std::string> labels_; ///< of each limiter
    std::string out_;
};

} // namespace

limiter_metrics metrics_of(const limiter& of, std::vector<metric_label> labels) {
    return {.labels = std::move(labels),
            .statistics = of.statistics(),
            .health = of.health(),
            .policies = of.policy_statistics()};
}

std::string to_prometheus(std::span<const limiter_metrics> limiters) {
    return writer{limiters}.write();
}

std::string to_prometheus(const limiter_metrics& one) {
    return to_prometheus(std::span{&one, 1});
}

} // namespace colimit
