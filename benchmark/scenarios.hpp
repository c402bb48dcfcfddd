// SPDX-License-Identifier: BSL-1.0
//
// All scenarios, in the order of the table. To add one: a source file with its name, and a line
// here.

#pragma once

#include <support/scenario.hpp>

#include <array>
#include <chrono>
#include <string>

namespace colimit::benchmark {

/// Returns the script of the reference and of rivals without their own.
std::string reference_script(const conditions& c);

measurement reference(const conditions& c);
measurement redis_uniform(const conditions& c);
measurement redis_function(const conditions& c);
measurement redis_packed(const conditions& c);
measurement redis_ids(const conditions& c);
measurement redis_zipf(const conditions& c);
measurement redis_hot_key(const conditions& c);
measurement redis_flood(const conditions& c);
measurement redis_three_rules(const conditions& c);
measurement redis_sliding_log(const conditions& c);
measurement redis_transaction(const conditions& c);
measurement redis_fixed_window(const conditions& c);
measurement article_log(const conditions& c);
measurement article_multi(const conditions& c);
measurement article_incr(const conditions& c);
measurement redis_threads_2(const conditions& c);
measurement redis_shared(const conditions& c, unsigned threads);
measurement redis_zipf_leased(const conditions& c, std::chrono::milliseconds length);
measurement redis_hot_key_leased(const conditions& c, std::chrono::milliseconds length);
measurement redis_processes_4(const conditions& c, std::chrono::milliseconds length);
measurement redis_below_limit(const conditions& c, std::chrono::milliseconds length);
measurement one_server(const conditions& c, std::uint32_t callers);
measurement cluster_uniform(const conditions& c, std::uint32_t callers);
measurement cluster_packed(const conditions& c, std::uint32_t callers);
measurement rival_hiredis(const conditions& c);
measurement rival_boost_redis(const conditions& c);
measurement rival_flexible(const conditions& c);
measurement rival_limits(const conditions& c);
measurement bare_idle(const conditions& c);
measurement redis_idle(const conditions& c);
measurement bare_load(const conditions& c, double share, key_table table = key_table::grown);
measurement latency(const conditions& c, double share, key_table table = key_table::grown);
measurement bare_growth(const conditions& c);
measurement latency_growth(const conditions& c);
measurement bare_stall(const conditions& c);
measurement latency_stall(const conditions& c);
measurement memory_uniform(const conditions& c);
measurement memory_hot(const conditions& c);
measurement memory_await(const conditions& c);

/// Runs at this percentage of the rate of redis_uniform in this run.
template<int Percent>
measurement bare_at(const conditions& c) {
    return bare_load(c, Percent / 100.0);
}
template<int Percent>
measurement latency_at(const conditions& c) {
    return latency(c, Percent / 100.0);
}

/// Runs one limiter with this number of threads.
template<unsigned Threads>
measurement redis_shared_by(const conditions& c) {
    return redis_shared(c, Threads);
}

/// Runs with leases that last so long; 0: without leases.
template<int Milliseconds, auto Scenario>
measurement with_leases(const conditions& c) {
    return Scenario(c, std::chrono::milliseconds{Milliseconds});
}

/// Runs this number of callers.
template<std::uint32_t Callers, auto Scenario>
measurement with_callers(const conditions& c) {
    return Scenario(c, Callers);
}

inline constexpr auto scenarios = std::to_array<scenario>({
    {"reference", reference, ""},
    {"redis_uniform", redis_uniform, "reference"},
    {"redis_function", redis_function, "redis_uniform"},
    {"redis_packed", redis_packed, "reference"},
    {"redis_ids", redis_ids, "reference"},
    {"redis_zipf", redis_zipf, "reference"},
    {"redis_hot_key", redis_hot_key, "reference"},
    {"redis_flood", redis_flood, "reference"},
    {"redis_three_rules", redis_three_rules, "reference"},
    {"redis_sliding_log", redis_sliding_log, "reference"},
    {"redis_transaction", redis_transaction, "reference"},
    {"article_log", article_log, "reference"},
    {"article_multi", article_multi, "reference"},
    {"redis_fixed_window", redis_fixed_window, "reference"},
    {"article_incr", article_incr, "reference"},
    {"redis_threads_2", redis_threads_2, "reference"},
    {"redis_shared_1", redis_shared_by<1>, "reference"},
    {"redis_shared_2", redis_shared_by<2>, "reference"},
    {"redis_zipf_leased", with_leases<100, redis_zipf_leased>, "reference"},
    {"redis_zipf_leased_1s", with_leases<1000, redis_zipf_leased>, "reference"},
    {"redis_hot_key_leased", with_leases<100, redis_hot_key_leased>, "reference"},
    {"redis_processes_4", with_leases<0, redis_processes_4>, "reference"},
    {"redis_processes_4_leased", with_leases<100, redis_processes_4>, "reference"},
    {"redis_processes_4_leased_1s", with_leases<1000, redis_processes_4>, "reference"},
    {"redis_below_limit", with_leases<0, redis_below_limit>, ""},
    {"redis_below_limit_leased", with_leases<100, redis_below_limit>, ""},
    {"redis_below_limit_leased_1s", with_leases<1000, redis_below_limit>, ""},
    {"server_64", with_callers<64, one_server>, "", ratio_of::throughput, needs::cluster},
    {"server_256", with_callers<256, one_server>, "", ratio_of::throughput, needs::cluster},
    {"server_1024", with_callers<1024, one_server>, "", ratio_of::throughput, needs::cluster},
    {"cluster_64", with_callers<64, cluster_uniform>, "", ratio_of::throughput, needs::cluster},
    {"cluster_256", with_callers<256, cluster_uniform>, "", ratio_of::throughput, needs::cluster},
    {"cluster_1024", with_callers<1024, cluster_uniform>, "", ratio_of::throughput, needs::cluster},
    {"cluster_4096", with_callers<4096, cluster_uniform>, "", ratio_of::throughput, needs::cluster},
    {"cluster_packed_1024", with_callers<1024, cluster_packed>, "", ratio_of::throughput,
     needs::cluster},
    {"rival_hiredis", rival_hiredis, "reference", ratio_of::throughput, needs::rival},
    {"rival_boost_redis", rival_boost_redis, "reference", ratio_of::throughput, needs::rival},
    {"rival_flexible", rival_flexible, "reference", ratio_of::throughput, needs::rival},
    {"rival_limits", rival_limits, "reference", ratio_of::throughput, needs::rival},
    {"bare_idle", bare_idle, ""},
    {"redis_idle", redis_idle, "bare_idle", ratio_of::median_latency},
    {"bare_25", bare_at<25>, "", ratio_of::p99_latency, needs::most_per_s},
    {"latency_25", latency_at<25>, "bare_25", ratio_of::p99_latency, needs::most_per_s},
    {"bare_50", bare_at<50>, "", ratio_of::p99_latency, needs::most_per_s},
    {"latency_50", latency_at<50>, "bare_50", ratio_of::p99_latency, needs::most_per_s},
    {"bare_75", bare_at<75>, "", ratio_of::p99_latency, needs::most_per_s},
    {"latency_75", latency_at<75>, "bare_75", ratio_of::p99_latency, needs::most_per_s},
    {"bare_growth", bare_growth, "", ratio_of::p99_latency, needs::most_per_s},
    {"latency_growth", latency_growth, "bare_growth", ratio_of::p99_latency, needs::most_per_s},
    {"bare_stall", bare_stall, "", ratio_of::p99_latency, needs::most_per_s},
    {"latency_stall", latency_stall, "bare_stall", ratio_of::p99_latency, needs::most_per_s},
    {"memory_uniform", memory_uniform, ""},
    {"memory_hot", memory_hot, ""},
    {"memory_await", memory_await, ""},
});

} // namespace colimit::benchmark
