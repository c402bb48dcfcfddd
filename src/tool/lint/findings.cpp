// SPDX-License-Identifier: BSL-1.0
//
// One function for each warning: about the rules of one policy, about routes, whose paths are read
// as they are written, and about what a document believes of clients: keys that they can invent,
// and a header field that they may have written.

#include <tool/frame/format.hpp>
#include <tool/lint/findings.hpp>
#include <tool/lint/idle_fields.hpp>
#include <tool/lint/rate_bounds.hpp>
#include <tool/lint/route_limits.hpp>
#include <tool/lint/trust.hpp>

#include <colimit/detail/access.hpp>
#include <colimit/error.hpp>
#include <colimit/policy_document.hpp>
#include <http/unlikely_route.hpp>
#include <policy_json/value.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace tool::lint {

namespace {

using namespace std::chrono;
using colimit::policy;
using colimit::rule;

constexpr auto slow = days{2};
constexpr auto boundless = 1e12; // tokens per second; more than bytes of a network

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
            look_at_rate(p, i);
            look_at_offset(p, i);
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
        if (has_daily_burst(p, i))
            warn(problem::daily_quota_in_a_second, p,
                 rule_text(p, i) + " allows a day's quota in a second: a burst of " +
                     grouped(static_cast<std::size_t>(p[i].capacity())) + ", and " +
                     grouped(static_cast<std::size_t>(std::floor(tokens_per_day(p[i])))) +
                     " per day" + calendar_hint(p[i]));
        else if (const auto hint = calendar_hint(p[i]); !hint.empty())
            warn(problem::day_bucket, p,
                 rule_text(p, i) + " is a bucket: a client may take " +
                     grouped(static_cast<std::size_t>(p[i].capacity())) +
                     " at once, and nearly as many again before the period has passed" + hint);
    }

    /// Returns the rule that counts per calendar unit; empty if the rule is not a bucket of one, or
    /// has another burst than that of a plain `100/d`.
    [[nodiscard]] static std::string calendar_hint(const rule& r) {
        if (!colimit::is_bucket(r.kind()) || r.capacity() != r.count() || r.count() == 1 ||
            r.refill() != colimit::refill::continuous)
            return {};
        const auto length = r.period();
        const auto is_month = length >= days{28} && length <= days{31};
        const auto is_year = length == days{365} || length == days{366};
        const auto* const unit = length == days{1}   ? "day"
                                 : length == days{7} ? "week"
                                 : is_month          ? "month"
                                 : is_year           ? "year"
                                                     : nullptr;
        if (unit == nullptr)
            return {};
        return "; '" + std::to_string(r.count()) + " per " + unit +
               " calendar' is a quota that begins anew each " + unit;
    }

    static bool has_daily_burst(const policy& p, std::size_t i) {
        const auto daily = tokens_per_day(p[i]);
        const auto is_bounded = [&](const rule& other) {
            return !other.is_shadow() && limits_tokens(other) &&
                   most_within(other, seconds{1}) < daily;
        };
        return colimit::is_bucket(p[i].kind()) && p[i].capacity() != 1 &&
               static_cast<double>(p[i].capacity()) >= daily &&
               std::ranges::none_of(p.rules(), is_bounded);
    }

    void look_at_recovery(const policy& p, std::size_t i) {
        if (const auto time = recovery(p[i]); time >= slow)
            warn(problem::slow_recovery, p,
                 rule_text(p, i) + " takes " + duration(ceil<seconds>(time)) +
                     " to recover from a burst of " +
                     grouped(static_cast<std::size_t>(p[i].capacity())));
    }

    void look_at_rate(const policy& p, std::size_t i) {
        if (limits_tokens(p[i]) && tokens_per_day(p[i]) > boundless * 86'400)
            warn(problem::boundless_rule, p,
                 rule_text(p, i) + " allows more than 1,000,000,000,000 per second for each key, "
                                   "which limits nothing (is the unit of its period right?)");
    }

    void look_at_offset(const policy& p, std::size_t i) {
        if (p[i].utc_offset() < hours{-12} || p[i].utc_offset() > hours{14})
            warn(problem::unknown_offset, p,
                 rule_text(p, i) + " has an offset that no place has (expected utc-12 to utc+14)");
    }

    std::vector<finding>* found_;
};

