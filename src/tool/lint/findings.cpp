// SPDX-License-Identifier: BSL-1.0
//
// One function for each warning, which reads one policy.

#include <tool/frame/format.hpp>
#include <tool/lint/findings.hpp>
#include <tool/lint/rate_bounds.hpp>
#include <tool/lint/trust.hpp>

#include <colimit/error.hpp>
#include <colimit/policy_document.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <optional>

namespace tool::lint {

namespace {

using namespace std::chrono;
using colimit::policy;
using colimit::rule;

constexpr auto slow = days{2};

/// Returns `rule 2 (5000/h named hour)`.
std::string rule_text(const policy& p, std::size_t i) {
    return "rule " + std::to_string(i + 1) + " (" + to_string(p[i]) + ")";
}

/// Returns the first rule that implies rule `i`. Of two that imply each other the first one stays.
std::optional<std::size_t> stricter_than(const policy& p, std::size_t i) {
    for (std::size_t other = 0; other < p.size(); ++other)
        if (other != i && is_implied_by(p[i], p[other]) &&
            (other < i || !is_implied_by(p[other], p[i])))
            return other;
    return std::nullopt;
}

class reader {
  public:
    explicit reader(std::vector<finding>& found) : found_(&found) {}

    void read(const policy& p) {
        for (std::size_t i = 0; i < p.size(); ++i) {
            look_for_stricter_rule(p, i);
            look_at_burst(p, i);
            look_at_recovery(p, i);
        }
    }

  private:
    void warn(lint::problem problem, const policy& p, std::string message) {
        found_->push_back({problem, "policies." + std::string{p.name()}, std::move(message)});
    }

    void look_for_stricter_rule(const policy& p, std::size_t i) {
        if (const auto other = stricter_than(p, i))
            warn(problem::unreachable_rule, p,
                 rule_text(p, i) + " is unreachable: it never denies a call that " +
                     rule_text(p, *other) + " allows");
    }

    void look_at_burst(const policy& p, std::size_t i) {
        const auto daily = tokens_per_day(p[i]);
        const auto is_bounded = [&](const rule& other) {
            return !other.is_shadow() && limits_tokens(other) &&
                   most_within(other, seconds{1}) < daily;
        };
        if (!colimit::is_bucket(p[i].kind()) || p[i].capacity() == 1 ||
            static_cast<double>(p[i].capacity()) < daily ||
            std::ranges::any_of(p.rules(), is_bounded))
            return;
        warn(problem::daily_quota_in_a_second, p,
             rule_text(p, i) + " allows a day's quota in a second: a burst of " +
                 grouped(static_cast<std::size_t>(p[i].capacity())) + ", and " +
                 grouped(static_cast<std::size_t>(std::floor(daily))) + " per day");
    }

    void look_at_recovery(const policy& p, std::size_t i) {
        if (const auto time = recovery(p[i]); time >= slow)
            warn(problem::slow_recovery, p,
                 rule_text(p, i) + " takes " + duration(ceil<seconds>(time)) +
                     " to recover from a burst of " +
                     grouped(static_cast<std::size_t>(p[i].capacity())));
    }

    std::vector<finding>* found_;
};

/// Divides `policies.login.rules[1].limit: invalid value (...)`.
finding error_in(std::string_view text) {
    const auto end = text.find(": ");
    if (end == std::string_view::npos)
        return {problem::invalid_document, {}, std::string{text}};
    return {problem::invalid_document, std::string{text.substr(0, end)},
            std::string{text.substr(end + 2)}};
}

} // namespace

std::string_view to_string(problem p) noexcept {
    switch (p) {
    case problem::invalid_document:
        return "invalid_document";
    case problem::unreachable_rule:
        return "unreachable_rule";
    case problem::daily_quota_in_a_second:
        return "daily_quota_in_a_second";
    case problem::slow_recovery:
        return "slow_recovery";
    case problem::invented_key:
        return "invented_key";
    case problem::no_proxy_field:
        break;
    }
    return "no_proxy_field";
}

std::vector<finding> findings_of(std::string_view document) {
    std::vector<finding> found;
    try {
        const auto parsed = colimit::parse_policy_document(document);
        reader look{found};
        for (const auto& p : parsed.policies())
            look.read(p);
        look_at_trust(parsed, found);
    } catch (const colimit::error& e) {
        found.push_back(error_in(e.what()));
    }
    return found;
}

} // namespace tool::lint
