// SPDX-License-Identifier: BSL-1.0
//
// The counters are the limiter's own; only the times are measured here, because a limiter in
// process does not read a clock.

#include "monitor.hpp"

#include "json_text.hpp"

#include <colimit/rule_text.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace http_server {

namespace {

using namespace std::chrono_literals;

std::string number(std::string_view name, std::uint64_t value) {
    return ',' + json_text(name) + ':' + std::to_string(value);
}

std::uint64_t milliseconds(std::chrono::system_clock::time_point time) {
    using std::chrono::milliseconds;
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count());
}

std::string rules_of(const colimit::policy& p) {
    std::string text;
    for (const auto& rule : p.rules())
        text.append(text.empty() ? "" : "; ").append(to_string(rule));
    return text;
}

std::string counters(const colimit::policy_statistics& s) {
    using colimit::decision_source;
    return number("allowed", s.allowed) + number("denied", s.denied + s.never) +
           number("failed", s.failed) + number("cached", s.count(decision_source::deny_cache)) +
           number("leased", s.count(decision_source::lease)) +
           number("fallback", s.count(decision_source::fallback)) +
           number("unchecked",
                  s.count(decision_source::fail_open) + s.count(decision_source::fail_closed));
}

std::string key_text(const top_keys::entry& e) {
    return "{\"policy\":" + json_text(e.policy) + ",\"key\":" + json_text(e.key) +
           number("denied", e.denials()) + '}';
}

} // namespace

void monitor::add_denial(std::string_view policy, std::string_view key) {
    keys_.add(policy, key, top_keys::clock::now());
}

void monitor::add_time(std::string_view policy, std::chrono::steady_clock::duration time) {
    auto found = times_.find(policy);
    if (found == times_.end())
        found = times_.emplace(policy, times{}).first;
    found->second.current.add(std::chrono::duration_cast<std::chrono::microseconds>(time));
}

void monitor::begin_second(const colimit::policy_set& policies) {
    const auto now = std::chrono::steady_clock::now();
    if (now - second_ < 1s)
        return;
    second_ = now;
    std::erase_if(times_, [&](const auto& t) { return policies.find(t.first) == nullptr; });
    for (auto& [policy, t] : times_) {
        if (t.current.count() == 0)
            continue;
        t.last = {t.current.quantile(0.5), t.current.quantile(0.99)};
        t.current = {};
    }
}

std::string monitor::state(const colimit::limiter& limiter, const colimit::policy_set& policies,
                           std::size_t pages) {
    begin_second(policies);
    const auto counted = limiter.policy_statistics();
    std::string text = "{\"pages\":" + std::to_string(pages) +
                       number("time", milliseconds(std::chrono::system_clock::now())) +
                       ",\"store\":" + json_text(store_) +
                       ",\"health\":" + json_text(to_string(limiter.health().state)) +
                       number("hidden", policies.size() - std::min(policies.size(), max_policies)) +
                       ",\"policies\":[";
    std::size_t shown = 0;
    for (const auto& p : policies) {
        if (shown++ == max_policies)
            break;
        const auto own = std::ranges::find(counted, p.name(), &colimit::policy_statistics::policy);
        const auto t = times_.find(p.name());
        const auto q = t == times_.end() ? quantiles{} : t->second.last;
        text += shown == 1 ? "" : ",";
        text += "{\"name\":" + json_text(p.name()) + ",\"rules\":" + json_text(rules_of(p)) +
                counters(own == counted.end() ? colimit::policy_statistics{} : *own) +
                number("limit", static_cast<std::uint64_t>(p[0].capacity())) +
                number("period_us", static_cast<std::uint64_t>(p[0].period().count())) +
                number("p50_us", static_cast<std::uint64_t>(q.p50.count())) +
                number("p99_us", static_cast<std::uint64_t>(q.p99.count())) + '}';
    }
    text += "],\"keys\":[";
    const auto keys = keys_.most(max_keys, top_keys::clock::now());
    for (const auto& key : keys)
        text += (&key == keys.data() ? "" : ",") + key_text(key);
    return text + "]}";
}

} // namespace http_server