/// Reads the routes of a valid document, as they are written.
class route_reader {
  public:
    route_reader(std::string_view text, std::vector<finding>& found)
        : written_(colimit::json::parse(text)), found_(&found) {}

    void read(const colimit::policy_document& parsed) {
        if (parsed.policies().empty())
            warn(problem::no_policies, "policies",
                 "the document has no policies: nothing is limited");
        else if (std::ranges::none_of(parsed.policies(), may_deny))
            warn(problem::only_shadow, "policies",
                 "all policies are in shadow mode: nothing is limited");
        const auto* const routes = member(written_.root, "routes");
        look_at_fields(parsed, routes != nullptr);
        look_at_idle_fields(parsed, *found_);
        if (routes == nullptr)
            return; // the application chooses policies
        if (parsed.routes().empty())
            return warn(problem::no_routes, "routes",
                        "no request has a route: nothing is limited (leave the field out if the "
                        "application chooses policies itself)");
        look_for_unused_policies(parsed);
        look_at_limits(parsed, *found_);
        for (std::size_t i = 0; i < routes->content.size; ++i) {
            const auto& route = written_.inside(*routes, i);
            look_at_path(i, *member(route, "path"), parsed.routes());
            look_at_shadow(parsed, i);
            if (const auto* const methods = member(route, "methods"))
                look_at_methods(i, *methods);
        }
        look_for_last_route(parsed.routes());
    }

  private:
    [[nodiscard]] const colimit::json::value* member(const colimit::json::value& object,
                                                     std::string_view name) const {
        for (std::size_t i = 0; i < object.content.size; ++i)
            if (const auto& m = written_.inside(object, i); written_.text(m.name) == name)
                return &m;
        return nullptr;
    }

    void warn(lint::problem problem, std::string path, std::string message) {
        found_->push_back({problem, std::move(path), std::move(message)});
    }

    void look_for_unused_policies(const colimit::policy_document& parsed) {
        std::set<std::string_view> used;
        for (std::size_t i = 0; i < parsed.routes().size(); ++i)
            for (const auto& p : parsed.policies_of(i))
                used.insert(p.limit.name());
        for (const auto& p : parsed.policies())
            if (!used.contains(p.name()))
                warn(problem::unused_policy, "policies." + std::string{p.name()},
                     "no route uses the policy");
    }

    /// Looks at fields that have no effect, and at networks of proxies.
    void look_at_fields(const colimit::policy_document& parsed, bool has_routes) {
        const auto& policies = *member(written_.root, "policies");
        for (std::size_t i = 0; i < policies.content.size; ++i) {
            const auto& p = written_.inside(policies, i);
            if (p.kind != colimit::json::kind::object)
                continue;
            const auto path = "policies." + std::string{written_.text(p.name)} + '.';
            if (member(p, "key") != nullptr && !has_routes)
                warn(problem::unused_key, path + "key",
                     "the document has no routes, so no request has this key (an application that "
                     "chooses policies itself makes its own keys)");
            if (member(p, "prevent_duplicate") != nullptr &&
                colimit::detail::access::options(parsed.find(written_.text(p.name))->limit)
                        .prevent_duplicate == 0)
                warn(problem::no_effect, path + "prevent_duplicate",
                     "0 prevents no duplicates (leave it out)");
        }
        const auto* const proxies = member(written_.root, "trusted_proxies");
        if (proxies == nullptr || proxies->kind != colimit::json::kind::array)
            return;
        std::vector<std::string_view> networks;
        networks.reserve(proxies->content.size);
        for (std::size_t i = 0; i < proxies->content.size; ++i)
            networks.push_back(written_.text(written_.inside(*proxies, i).content));
        look_at_networks(networks, *found_);
    }

