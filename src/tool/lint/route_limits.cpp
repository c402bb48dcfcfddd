// SPDX-License-Identifier: BSL-1.0
//
// A request costs 1 under each policy of its route, and is granted by all of them or by none. So on
// routes that have both, a policy has granted no more requests per key than another one whose key
// is a part of its key.

#include <tool/lint/rate_bounds.hpp>
#include <tool/lint/route_limits.hpp>
#include <tool/lint/trust.hpp>

#include <colimit/detail/access.hpp>
#include <http/path_pattern.hpp>
#include <policy/policy_data.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tool::lint {

namespace {

using colimit::keyed_policy;
using colimit::policy_document;
using colimit::detail::access;

/// Returns the parts of a key that may differ between requests, such as `user|ip` and `route`.
std::vector<std::string> parts_of(const colimit::http::key_template& key) {
    std::vector<std::string> parts;
    const auto text = to_string(key);
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('+', at), text.size());
        const auto part = text.substr(at, end - at);
        if (part != "global" && !part.starts_with("tag:"))
            parts.push_back(part);
        at = end + 1;
    }
    return parts;
}

/// Returns whether requests with one key of `fine` have one key of `coarse`.
bool is_part_of(const colimit::http::key_template& coarse,
                const colimit::http::key_template& fine) {
    const auto all = parts_of(fine);
    return std::ranges::all_of(parts_of(coarse), [&](const std::string& part) {
        return std::ranges::find(all, part) != all.end();
    });
}

/// Returns `+tag:NAME`; empty if the keys have no tag.
std::string tag_of(const colimit::http::key_template& key) {
    const auto text = to_string(key);
    return text.substr(std::min(text.find("+tag:"), text.size()));
}

bool reads_address(const keyed_policy& p) {
    return std::ranges::any_of(parts_of(p.key), [](std::string_view part) {
        return part == "ip" || part.ends_with("|ip");
    });
}

const keyed_policy* find_in(std::span<const keyed_policy> policies, const keyed_policy& p) {
    const auto found = std::ranges::find_if(
        policies, [&p](const keyed_policy& own) { return own.limit.name() == p.limit.name(); });
    return found == policies.end() ? nullptr : &*found;
}

/// Returns whether each route that has the one has the other, too, and one of them has both.
bool goes_with(const policy_document& document, const keyed_policy& one,
               const keyed_policy& other) {
    auto has_both = false;
    for (std::size_t i = 0; i < document.routes().size(); ++i) {
        const auto policies = document.policies_of(i);
        if (find_in(policies, one) == nullptr)
            continue;
        if (find_in(policies, other) == nullptr)
            return false;
        has_both = true;
    }
    return has_both;
}

/// Returns whether the second policy denies whatever the first one denies while no store decides.
bool fail_alike(const keyed_policy& a, const keyed_policy& b) {
    const auto mode_of = [](const keyed_policy& p) {
        const auto& o = access::options(p.limit);
        return o.has_failure_mode ? std::optional{o.on_failure} : std::nullopt;
    };
    return mode_of(a) == mode_of(b);
}

/// Returns the first rule of a policy that implies this rule of another one.
std::optional<std::size_t> stricter_in(const keyed_policy& p, const colimit::rule& r) {
    const auto& rules = access::data(p.limit)->compiled;
    for (std::size_t i = 0; i < p.limit.size(); ++i)
        if (!rules.limits[i].shadow && is_implied_by(r, p.limit[i]))
            return i;
    return std::nullopt;
}

/// Returns whether a route has only methods that a service hardly limits, as those before a request
/// from another origin.
bool is_harmless(const colimit::http::route& r) {
    return !r.methods().empty() && std::ranges::all_of(r.methods(), [](std::string_view method) {
        return method == "OPTIONS" || method == "HEAD" || method == "TRACE";
    });
}

class limit_reader {
  public:
    limit_reader(const policy_document& document, std::vector<finding>& found)
        : document_(&document), found_(&found) {}

    void read() {
        for (const auto& p : document_->policies())
            look_for_stricter_policy(*document_->find(p.name()));
        for (std::size_t i = 0; i < document_->routes().size(); ++i)
            look_at_route(i);
        look_at_addresses();
    }

