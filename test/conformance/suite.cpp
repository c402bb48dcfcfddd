// SPDX-License-Identifier: BSL-1.0
//
// Reading suites. Finds cases that cannot be run, except refunds above the capacity, which are only
// found when they occur.

#include "suite.hpp"

#include <colimit/limits.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace colimit::conformance {
namespace {

using namespace std::string_view_literals;

/// Returns the value of a name in the file; a suite with an unknown name is skipped.
template<class Value, std::size_t Size>
[[nodiscard]] Value known(std::string_view what, std::string_view name,
                          const std::array<std::pair<std::string_view, Value>, Size>& names) {
    const auto* found = std::ranges::find(names, name, [](const auto& n) { return n.first; });
    if (found == names.end())
        throw left_out{"unknown " + std::string{what} + " '" + std::string{name} + "'"};
    return found->second;
}

constexpr std::array algos{
    std::pair{"gcra"sv, algo::gcra}, std::pair{"token_bucket"sv, algo::token_bucket},
    std::pair{"fixed_window"sv, algo::fixed_window}, std::pair{"sliding_log"sv, algo::sliding_log},
    std::pair{"sliding_counter"sv, algo::sliding_counter}};

constexpr std::array ops{
    std::pair{"consume"sv, op::consume},
    std::pair{"peek"sv, op::peek},
    std::pair{"estimate"sv, op::peek},
    std::pair{"consume_up_to"sv, op::consume_up_to},
    std::pair{"consume_force"sv, op::consume_force},
    std::pair{"add"sv, op::add},
    std::pair{"add_force"sv, op::add_force},
    std::pair{"available"sv, op::available},
    std::pair{"available_pos"sv, op::available},
    std::pair{"balance"sv, op::balance},
    std::pair{"time_to_full"sv, op::time_to_full},
    std::pair{"delay_for"sv, op::delay_for},
    std::pair{"reset"sv, op::reset},
    std::pair{"formula"sv, op::formula},
};

constexpr std::array refillings{std::pair{"greedy"sv, refilling::greedy},
                                std::pair{"interval"sv, refilling::interval},
                                std::pair{"aligned"sv, refilling::aligned}};

[[nodiscard]] bool has_amount(op o) {
    return o == op::consume || o == op::consume_up_to || o == op::consume_force || o == op::add ||
           o == op::add_force || o == op::delay_for;
}

/// `n` or, in the suites of gcra, `cost`.
[[nodiscard]] std::int64_t amount_of(const element& source, op o) {
    auto given = source.find("n");
    if (!given)
        given = source.find("cost");
    if (!given && has_amount(o))
        source.complain("a step of this kind needs an 'n' or a 'cost'");
    return given ? given->natural() : 0;
}

[[nodiscard]] step read_step(const element& source) {
    const auto o = known("operation", source.at("op").text(), ops);
    const auto key = source.find("key");
    return {.op = o,
            .n = amount_of(source, o),
            .time = o == op::formula ? 0 : source.at("t_ns").integer(),
            .key = key ? key->text() : "",
            .source = source};
}

/// A number of a policy.
[[nodiscard]] std::int64_t policy_number(const element& params, std::string_view name) {
    const auto n = params.at(name).natural();
    if (n > limits::max_exact_integer && !name.ends_with("_ns"))
        throw left_out{"its " + std::string{name} + " is beyond 2^53"};
    return n;
}

[[nodiscard]] std::int64_t period_of(const element& params, std::string_view name) {
    const auto ns = policy_number(params, name);
    if (ns == 0)
        params.at(name).complain("must be at least 1");
    return ns;
}

[[nodiscard]] bandwidth read_bandwidth(const element& source) {
    const auto kind = known("kind of bandwidth", source.at("kind").text(), refillings);
    if (source.at("initial").is_text())
        throw left_out{"its initial tokens are '" + source.at("initial").text() + "'"};
    return {.capacity = policy_number(source, "capacity"),
            .refill = policy_number(source, "refill"),
            .period = period_of(source, "period_ns"),
            .initial = policy_number(source, "initial"),
            .kind = kind};
}

void read_params(suite& s, const element& params) {
    if (s.algo == algo::token_bucket) {
        for (const auto& b : params.at("bandwidths").items())
            s.bandwidths.push_back(read_bandwidth(b));
        if (s.bandwidths.empty())
            params.at("bandwidths").complain("must have at least one");
        return;
    }
    s.limit = policy_number(params, "limit");
    if (s.algo == algo::gcra)
        s.count = policy_number(params, "count");
    s.period = period_of(params, s.algo == algo::gcra ? "period_ns" : "window_ns");
    if (s.algo == algo::sliding_log && s.limit > limits::max_log_events)
        throw left_out{"a sliding log of more than 100,000 events"};
}

/// Peers say how long a cost above the capacity would have to wait if it could be met; here it is
/// never met.
void check_delays(const suite& s) {
    auto least = s.limit;
    if (s.algo == algo::token_bucket)
        least = std::ranges::min(s.bandwidths, {}, &bandwidth::capacity).capacity;
    for (const auto& one : s.steps)
        if (one.op == op::delay_for && one.n > least)
            throw left_out{"delay_for above the capacity, which is never met here"};
}

} // namespace

suite read_suite(const element& source) {
    auto s = suite{.id = source.at("id").text(),
                   .algo = known("algorithm", source.at("algo").text(), algos)};
    const auto note = source.find("note");
    if (note && note->text().find("floor(weighted") != std::string::npos)
        throw left_out{"it rounds the weighted count down, and so lets one more through; here "
                       "that count is exact"};
    for (const auto& one : source.at("steps").items())
        s.steps.push_back(read_step(one));
    if (s.steps.empty())
        source.complain("the suite has no steps");
    for (const auto& one : s.steps)
        if ((one.op == op::formula) != s.is_formula())
            one.source.complain("formulas and other steps do not mix");
    if (!s.is_formula())
        read_params(s, source.at("params"));
    check_delays(s);
    return s;
}

} // namespace colimit::conformance
