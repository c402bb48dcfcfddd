// SPDX-License-Identifier: BSL-1.0
//
// Documents of policies with routes: the meaning of each field, and the position of each mistake.

#include <colimit/json.hpp>
#include <colimit/limits.hpp>
#include <colimit/policy_document.hpp>
#include <policy_json/document.hpp>
#include <support/refusal.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(policy_documents)

namespace {

using namespace colimit;
using namespace std::chrono_literals;

constexpr std::string_view example = R"({
    "$schema": "policies.schema.json",
    "version": 7,
    "trusted_proxies": ["10.0.0.0/8", "::1"],
    "ipv6_prefix": 56,
    "policies": {
        "login": {"rules": "5/m burst 10", "key": "ip+route", "prevent_duplicate": "5s"},
        "api": "100/s; 5000/h named hour"
    },
    "routes": [
        {"path": "/health", "policies": []},
        {"path": "/login", "methods": ["POST"], "policies": ["login", "api"]},
        {"path": "/*", "policy": "api"}
    ]
})";

const auto login = policy{"login", gcra(5, 1min).burst(10)}.prevent_duplicate(5s);
const auto api = policy{"api", gcra(100, 1s), gcra(5000, 1h).named("hour")};

[[nodiscard]] std::string reason(std::string_view text) {
    return test::refusal(errc::invalid_policy, [&] { return parse_policy_document(text); });
}

void check(std::string_view text, std::string_view expected) {
    BOOST_TEST_CONTEXT(text) {
        BOOST_TEST(reason(text) == expected);
    }
}

/// Checks a mistake in the routes of a document with the policies `api`, `login` and `packed`.
void check_routes(const std::string& routes, std::string_view expected) {
    check(R"({"policies": {"login": "1/s", "api": "2/s", "packed": {"rules": "1/s", "storage":
             "shared_hash"}}, "routes": )" +
              routes + "}",
          expected);
}

[[nodiscard]] std::vector<std::string> names(std::span<const keyed_policy> policies) {
    std::vector<std::string> out;
    for (const auto& p : policies)
        out.emplace_back(p.limit.name());
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_example_of_the_header_is_read) {
    const auto d = parse_policy_document(example);
    BOOST_TEST((d.version() == 7));
    BOOST_TEST((d.policies() == policy_set{{login, api}}));
    BOOST_REQUIRE(d.find("login") != nullptr);
    BOOST_TEST((*d.find("login") == keyed_policy{login, http::key_template{"ip+route"}}));
    BOOST_REQUIRE(d.find("api") != nullptr);
    BOOST_TEST((*d.find("api") == keyed_policy{api, http::key_template{"ip"}}));
    BOOST_TEST(d.find("logi") == nullptr);
    BOOST_TEST((d.trusted_proxies() ==
                http::trusted_proxies{{http::network{"10.0.0.0/8"}, http::network{"::1"}}}));
    BOOST_TEST(d.prefixes().v6 == 56);
    BOOST_TEST(d.prefixes().v4 == 32);

    BOOST_TEST_REQUIRE(d.routes().size() == 3U);
    BOOST_TEST((d.routes()[1] == http::route{"/login", {"POST"}}));
    BOOST_TEST(d.policies_of(0).empty());
    BOOST_TEST((names(d.policies_of(1)) == std::vector<std::string>{"login", "api"}));
    BOOST_TEST((d.policies_of(1)[0].limit == login));
    BOOST_TEST((d.policies_of(1)[0].key == http::key_template{"ip+route"}));
    BOOST_TEST(d.policies_of(1)[0].prefix == "login/"); // both have a rule `gcra`
    BOOST_TEST((d.policies_of(2)[0] == *d.find("api")));
    BOOST_TEST((names(d.policies_of(2)) == std::vector<std::string>{"api"}));
    BOOST_TEST((d.routes().find("GET", "/login") == 2U));
    BOOST_TEST((d.routes().find("POST", "/login") == 1U));
}

BOOST_AUTO_TEST_CASE(only_policies_are_needed) {
    const auto d = parse_policy_document(R"({"policies": {"a": ["1/s"], "b": {"rules": "1/s"}}})");
    BOOST_TEST(!d.version());
    BOOST_TEST(d.policies().size() == 2U);
    BOOST_TEST((d.find("b")->key == http::key_template{"ip"}));
    BOOST_TEST(d.routes().empty());
    BOOST_TEST((d.trusted_proxies() == http::trusted_proxies{}));
    BOOST_TEST(d.prefixes().v6 == 64);
    BOOST_TEST(parse_policy_document(R"({"policies": {}})").policies().empty());
    BOOST_TEST(
        (parse_policy_document(R"({"policies": {}, "trusted_proxies": 2})").trusted_proxies() ==
         http::trusted_proxies{2}));
}