    static bool may_deny_on(const colimit::policy_document& parsed, std::size_t route) {
        return std::ranges::any_of(parsed.policies_of(route),
                                   [](const auto& p) { return may_deny(p.limit); });
    }
    /// Looks for a route in shadow mode that takes its requests from a later one which limits them.
    void look_at_shadow(const colimit::policy_document& parsed, std::size_t i) {
        if (parsed.policies_of(i).empty() || may_deny_on(parsed, i))
            return;
        for (auto later = i + 1; later < parsed.routes().size(); ++later) {
            const colimit::http::route_table both{{parsed.routes()[later], parsed.routes()[i]}};
            if (may_deny_on(parsed, later) && !both.hidden_by(1).empty())
                return warn_of_shadow(i, "routes[" + std::to_string(later) + "]");
        }
    }
    void warn_of_shadow(std::size_t i, const std::string& later) {
        warn(problem::only_shadow, "routes[" + std::to_string(i) + "]",
             "all its policies are in shadow mode, so requests are not limited that " + later +
                 " would limit (add the policies of " + later + ")");
    }

    void look_at_methods(std::size_t route, const colimit::json::value& methods) {
        const auto has = [&](std::string_view name) {
            for (std::size_t i = 0; i < methods.content.size; ++i)
                if (written_.text(written_.inside(methods, i).content) == name)
                    return true;
            return false;
        };
        if (has("HEAD") && !has("GET"))
            warn(problem::head_without_get, "routes[" + std::to_string(route) + "].methods",
                 "has HEAD without GET, so a client that sends GET instead is not limited here "
                 "(expected GET, which also matches HEAD)");
        for (std::size_t i = 0; i < methods.content.size; ++i)
            if (const auto name = written_.text(written_.inside(methods, i).content);
                !colimit::http::is_registered(name))
                warn(problem::unknown_method,
                     "routes[" + std::to_string(route) + "].methods[" + std::to_string(i) + "]",
                     std::string{name} +
                         " is not a registered method, so hardly any request has it (leave methods "
                         "out for all of them)");
    }

    void look_at_path(std::size_t i, const colimit::json::value& path,
                      const colimit::http::route_table& routes) {
        const auto text = written_.text(path.content);
        const auto where = "routes[" + std::to_string(i) + "].path";
        if (colimit::http::is_odd(text))
            warn(problem::odd_path, where,
                 "has a blank at the end of a segment or a control character, so hardly any "
                 "request has it (percent-encode it if it is meant)");
        const auto all = routes[i].path() + "/*";
        const auto has_all = [&] {
            for (std::size_t r = 0; r < routes.size(); ++r)
                if (routes[r].path() == all)
                    return true;
            return false;
        };
        if (text.size() > 1 && text.ends_with('/') && !routes[i].path().ends_with("/*") &&
            routes[i].path() != "/" && !has_all())
            warn(problem::final_slash, where,
                 "is the same with and without the slash at the end, and no prefix (expected " +
                     all + " if it is meant for all paths that begin so)");
        if (const auto segment = colimit::http::foreign_segment(text); !segment.empty())
            warn(problem::foreign_path, "routes[" + std::to_string(i) + "].path",
                 "the segment " + std::string{segment} +
                     " is a literal text here, but a parameter or a pattern in other routers "
                     "(expected {name} "
                     "or * for any segment, /* at the end for any number; or the characters "
                     "percent-encoded, if they are meant)");
    }

    void look_for_last_route(const colimit::http::route_table& routes) {
        const colimit::http::route all{"/*"};
        for (std::size_t i = 0; i < routes.size(); ++i)
            if (routes[i].path() == all.path() && routes[i].has_methods_of(all))
                return;
        warn(problem::no_last_route, "routes",
             "a request that no route matches is not limited, such as another spelling of a path "
             "(expected a last route with the path /*, with policies [] if that is meant)");
    }

    colimit::json::document written_;
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

std::string rule_text(const policy& p, std::size_t i) {
    return "rule " + std::to_string(i + 1) + " (" + to_string(p[i]) + ")";
}

std::vector<finding> findings_of(std::string_view document) {
    std::vector<finding> found;
    try {
        const auto parsed = colimit::parse_policy_document(document);
        reader look{found};
        for (const auto& p : parsed.policies())
            look.read(p);
        route_reader{document, found}.read(parsed);
        look_at_trust(parsed, found);
    } catch (const colimit::error& e) {
        found.push_back(error_in(e.what()));
    }
    return found;
}

} // namespace tool::lint
