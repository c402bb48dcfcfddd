// SPDX-License-Identifier: BSL-1.0
//
// Reads a document of policies with routes.
//
// Policies, keys and routes are one value, so a service never has routes of one version and
// policies of another. References are resolved here, so a request looks nothing up by name. A route
// that an earlier one hides has a limit that no request meets, which a test of the service hardly
// notices: so it is an error.
//
// The schema for editors, policies.schema.json, checks less: it names fields, ranges and texts, and
// accepts all that this accepts, except names of algorithms and units in upper case. A rule text
// with a typing error, or a route to a policy that does not exist, is found only here. test/schema
// compares both.

#include <colimit/limits.hpp>
#include <policy_json/document.hpp>
#include <policy_json/document_data.hpp>
#include <policy_json/fields.hpp>
#include <policy_json/read_policy.hpp>
#include <policy_json/read_routes.hpp>

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace colimit::json {
namespace {

using detail::document_data;

[[nodiscard]] http::key_template read_key(const node_ref& p) {
    constexpr std::array<std::string_view, 1> key{"key"};
    if (!p.is(kind::object) || !fields{p}.has(key.front()))
        return http::key_template{};
    const auto written = fields{p}[key.front()];
    const auto text = written.text("a key template such as \"ip\"");
    return written.with_path([&] { return http::key_template{text}; });
}

void read_policies(document_data& document, const node_ref& all) {
    constexpr std::array<std::string_view, 1> further{"key"};
    std::vector<policy> policies;
    policies.reserve(all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        policies.push_back(read_policy(all.member(i), further));
    document.policies = policy_set{std::move(policies)};
    const auto keys = fields{all};
    for (const auto& p : document.policies)
        document.keyed.emplace_back(p, read_key(keys[p.name()]));
}

[[nodiscard]] http::forwarding_field read_proxy_field(const node_ref& p) {
    constexpr std::string_view expected = "X-Forwarded-For or Forwarded";
    const auto name = p.text(expected);
    if (name == "X-Forwarded-For")
        return http::forwarding_field::x_forwarded_for;
    if (name != "Forwarded")
        p.unexpected(expected);
    return http::forwarding_field::forwarded;
}

[[nodiscard]] http::trusted_proxies read_proxies(const node_ref& p, http::forwarding_field field) {
    if (p.is(kind::number))
        return http::trusted_proxies{static_cast<int>(p.integer(0, limits::max_proxies)), field};
    if (!p.is(kind::array))
        p.unexpected("a number of proxies or an array of networks");
    std::vector<http::network> networks;
    for (std::size_t i = 0; i < p.size(); ++i) {
        const auto one = p.element(i);
        const auto text = one.text("a network such as \"10.0.0.0/8\"");
        networks.push_back(one.with_path([&] { return http::network{text}; }));
    }
    return p.with_path([&] { return http::trusted_proxies{std::move(networks), field}; });
}

[[nodiscard]] document_data read_document(const fields& f) {
    constexpr std::array<std::string_view, 7> known{"$schema",     "version",     "trusted_proxies",
                                                    "proxy_field", "ipv6_prefix", "policies",
                                                    "routes"};
    f.allow_only(known);
    auto made = document_data{};
    if (f.has("$schema"))
        (void)f["$schema"].text("the address of a schema");
    if (f.has("version"))
        made.version = f["version"].integer(1, limits::max_exact_integer);
    const auto field =
        f.has("proxy_field") ? read_proxy_field(f["proxy_field"]) : http::forwarding_field::either;
    const auto none = http::trusted_proxies{0, field};
    made.proxies = f.has("trusted_proxies") ? read_proxies(f["trusted_proxies"], field) : none;
    if (f.has("proxy_field") && made.proxies == none)
        f["proxy_field"].refuse("has no effect without trusted_proxies");
    if (f.has("ipv6_prefix"))
        made.prefixes.v6 = static_cast<int>(f["ipv6_prefix"].integer(1, 128));
    read_policies(made, policies_in(f));
    made.has_routes = f.has("routes");
    if (made.has_routes)
        read_routes(made, f["routes"]);
    return made;
}

[[nodiscard]] document_data parse_document(std::string_view text,
                                           std::size_t most = limits::max_json_bytes) {
    const auto parsed = parse(text, most);
    return read_document(fields{node_ref{parsed, parsed.root, ""}});
}

[[nodiscard]] policy_document made_of(document_data data) {
    return detail::access::make<policy_document>(
        std::make_shared<const document_data>(std::move(data)));
}

} // namespace

policy_document parse_published(std::string_view document, std::int64_t version) {
    auto made = parse_document(document);
    if (made.version.value_or(version) != version)
        throw error{errc::invalid_policy, "version: not the published one (got " +
                                              std::to_string(*made.version) + ", expected " +
                                              std::to_string(version) + ")"};
    made.version = version;
    return made_of(std::move(made));
}

policy_document parse_copy(std::string_view document) {
    return made_of(parse_document(document, max_copy_bytes));
}

bool has_routes(const policy_document& document) noexcept {
    return detail::access::data(document)->has_routes;
}

bool is_unlikely(const policy_document& document, std::size_t route) noexcept {
    return detail::access::data(document)->written.unlikely[route];
}

std::string with_version(std::string_view document, std::int64_t version) {
    if (parse_document(document).version)
        return std::string{document};
    auto out = std::string{document};
    return out.insert(out.find('{') + 1, "\"version\": " + std::to_string(version) + ", ");
}

} // namespace colimit::json

namespace colimit {

policy_document parse_policy_document(std::string_view document) {
    return json::made_of(json::parse_document(document));
}

bool operator==(const policy_document& a, const policy_document& b) {
    return a.data_ == b.data_ || *a.data_ == *b.data_;
}

std::optional<std::int64_t> policy_document::version() const noexcept {
    return data_->version;
}

const policy_set& policy_document::policies() const noexcept {
    return data_->policies;
}

const keyed_policy* policy_document::find(std::string_view name) const noexcept {
    return json::find_policy(*data_, name);
}

const http::route_table& policy_document::routes() const noexcept {
    return data_->routes;
}

std::span<const keyed_policy> policy_document::policies_of(std::size_t route) const noexcept {
    return data_->policies_of[route];
}

const http::trusted_proxies& policy_document::trusted_proxies() const noexcept {
    return data_->proxies;
}

address_prefixes policy_document::prefixes() const noexcept {
    return data_->prefixes;
}

} // namespace colimit