/// It keeps what it has, however the text and other documents end.
BOOST_AUTO_TEST_CASE(a_copy_shares_and_outlives_the_document) {
    auto first = parse_policy_document(std::string{example});
    const auto copy = first;
    const auto* const found = first.find("login");
    first = parse_policy_document(R"({"policies": {}})");
    BOOST_TEST(copy.find("login") == found);
    BOOST_TEST((found->limit == login));
    BOOST_TEST(first.find("login") == nullptr);
}

BOOST_AUTO_TEST_CASE(policies_are_those_of_policies_alone) {
    const std::string_view with_options =
        R"({"policies": {"a": {"rules": ["1/s", {"limit": 2, "period": "1m", "name": "m"}],
            "shadow": true, "on_failure": "deny", "storage": "shared_hash", "prefix": "x"}}})";
    BOOST_TEST((parse_policy_document(with_options).policies() == parse_policies(with_options)));
    BOOST_TEST(test::refusal(errc::invalid_policy,
                             [] {
                                 return parse_policies(
                                     R"({"policies": {"a": {"rules": "1/s", "key": "ip"}}})");
                             }) ==
               "policies.a.key: unknown field (expected one of rules, prevent_duplicate, "
               "shadow, on_failure, storage, prefix, leases)");
}

BOOST_AUTO_TEST_CASE(fields_of_the_document_are_checked) {
    check("[]", "the document: invalid value (got an array, expected an object)");
    check("{\"policies\": {", "JSON, line 1, column 15: the document ends too early");
    check(R"({"routes": []})", "the document: policies is missing");
    check(R"({"policies": {}, "route": []})",
          "route: unknown field (expected one of $schema, version, trusted_proxies, proxy_field, "
          "ipv6_prefix, policies, routes)");
    check(R"({"policies": {}, "policies": {}})", "policies: is given twice");
    check(R"({"policies": {}, "$schema": 1})",
          "['$schema']: invalid value (got 1, expected the address of a schema)");
    check(R"({"policies": {}, "version": 0})",
          "version: invalid value (got 0, expected at least 1)");
    check(R"({"policies": {}, "version": "7"})",
          "version: invalid value (got the text '7', expected a whole number)");
    check(R"({"policies": {}, "ipv6_prefix": 129})",
          "ipv6_prefix: invalid value (got 129, expected at most 128)");
    check(R"({"policies": {}, "ipv6_prefix": 0})",
          "ipv6_prefix: invalid value (got 0, expected at least 1)");
    check(R"({"policies": {"login": {"rules": "1/s", "key": 5}}})",
          "policies.login.key: invalid value (got 5, expected a key template such as \"ip\")");
    check(R"({"policies": {"login": {"rules": "1/s", "keys": "ip"}}})",
          "policies.login.keys: unknown field (expected one of rules, prevent_duplicate, shadow, "
          "on_failure, storage, prefix, leases, key)");
    BOOST_TEST(reason(R"({"policies": {"login": {"rules": "1/s", "key": "ipp"}}})")
                   .starts_with("policies.login.key: key template, character 1: "));
}

BOOST_AUTO_TEST_CASE(trusted_proxies_are_a_number_or_networks) {
    check(R"({"policies": {}, "trusted_proxies": -1})",
          "trusted_proxies: invalid value (got -1, expected at least 0)");
    check(R"({"policies": {}, "trusted_proxies": 33})",
          "trusted_proxies: invalid value (got 33, expected at most 32)");
    check(R"({"policies": {}, "trusted_proxies": "10.0.0.1"})",
          "trusted_proxies: invalid value (got the text '10.0.0.1', expected a number of proxies "
          "or an array of networks)");
    check(R"({"policies": {}, "trusted_proxies": ["::1", 1]})",
          "trusted_proxies[1]: invalid value (got 1, expected a network such as \"10.0.0.0/8\")");
    BOOST_TEST(reason(R"({"policies": {}, "trusted_proxies": ["::1", "10.0.0.1/8"]})")
                   .starts_with("trusted_proxies[1]: "));
    auto many = std::string{"\"::1\""};
    for (std::size_t i = 0; i < limits::max_proxy_networks; ++i)
        many += ", \"::1\"";
    BOOST_TEST(reason(R"({"policies": {}, "trusted_proxies": [)" + many + "]}")
                   .starts_with("trusted_proxies: "));
}

