// SPDX-License-Identifier: BSL-1.0
//
// All questions, in the order of the table. To add one: a source file named after it that answers
// it, and its line here.

#ifndef COLIMIT_BENCHMARK_QUESTIONS_HPP
#define COLIMIT_BENCHMARK_QUESTIONS_HPP

#include <support/question.hpp>

#include <array>

namespace colimit::benchmark {

measurement reference(const conditions& c);
measurement redis_uniform(const conditions& c);
measurement redis_zipf(const conditions& c);
measurement redis_hot_key(const conditions& c);
measurement redis_flood(const conditions& c);
measurement redis_three_rules(const conditions& c);
measurement redis_sliding_log(const conditions& c);
measurement redis_transaction(const conditions& c);
measurement redis_threads_2(const conditions& c);
measurement bare_idle(const conditions& c);
measurement redis_idle(const conditions& c);
measurement memory_uniform(const conditions& c);
measurement memory_hot(const conditions& c);
measurement memory_await(const conditions& c);

inline constexpr auto questions = std::to_array<question>({
    {"reference", reference, ""},
    {"redis_uniform", redis_uniform, "reference"},
    {"redis_zipf", redis_zipf, "reference"},
    {"redis_hot_key", redis_hot_key, "reference"},
    {"redis_flood", redis_flood, "reference"},
    {"redis_three_rules", redis_three_rules, "reference"},
    {"redis_sliding_log", redis_sliding_log, "reference"},
    {"redis_transaction", redis_transaction, "reference"},
    {"redis_threads_2", redis_threads_2, "reference"},
    {"bare_idle", bare_idle, ""},
    {"redis_idle", redis_idle, "bare_idle", ratio_of::median_latency},
    {"memory_uniform", memory_uniform, ""},
    {"memory_hot", memory_hot, ""},
    {"memory_await", memory_await, ""},
});

} // namespace colimit::benchmark

#endif
