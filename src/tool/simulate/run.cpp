// SPDX-License-Identifier: BSL-1.0
//
// One key per rule and kind of traffic, so that they do not share counters.

#include <tool/simulate/run.hpp>

#include <colimit/local_limiter.hpp>

#include <algorithm>

namespace tool::simulate {

namespace {

using std::chrono::microseconds;

std::size_t most_within(const traffic& sent, const std::vector<bool>& allowed,
                        microseconds period) {
    std::size_t most = 0;
    std::size_t inside = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i < allowed.size(); ++i) {
        inside += allowed[i] ? 1U : 0U;
        for (; sent.requests[i] - sent.requests[first] >= period; ++first)
            inside -= allowed[first] ? 1U : 0U;
        most = std::max(most, inside);
    }
    return most;
}

answer ask(const colimit::policy& rule, const traffic& sent, const scenarios& all) {
    colimit::local_limiter limiter;
    answer result;
    for (const auto time : sent.requests) {
        const auto d = limiter.allow("client", rule, {.now = all.start + time});
        result.allowed.push_back(d.allowed());
        result.granted += d.allowed() ? 1U : 0U;
    }
    result.most_in_period = most_within(sent, result.allowed, all.period);
    return result;
}

} // namespace

std::vector<colimit::rule> usual_rules(std::int64_t limit, microseconds period) {
    return {colimit::fixed_window(limit, period), colimit::sliding_window(limit, period),
            colimit::sliding_log(limit, period), colimit::gcra(limit, period),
            colimit::gcra(limit, period).burst(std::max<std::int64_t>(limit / 3, 1))};
}

comparison compare(const std::vector<colimit::rule>& rules) {
    comparison result{make_scenarios(rules.front()), {}};
    for (const auto& rule : rules) {
        row answers{std::string{to_string(rule.kind())}, to_string(rule), {}};
        for (const auto& sent : result.scenarios.all)
            answers.answers.push_back(ask(rule, sent, result.scenarios));
        result.rows.push_back(std::move(answers));
    }
    return result;
}

bins divide(const comparison& all, std::size_t kind, std::size_t row, std::size_t count) {
    const auto& sent = all.scenarios.all.at(kind);
    const auto& allowed = all.rows[row].answers[kind].allowed;
    bins result{std::vector<std::size_t>(count), std::vector<std::size_t>(count)};
    for (std::size_t i = 0; i < allowed.size(); ++i) {
        const auto share = static_cast<double>(sent.requests[i].count()) /
                           static_cast<double>(all.scenarios.length().count());
        const auto bin =
            std::min(static_cast<std::size_t>(share * static_cast<double>(count)), count - 1);
        ++result.requests[bin];
        result.granted[bin] += allowed[i] ? 1U : 0U;
    }
    return result;
}

} // namespace tool::simulate