  private:
    void warn(lint::problem problem, std::string path, std::string message) {
        found_->push_back({problem, std::move(path), std::move(message)});
    }

    void look_for_stricter_policy(const keyed_policy& p) {
        for (std::size_t i = 0; i < p.limit.size(); ++i)
            for (const auto& other : document_->policies())
                if (warn_of_stricter(p, i, *document_->find(other.name())))
                    break;
    }
    bool warn_of_stricter(const keyed_policy& p, std::size_t i, const keyed_policy& other) {
        if (other.limit.name() == p.limit.name() || !covers(other, p))
            return false;
        const auto stricter = stricter_in(other, p.limit[i]);
        const auto is_mutual = stricter && covers(p, other) &&
                               is_implied_by(other.limit[*stricter], p.limit[i]) &&
                               !access::data(p.limit)->compiled.limits[i].shadow;
        if (!stricter || (is_mutual && p.limit.name() < other.limit.name()))
            return false; // of two that imply each other one stays
        warn(problem::unreachable_rule, "policies." + std::string{p.limit.name()},
             rule_text(p.limit, i) +
                 " is unreachable: on each of its routes it never denies a "
                 "request that " +
                 rule_text(other.limit, *stricter) + " of policy " +
                 std::string{other.limit.name()} + " allows");
        return true;
    }
    /// Returns whether the second policy grants no more than the first one, key by key.
    [[nodiscard]] bool covers(const keyed_policy& strict, const keyed_policy& p) const {
        return is_part_of(strict.key, p.key) && fail_alike(strict, p) &&
               goes_with(*document_, p, strict);
    }

    void look_at_route(std::size_t i) {
        look_at_open_route(i);
        const auto policies = document_->policies_of(i);
        for (const auto& p : policies)
            if (const auto& first = policies.front(); tag_of(p.key) != tag_of(first.key))
                return warn(problem::different_tags, "routes[" + std::to_string(i) + "]",
                            "no step of a cluster can check its policies together, as their keys "
                            "have no common tag (got '" +
                                to_string(first.key) + "' of " + std::string{first.limit.name()} +
                                " and '" + to_string(p.key) + "' of " +
                                std::string{p.limit.name()} +
                                ", expected one tag:NAME in all keys, or in none)");
    }

    /// Looks for a route without policies and without a text in its path, before one that limits.
    void look_at_open_route(std::size_t i) {
        const auto& routes = document_->routes();
        auto rest = colimit::http::pattern_of(routes[i].path());
        auto has_text = rest.empty();
        while (!has_text && !rest.empty())
            has_text = !colimit::http::is_any(colimit::http::take_segment(rest));
        if (has_text || is_harmless(routes[i]) || !document_->policies_of(i).empty())
            return;
        for (auto later = i + 1; later < routes.size(); ++later) {
            const colimit::http::route_table both{{routes[later], routes[i]}};
            if (both.hidden_by(1).empty() ||
                std::ranges::none_of(document_->policies_of(later),
                                     [](const auto& p) { return may_deny(p.limit); }))
                continue;
            const auto name = "routes[" + std::to_string(later) + "]";
            std::string text = "has no policies and no literal segment, so requests of any name "
                               "are not limited that ";
            text.append(name)
                .append(" would limit (expected a path such as /health, or the policies of ")
                .append(name)
                .append(")");
            return warn(problem::open_route, "routes[" + std::to_string(i) + "]", text);
        }
    }

    /// Looks for fields about addresses where no key has one.
    void look_at_addresses() {
        for (std::size_t i = 0; i < document_->routes().size(); ++i)
            if (std::ranges::any_of(document_->policies_of(i), reads_address))
                return;
        constexpr auto message = "no policy of a route has the key ip, so no limit reads addresses "
                                 "(remove the field, unless the application reads it)";
        if (document_->trusted_proxies() != colimit::http::trusted_proxies{})
            warn(problem::no_effect, "trusted_proxies", message);
        if (document_->prefixes() != colimit::address_prefixes{})
            warn(problem::no_effect, "ipv6_prefix", message);
    }

    const policy_document* document_;
    std::vector<finding>* found_;
};

} // namespace

void look_at_limits(const policy_document& document, std::vector<finding>& found) {
    limit_reader{document, found}.read();
}

} // namespace tool::lint
