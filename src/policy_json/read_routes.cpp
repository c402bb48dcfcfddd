// SPDX-License-Identifier: BSL-1.0
//
// Reads routes, and checks that each of them may count and that its policies exist.

#include <colimit/detail/access.hpp>
#include <colimit/limits.hpp>
#include <http/unlikely_route.hpp>
#include <policy/policy_data.hpp>
#include <policy_json/read_routes.hpp>
#include <rule_text/cursor.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::json {
namespace {

using detail::document_data;

/// Returns the names of the policies, for a message: the first few.
[[nodiscard]] std::string names_in(const policy_set& policies) {
    constexpr std::size_t most = 8;
    std::vector<std::string_view> names;
    for (const auto& p : policies)
        if (names.size() < most)
            names.push_back(p.name());
    if (names.empty())
        return "none, as there are no policies";
    return "one of " + text::listed(names) + (policies.size() > most ? ", ..." : "");
}

/// Checks that a request, which names neither members nor slots, can be decided. The limiter would
/// end the call with an error, and not only this policy would limit nothing.
void check_decidable(const core::compiled_policy& rules, const node_ref& p) {
    if (rules.has_slots)
        p.refuse("has a concurrent rule, whose slots a route does not hold");
    if (rules.has_distinct)
        p.refuse("has a distinct rule, whose members a route does not name");
}

[[nodiscard]] const keyed_policy& read_reference(const document_data& document, const node_ref& p) {
    const auto name = p.text("the name of a policy");
    if (const auto* const found = find_policy(document, name)) {
        check_decidable(detail::access::data(found->limit)->compiled, p);
        return *found;
    }
    p.refuse("no such policy (got " + text::quoted(name) + ", expected " +
             names_in(document.policies) + ")");
}

/// Checks that one `allow_all` can make all checks.
void check_together(const std::vector<keyed_policy>& several, const node_ref& all) {
    for (std::size_t i = 0; i < several.size(); ++i) {
        const auto& p = several[i].limit;
        if (std::ranges::count(several, p.name(), [](const auto& k) { return k.limit.name(); }) > 1)
            all.element(i).refuse("is given twice");
        if (several.size() > 1 && detail::access::options(p).storage == storage::shared_hash)
            all.element(i).refuse("has the storage shared_hash, so it must be the only policy of a "
                                  "route");
    }
}

/// Returns whether items of header fields would have equal names.
[[nodiscard]] bool has_equal_names(const std::vector<keyed_policy>& several) {
    auto names = std::vector<std::string_view>{};
    for (const auto& k : several) {
        for (const auto& r : k.limit.rules())
            names.push_back(r.name());
        if (detail::access::options(k.limit).prevent_duplicate != 0)
            names.emplace_back("prevent_duplicate");
    }
    std::ranges::sort(names);
    return std::ranges::adjacent_find(names) != names.end();
}

/// Names the items of policies that are answered together.
void set_prefixes(std::vector<keyed_policy>& several) {
    if (several.size() < 2 || !has_equal_names(several))
        return;
    for (auto& k : several) {
        k.prefix = std::string{k.limit.name()} + '/';
        k.field = http::draft_11::policy_field(k.limit, k.prefix);
    }
}

[[nodiscard]] std::vector<keyed_policy> read_policies(const document_data& document,
                                                      const fields& f) {
    if (f.has("policy") && f.has("policies"))
        f["policies"].refuse("is given with policy; give one of them");
    if (f.has("policy"))
        return {read_reference(document, f["policy"])};
    if (!f.has("policies"))
        f.object().refuse("policy is missing, or policies ([] to limit nothing)");
    const auto all = f["policies"];
    if (!all.is(kind::array))
        all.unexpected("an array of names");
    if (all.size() > limits::max_route_policies)
        all.refuse("too many (got " + std::to_string(all.size()) + ", expected at most " +
                   std::to_string(limits::max_route_policies) + ")");
    std::vector<keyed_policy> several;
    several.reserve(all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        several.push_back(read_reference(document, all.element(i)));
    check_together(several, all);
    set_prefixes(several);
    return several;
}

[[nodiscard]] std::vector<std::string> read_methods(const node_ref& all) {
    if (!all.is(kind::array))
        all.unexpected("an array of methods");
    if (all.size() == 0)
        all.refuse("no methods (leave the field out for all methods)");
    if (all.size() > limits::max_route_methods)
        all.refuse("too many (got " + std::to_string(all.size()) + ", expected at most " +
                   std::to_string(limits::max_route_methods) +
                   "; leave the field out for all methods)");
    std::vector<std::string> methods;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto one = all.element(i);
        const auto name = one.text("a method such as \"GET\"");
        one.with_path([&] { http::check_method(name); });
        if (std::ranges::count(methods, name) != 0)
            one.refuse("is given twice");
        methods.emplace_back(name);
    }
    return methods;
}

/// Throws if earlier routes hide one.
void check_counts(const std::vector<std::size_t>& earlier, std::size_t i, const node_ref& all) {
    if (earlier.empty())
        return;
    auto names = std::string{};
    for (const auto& e : earlier) {
        names += &e == &earlier.front() ? "" : &e == &earlier.back() ? " and " : ", ";
        names += all.element(e).path();
    }
    all.element(i).refuse("is never used, as " + names +
                          (earlier.size() == 1 ? " matches" : " match") + " all its requests");
}

[[nodiscard]] http::route read_route(document_data& document, const fields& f) {
    auto methods = f.has("methods") ? read_methods(f["methods"]) : std::vector<std::string>{};
    const auto path = f["path"];
    const auto written = path.text("a path such as \"/api/*\"");
    document.written.unlikely.push_back(http::is_unlikely(written, methods));
    return path.with_path([&] { return http::route{written, std::move(methods)}; });
}

} // namespace

const keyed_policy* find_policy(const document_data& document, std::string_view name) noexcept {
    const auto* const found = document.policies.find(name);
    if (found == nullptr)
        return nullptr;
    return &document.keyed[static_cast<std::size_t>(found - &*document.policies.begin())];
}

void read_routes(document_data& document, const node_ref& all) {
    if (!all.is(kind::array))
        all.unexpected("an array of routes");
    if (all.size() > limits::max_routes)
        all.refuse("too many (got " + std::to_string(all.size()) + ", expected at most " +
                   std::to_string(limits::max_routes) + ")");
    constexpr std::array<std::string_view, 4> known{"path", "methods", "policy", "policies"};
    std::vector<http::route> routes;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto f = fields{all.element(i)};
        f.allow_only(known);
        routes.push_back(read_route(document, f));
        document.policies_of.push_back(read_policies(document, f));
    }
    document.routes = http::route_table{std::move(routes)};
    for (std::size_t i = 0; i < all.size(); ++i)
        check_counts(document.routes.hidden_by(i), i, all);
}

} // namespace colimit::json