BOOST_AUTO_TEST_CASE(the_field_of_proxies_may_be_named) {
    using enum http::forwarding_field;
    const auto field_of = [](const std::string& fields) {
        return parse_policy_document(R"({"policies": {}, "trusted_proxies": )" + fields + "}")
            .trusted_proxies()
            .field();
    };
    BOOST_TEST((field_of("1") == either));
    BOOST_TEST((field_of(R"(1, "proxy_field": "X-Forwarded-For")") == x_forwarded_for));
    BOOST_TEST((field_of(R"(["::1"], "proxy_field": "Forwarded")") == forwarded));
    check(R"({"policies": {}, "trusted_proxies": 1, "proxy_field": "X-Real-IP"})",
          "proxy_field: invalid value (got the text 'X-Real-IP', expected X-Forwarded-For or "
          "Forwarded)");
    for (const auto* const none : {"", R"("trusted_proxies": 0, )", R"("trusted_proxies": [], )"})
        check(R"({"policies": {}, )" + std::string{none} + R"("proxy_field": "Forwarded"})",
              "proxy_field: has no effect without trusted_proxies");
    check(R"({"policies": {}, "trusted_proxies": ["0.0.0.0/1", "128.0.0.0/1"]})",
          "trusted_proxies: networks of trusted proxies: too large (expected less than half of the "
          "IPv4 addresses)");
}

BOOST_AUTO_TEST_CASE(routes_are_checked) {
    check_routes("{}", "routes: invalid value (got an object, expected an array of routes)");
    check_routes("[5]", "routes[0]: invalid value (got 5, expected an object)");
    check_routes(R"([{"policy": "api"}])", "routes[0]: path is missing");
    check_routes(R"([{"path": 5, "policy": "api"}])",
                 "routes[0].path: invalid value (got 5, expected a path such as \"/api/*\")");
    check_routes(R"([{"path": "/", "policy": "api", "method": "GET"}])",
                 "routes[0].method: unknown field (expected one of path, methods, policy, "
                 "policies)");
    BOOST_TEST(reason(R"({"policies": {}, "routes": [{"path": "a", "policies": []}]})")
                   .starts_with("routes[0].path: invalid path (got "));
    check_routes(R"([{"path": "/", "policy": "api", "methods": "GET"}])",
                 "routes[0].methods: invalid value (got the text 'GET', expected an array of "
                 "methods)");
    check_routes(R"([{"path": "/", "policy": "api", "methods": []}])",
                 "routes[0].methods: no methods (leave the field out for all methods)");
    check_routes(R"([{"path": "/", "policy": "api", "methods": ["GET", 5]}])",
                 "routes[0].methods[1]: invalid value (got 5, expected a method such as \"GET\")");
    check_routes(R"([{"path": "/", "policy": "api", "methods": ["GET", "PUT", "GET"]}])",
                 "routes[0].methods[2]: is given twice");
    auto methods = std::string{"\"M\""};
    for (auto i = 0; i < 64; ++i)
        methods += ", \"M" + std::to_string(i) + "\"";
    check_routes(
        R"([{"path": "/", "policy": "api", "methods": [)" + methods + "]}]",
        "routes[0].methods: too many (got 65, expected at most 64; leave the field out for "
        "all methods)");
    BOOST_TEST(reason(R"({"policies": {}, "routes": [{"path": "/", "policies": [], "methods":
                      ["GET", "G ET"]}]})")
                   .starts_with("routes[0].methods[1]: "));
}

BOOST_AUTO_TEST_CASE(policies_of_routes_exist_and_can_be_checked_together) {
    check_routes(R"([{"path": "/a", "policies": []}, {"path": "/b", "policies": ["api"]},
                     {"path": "/c", "policy": "logn"}])",
                 "routes[2].policy: no such policy (got 'logn', expected one of api, login, "
                 "packed)");
    check_routes(R"([{"path": "/c", "policies": ["api", "logn"]}])",
                 "routes[0].policies[1]: no such policy (got 'logn', expected one of api, login, "
                 "packed)");
    check_routes(R"([{"path": "/c", "policy": 5}])",
                 "routes[0].policy: invalid value (got 5, expected the name of a policy)");
    check_routes(R"([{"path": "/c"}])",
                 "routes[0]: policy is missing, or policies ([] to limit nothing)");
    check_routes(R"([{"path": "/c", "policy": "api", "policies": []}])",
                 "routes[0].policies: is given with policy; give one of them");
    check_routes(R"([{"path": "/c", "policies": "api"}])",
                 "routes[0].policies: invalid value (got the text 'api', expected an array of "
                 "names)");
    check_routes(R"([{"path": "/c", "policies": ["api", "login", "api"]}])",
                 "routes[0].policies[0]: is given twice");
    check_routes(R"([{"path": "/c", "policies": ["api", "packed"]}])",
                 "routes[0].policies[1]: has the storage shared_hash, so it must be the only "
                 "policy of a route");
    BOOST_TEST(parse_policy_document(R"({"policies": {"p": {"rules": "1/s", "storage":
               "shared_hash"}}, "routes": [{"path": "/", "policies": ["p"]}]})")
                   .policies_of(0)
                   .size() == 1U);
    check_routes(R"([{"path": "/c", "policies": ["a","b","c","d","e","f","g","h","i"]}])",
                 "routes[0].policies: too many (got 9, expected at most 8)");
    check(R"({"policies": {"a": "3/30s concurrent"}, "routes": [{"path": "/", "policy": "a"}]})",
          "routes[0].policy: has a concurrent rule, whose slots a route does not hold");
    check(R"({"policies": {}, "routes": [{"path": "/", "policy": "a"}]})",
          "routes[0].policy: no such policy (got 'a', expected none, as there are no policies)");
    check(
        R"({"policies": {"a": "1/s", "b": "1/s", "c": "1/s", "d": "1/s", "e": "1/s", "f": "1/s",
             "g": "1/s", "h": "1/s", "i": "1/s"}, "routes": [{"path": "/", "policy": "x"}]})",
        "routes[0].policy: no such policy (got 'x', expected one of a, b, c, d, e, f, g, h, ...)");
}

