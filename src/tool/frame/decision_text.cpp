// SPDX-License-Identifier: BSL-1.0
//
// What a decision says, for people and for scripts.

#include <colimit/detail/access.hpp>
#include <tool/frame/decision_text.hpp>
#include <tool/frame/format.hpp>
#include <tool/frame/output.hpp>
#include <tool/frame/time_text.hpp>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <cstdint>

namespace tool {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

[[nodiscard]] std::string reason_text(const colimit::policy& p, const colimit::decision& d) {
    switch (d.reason) {
    case colimit::denial_reason::duplicate:
        return "a duplicate";
    case colimit::denial_reason::block:
        return "blocked";
    case colimit::denial_reason::rule:
        break;
    }
    return "rule " + std::string{p[d.limiting_rule].name()};
}

[[nodiscard]] std::string left_text(std::int64_t left, std::int64_t limit) {
    return std::to_string(left) + " of " + std::to_string(limit) + " left";
}

[[nodiscard]] std::string reset_text(microseconds reset_after) {
    return reset_after == 0us ? "all of it is left" : "all of it in " + time_text(reset_after);
}

[[nodiscard]] std::string rule_line(const std::string& r, const colimit::rule_status& s) {
    auto text = "  " + r + ": " + left_text(s.balance, s.limit);
    if (s.retry_after == colimit::never_again)
        return text + ", never allows this cost\n";
    if (s.retry_after != 0us)
        text += ", would allow it in " + time_text(s.retry_after);
    return text + ", " + reset_text(s.reset_after) + '\n';
}

/// Returns why the call was denied, or null.
[[nodiscard]] boost::json::value reason_value(const colimit::decision& d) {
    if (d.allowed())
        return nullptr;
    auto reason = boost::json::value(to_string(d.reason));
    return reason;
}

/// Returns microseconds, or null for never.
[[nodiscard]] boost::json::value time_value(microseconds time) {
    if (time == colimit::never_again)
        return nullptr;
    return time.count();
}

} // namespace

std::string rule_text(const colimit::policy& p, std::size_t rule) {
    const auto& r = p[rule];
    return to_string(r.shadow(r.is_shadow() || colimit::detail::access::options(p).shadow));
}

std::string decision_headline(const colimit::policy& p, const colimit::decision& d) {
    if (d.outcome == colimit::outcome::never)
        return "never allowed: the cost exceeds the limit of " + std::to_string(d.limit) + ", " +
               reason_text(p, d);
    if (!d.allowed())
        return "denied: " + reason_text(p, d) + ", try again in " + time_text(d.retry_after);
    return "allowed: " + left_text(d.remaining, d.limit) + ", " + reason_text(p, d) + "; " +
           reset_text(d.reset_after);
}

std::string decision_text(const colimit::policy& p, const colimit::decision& d) {
    auto text = decision_headline(p, d) + '\n';
    for (std::size_t i = 0; i < d.rules.size(); ++i)
        text += rule_line(rule_text(p, i), d.rules[i]);
    return text;
}

boost::json::object decision_object(std::string_view key, const colimit::policy& p,
                                    const colimit::decision& d) {
    auto rules = boost::json::array{};
    for (std::size_t i = 0; i < d.rules.size(); ++i) {
        const auto& s = d.rules[i];
        rules.push_back(boost::json::object{{"name", p[i].name()},
                                            {"rule", rule_text(p, i)},
                                            {"limit", s.limit},
                                            {"balance", s.balance},
                                            {"retry_after_us", time_value(s.retry_after)},
                                            {"reset_after_us", s.reset_after.count()}});
    }
    return {{"key", json_text(key)},
            {"policy", p.name()},
            {"outcome", to_string(d.outcome)},
            {"reason", reason_value(d)},
            {"limiting_rule", p[d.limiting_rule].name()},
            {"granted", d.granted},
            {"limit", d.limit},
            {"remaining", d.remaining},
            {"retry_after_us", time_value(d.retry_after)},
            {"reset_after_us", d.reset_after.count()},
            {"server_time_us", d.server_time.time_since_epoch().count()},
            {"rules", std::move(rules)}};
}

} // namespace tool