BOOST_AUTO_TEST_CASE(a_route_that_never_counts_is_refused) {
    check_routes(R"([{"path": "/a", "policy": "api"}, {"path": "/api/*", "policy": "api"},
                     {"path": "/api/users/{id}", "methods": ["GET"], "policy": "login"}])",
                 "routes[2]: is never used, as routes[1] matches all its requests");
    check_routes(R"([{"path": "/a", "policy": "api"}, {"path": "/a/", "policy": "login"}])",
                 "routes[1]: is never used, as routes[0] matches all its requests");
    check_routes(R"([{"path": "/login", "methods": ["GET"], "policy": "api"},
                     {"path": "/{x}", "methods": ["POST", "PUT"], "policy": "api"},
                     {"path": "/login", "methods": ["POST", "HEAD"], "policy": "login"}])",
                 "routes[2]: is never used, as routes[0] and routes[1] match all its requests");
    check_routes(R"([{"path": "/a", "policy": "api"}, {"path": "/a/{x}/*", "policy": "api"},
                     {"path": "/a/*", "policy": "login"}])",
                 "routes[2]: is never used, as routes[0] and routes[1] match all its requests");
    const auto d = parse_policy_document(R"({"policies": {"a": "1/s"}, "routes": [
        {"path": "/a", "methods": ["GET"], "policy": "a"}, {"path": "/a", "policies": []}]})");
    BOOST_TEST((d.routes().find("PUT", "/a") == 1U));
}

BOOST_AUTO_TEST_CASE(a_thousand_policies_and_routes_are_a_document) {
    const auto document = [](std::size_t routes) {
        auto policies = std::string{};
        auto all = std::string{};
        for (std::size_t i = 0; i < limits::max_policies; ++i)
            policies += (i == 0 ? "\"p" : ",\"p") + std::to_string(i) + R"(":"1/s")";
        for (std::size_t i = 0; i < routes; ++i)
            all += (i == 0 ? "" : ",") + (R"({"path":"/r)" + std::to_string(i)) +
                   R"(","policy":"p)" + std::to_string(i % limits::max_policies) + "\"}";
        return R"({"policies":{)" + policies + R"(},"routes":[)" + all + "]}";
    };
    const auto d = parse_policy_document(document(limits::max_routes));
    BOOST_TEST(d.routes().size() == limits::max_routes);
    BOOST_TEST((d.routes().find("GET", "/r999") == 999U));
    BOOST_TEST((names(d.policies_of(999)) == std::vector<std::string>{"p999"}));
    BOOST_TEST(reason(document(limits::max_routes + 1)) ==
               "routes: too many (got 1001, expected at most 1000)");
}

BOOST_AUTO_TEST_CASE(a_published_document_has_the_version_of_its_publication) {
    const std::string_view plain = " {\"policies\": {\"a\": \"1/s\"}}";
    BOOST_TEST((json::parse_published(plain, 8).version() == 8));
    BOOST_TEST((json::parse_published(example, 7).version() == 7));
    BOOST_TEST(test::refusal(errc::invalid_policy, [] {
                   return json::parse_published(example, 8);
               }) == "version: not the published one (got 7, expected 8)");
    const auto copy = json::with_version(plain, 8);
    BOOST_TEST(copy == " {\"version\": 8, \"policies\": {\"a\": \"1/s\"}}");
    BOOST_TEST((parse_policy_document(copy).version() == 8));
    BOOST_TEST(json::with_version(example, 7) == example);
}

BOOST_AUTO_TEST_SUITE_END()
