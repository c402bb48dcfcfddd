// SPDX-License-Identifier: BSL-1.0
//
// Findings about documents: their routes, fields, proxies and keys, and how findings are written.

#include <support/unit_test.hpp>
#include <tool/lint/findings.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(lint_document)

namespace {

using tool::lint::problem;

/// The problems of a document with their positions.
std::string document_problems(std::string_view document) {
    std::string all;
    for (const auto& f : tool::lint::findings_of(document))
        all += (all.empty() ? "" : "; ") + std::string{to_string(f.problem)} + ' ' + f.path;
    return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_document_that_limits_nothing_is_a_warning) {
    const auto all = R"(, {"path": "/*", "policies": []}])";
    const auto routes = [&](std::string_view some) {
        return document_problems(R"({"policies": {"a": "5/s", "b": "100/h"}, "routes": [)" +
                                 std::string{some} + all + "}");
    };
    BOOST_TEST(document_problems(R"({"policies": {}})") == "no_policies policies");
    BOOST_TEST(document_problems(R"({"policies": {"a": "5/s"}})") == "");
    BOOST_TEST(document_problems(R"({"policies": {"a": "5/s"}, "routes": []})") ==
               "no_routes routes");
    BOOST_TEST(document_problems(R"({"policies": {}, "routes": []})") ==
               "no_policies policies; no_routes routes");
    BOOST_TEST(routes(R"({"path": "/x", "policies": []})") ==
               "unused_policy policies.a; unused_policy policies.b");
    BOOST_TEST(routes(R"({"path": "/x", "policy": "a"})") == "unused_policy policies.b");
    BOOST_TEST(routes(R"({"path": "/x", "policies": ["a", "b"]})") == "");
    BOOST_TEST(document_problems(R"({"policies": {"a": {"rules": "5/s", "shadow": true},
                                                  "b": "5/s shadow"}})") == "only_shadow policies");
    for (const auto* const other : {R"("5/s")", R"({"rules": "5/s shadow", "prevent_duplicate":
                                                   "1s"})"})
        BOOST_TEST(
            document_problems(R"({"policies": {"a": {"rules": "5/s", "shadow": true}, "b": )" +
                              std::string{other} + "}}") == "",
            other);
}

BOOST_AUTO_TEST_CASE(a_route_in_shadow_mode_that_a_later_one_would_limit_is_a_warning) {
    const auto routes = [](const std::string& text) {
        return document_problems(R"({"policies": {"a": "5/s", "b": "1/s shadow"},
                                     "routes": [)" +
                                 text + R"(, {"path": "/*", "policy": "a"}]})");
    };
    BOOST_TEST(routes(R"({"path": "/x", "policy": "b"})") == "only_shadow routes[0]");
    BOOST_TEST(routes(R"({"path": "/x/*", "methods": ["GET"], "policy": "b"})") ==
               "only_shadow routes[0]");
    BOOST_TEST(routes(R"({"path": "/x", "policies": ["b", "a"]})") == "");
    BOOST_TEST(document_problems(R"({"policies": {"a": "5/s", "b": "1/s shadow"}, "routes": [
        {"path": "/x", "policy": "b"}, {"path": "/y", "policy": "a"},
        {"path": "/*", "policies": []}]})") == "");
}

BOOST_AUTO_TEST_CASE(fields_without_effect_are_a_warning) {
    BOOST_TEST(
        document_problems(R"({"policies": {"a": {"rules": "5/s", "key": "user"}, "b": "5/s"}})") ==
        "unused_key policies.a.key");
    BOOST_TEST(document_problems(R"({"policies": {"a": {"rules": "5/s", "prevent_duplicate": "0s"},
        "b": {"rules": "5/s", "prevent_duplicate": "1s"}}})") ==
               "no_effect policies.a.prevent_duplicate");
}

BOOST_AUTO_TEST_CASE(leases_that_decide_no_call_are_a_warning) {
    const auto routes = [](const std::string& text, const std::string& rules = "100/s") {
        return document_problems(
            R"({"policies": {"a": {"rules": ")" + rules + R"(", "leases": "10ms"},
                             "b": "9000/h"})" +
            (text.empty() ? "" : R"(, "routes": [)" + text + R"({"path": "/*", "policies": []}])") +
            "}");
    };
    const std::string both = R"({"path": "/x", "policies": ["a", "b"]}, )";
    const std::string alone = R"({"path": "/y", "policy": "a"}, )";
    constexpr auto found = "no_effect policies.a.leases";
    BOOST_TEST(routes(both) == found);
    BOOST_TEST(routes(both + alone) == "");
    BOOST_TEST(routes(alone) == "unused_policy policies.b");
    BOOST_TEST(routes(R"({"path": "/y", "policy": "b"}, )") == "unused_policy policies.a");
    BOOST_TEST(routes("") == "");
    BOOST_TEST(routes("", "100/s shadow") == found);
    BOOST_TEST(routes("", "100/s; 5000/h named hour shadow") == found);
    BOOST_TEST(routes(both + alone, "100/s; 5000/h named hour shadow") == found);
}

BOOST_AUTO_TEST_CASE(a_failure_mode_that_denies_nothing_is_a_warning) {
    const auto policy = [](const std::string& fields) {
        return document_problems(R"({"policies": {"a": {"rules": "5/s", )" + fields +
                                 R"(}, "b": "5/s"}})");
    };
    BOOST_TEST(policy(R"("shadow": true, "on_failure": "deny")") ==
               "no_effect policies.a.on_failure");
    BOOST_TEST(policy(R"("on_failure": "deny")") == "");
    for (const auto* const mode :
         {"allow", "local", "error"}) // which may count or end with an error
        BOOST_TEST(policy(R"("shadow": true, "on_failure": ")" + std::string{mode} + '"') == "",
                   mode);
}

BOOST_AUTO_TEST_CASE(a_rule_that_another_policy_of_its_routes_covers_is_unreachable) {
    const auto problems = [](const std::string& policies, const std::string& routes) {
        return document_problems(R"({"policies": {)" + policies + R"(}, "routes": [)" + routes +
                                 R"({"path": "/*", "policies": []}]})");
    };
    const std::string both = R"({"path": "/x", "policies": ["a", "b"]}, )";
    const std::string strict = R"("a": {"rules": "10/s", "key": "user|ip"}, )";
    const auto b = [](const std::string& rules, const std::string& key) {
        return R"("b": {"rules": ")" + rules + R"(", "key": ")" + key + R"("})";
    };
    constexpr auto found = "unreachable_rule policies.b";
    const auto with = [&](const std::string& text) { return problems(strict + text, both); };
    BOOST_TEST(with(b("1000/s", "user|ip")) == found);
    BOOST_TEST(with(b("10/s", "user | ip")) == found); // of two equal ones the second
    BOOST_TEST(with(b("1000/s shadow", "user|ip")) == found);
    BOOST_TEST(with(b("1000/s", "user|ip+route")) == found);
    BOOST_TEST(with(b("1000/s", "method+user|ip")) == found);
    BOOST_TEST(with(b("9/s", "user|ip")) == "unreachable_rule policies.a");
    for (const auto& text :
         {b("9/s", "user|ip+route"), b("1000/s", "user"), b("1000/s", "ip"), b("1000/s", "global"),
          b("100/h", "user|ip"), b("1000/s sliding_log", "ip+route")})
        BOOST_TEST(with(text).find("unreachable") == std::string::npos, text);
    BOOST_TEST(problems(R"("a": {"rules": "10/s", "key": "global"}, )" + b("1000/s", "ip"), both) ==
               found);
    // A rule in shadow mode denies nothing first, and another failure mode may deny.
    BOOST_TEST(problems(R"("a": {"rules": "10/s", "shadow": true}, )" + b("1000/s", "ip"), both) ==
               "");
    BOOST_TEST(problems(R"("a": {"rules": "10/s", "on_failure": "allow"}, )" + b("1000/s", "ip"),
                        both) == "");
    // Without the other policy on all its routes it counts requests that the other one does not.
    BOOST_TEST(problems(strict + b("1000/s", "user|ip"),
                        both + R"({"path": "/y", "policy": "b"}, )") == "");
    BOOST_TEST(problems(strict + b("1000/s", "user|ip"),
                        both + R"({"path": "/y", "policy": "a"}, )") == found);
    const auto all = tool::lint::findings_of(
        R"({"policies": {"a": "10/s", "b": "1000/s"},
            "routes": [{"path": "/*", "policies": ["b", "a"]}]})");
    BOOST_TEST_REQUIRE(all.size() == 1U);
    BOOST_TEST(all[0].message == "rule 1 (1000/s) is unreachable: on each of its routes it never "
                                 "denies a request that rule 1 (10/s) of policy a allows");
}

BOOST_AUTO_TEST_CASE(a_route_without_policies_that_leaves_no_request_is_a_warning) {
    const auto routes = [](const std::string& first, const std::string& last = R"("policy": "a")") {
        return document_problems(R"({"policies": {"a": "5/s"}, "routes": [{)" + first +
                                 R"(}, {"path": "/a", "policy": "a"}, {"path": "/*", )" + last +
                                 "}]}");
    };
    for (const auto* const path : {"/{x}/y/*", "/health", "/"})
        BOOST_TEST(routes(R"("policies": [], "path": ")" + std::string{path} + '"') == "", path);
    for (const auto* const path : {"/{x}/*/*", "/{x}/{y}", "/*/{y}/*"})
        BOOST_TEST(routes(R"("policies": [], "path": ")" + std::string{path} + '"') ==
                       "open_route routes[0]",
                   path);
    BOOST_TEST(routes(R"("policies": [], "path": "/{x}/{y}")", R"("policies": [])") == "");
    for (const auto& [methods, problem] : std::vector<std::pair<std::string, std::string>>{
             {R"("GET")", "open_route routes[0]"},
             {R"("GET", "POST")", "open_route routes[0]"},
             {R"("GET", "OPTIONS")", "open_route routes[0]"},
             {R"("OPTIONS")", ""},
             {R"("OPTIONS", "TRACE")", ""}})
        BOOST_TEST(routes(R"("policies": [], "path": "/{x}/*", "methods": [)" + methods + ']') ==
                       problem,
                   methods);
    // Requests with GET, which the later route does not limit, are limited by none.
    BOOST_TEST(document_problems(R"({"policies": {"a": "5/s"}, "routes": [
        {"path": "/*", "methods": ["GET"], "policies": []},
        {"path": "/*", "methods": ["POST"], "policy": "a"},
        {"path": "/*", "policies": []}]})") == "");
    BOOST_TEST(routes(R"("policy": "a", "path": "/{x}/{y}")") == "");
    const auto found = tool::lint::findings_of(R"({"policies": {"a": "5/s"}, "routes": [
        {"path": "/{x}/*", "policies": []}, {"path": "/*", "policy": "a"}]})");
    BOOST_TEST_REQUIRE(found.size() == 1U);
    BOOST_TEST(found[0].path == "routes[0]");
    BOOST_TEST(found[0].message ==
               "has no policies and no literal segment, so requests of any name are not limited "
               "that routes[1] would limit (expected a path such as /health, or the policies of "
               "routes[1])");
}

BOOST_AUTO_TEST_CASE(policies_of_a_route_without_a_common_tag_are_a_warning) {
    const auto tags = [](const std::string& a, const std::string& b) {
        return tool::lint::findings_of(R"({"policies": {"a": {"rules": "5/s", "key": "user)" + a +
                                       R"("}, "b": {"rules": "100/h", "key": "ip)" + b +
                                       R"("}}, "routes": [{"path": "/x", "policy": "a"},
                               {"path": "/*", "policies": ["a", "b"]}]})");
    };
    for (const auto& [a, b] : std::vector<std::pair<std::string, std::string>>{
             {"+tag:a", "+tag:b"}, {"+tag:a", ""}, {"", "+tag:b"}, {"+tag:a", "+tag:ab"}}) {
        const auto found = tags(a, b);
        BOOST_TEST_REQUIRE(found.size() == 1U);
        BOOST_TEST((found[0].problem == problem::different_tags));
        BOOST_TEST(found[0].path == "routes[1]");
        BOOST_TEST(found[0].message.find("(got 'user" + a + "' of a and 'ip" + b + "' of b, ") !=
                   std::string::npos);
    }
    for (const auto& [a, b] : std::vector<std::pair<std::string, std::string>>{
             {"", ""}, {"+tag:a", "+tag:a"}, {"+route+tag:a", "+tag:a"}})
        BOOST_TEST(tags(a, b).empty());
}

BOOST_AUTO_TEST_CASE(fields_about_addresses_that_no_limit_reads_are_a_warning) {
    const auto with = [](const std::string& key, const std::string& fields) {
        return document_problems(R"({"policies": {"a": {"rules": "5/s", "key": ")" + key +
                                 R"("}}, "routes": [{"path": "/*", "policy": "a"}])" + fields +
                                 "}");
    };
    const std::string proxies = R"(, "trusted_proxies": 1, "proxy_field": "Forwarded")";
    const std::string prefix = R"(, "ipv6_prefix": 56)";
    BOOST_TEST(with("user", proxies + prefix) ==
               "no_effect trusted_proxies; no_effect ipv6_prefix");
    BOOST_TEST(with("global", proxies) == "no_effect trusted_proxies");
    BOOST_TEST(with("verified:header:ip+route", prefix) == "no_effect ipv6_prefix");
    BOOST_TEST(with("user", R"(, "trusted_proxies": 0, "ipv6_prefix": 64)") == "");
    for (const auto* const key : {"ip", "user|ip", "route+ip", "user|ip+route"})
        BOOST_TEST(with(key, proxies + prefix) == "", key);
}

BOOST_AUTO_TEST_CASE(methods_that_no_request_has_are_a_warning) {
    const auto methods = [](const std::string& names) {
        return document_problems(R"({"policies": {"a": "5/s"}, "routes": [{"path": "/a",
            "methods": [)" + names +
                                 R"(], "policy": "a"}, {"path": "/*", "policies": []}]})");
    };
    for (const auto* const name : {"ANY", "ALL", "PSOT", "DELTE", "OPTION"})
        BOOST_TEST(methods(R"("GET", ")" + std::string{name} + '"') ==
                       "unknown_method routes[0].methods[1]",
                   name);
    BOOST_TEST(methods(R"("POST", "ZAP", "GET", "ANY")") ==
               "unknown_method routes[0].methods[1]; unknown_method routes[0].methods[3]");
    for (const auto* const name :
         {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY",
          "PROPFIND", "MKCOL", "VERSION-CONTROL", "REPORT", "ACL", "UPDATEREDIRECTREF"})
        BOOST_TEST(
            methods('"' + std::string{name} + '"') ==
                (std::string_view{name} == "HEAD" ? "head_without_get routes[0].methods" : ""),
            name);
    BOOST_TEST(methods(R"("HEAD", "GET")") == "");
}

namespace {

/// The problems of a document with these paths, and a last route.
std::string path_problems(const std::vector<std::string>& paths) {
    auto text = std::string{R"({"policies": {"a": "5/s"}, "routes": [)"};
    for (const auto& p : paths)
        text += R"({"path": ")" + p + R"(", "policy": "a"}, )";
    return document_problems(text + R"({"path": "/*", "policies": []}]})");
}

} // namespace

BOOST_AUTO_TEST_CASE(a_path_that_hardly_any_request_has_is_a_warning) {
    for (const auto* const path : {"/login ", "/ a", "/a /b", "/a\\t", "/\\u0001", "/a\\u007f/b"})
        BOOST_TEST(path_problems({path}) == "odd_path routes[0].path", path);
    for (const auto* const path : {"/my file", "/a%20", "/\u00fc", "/a.b", "/~"})
        BOOST_TEST(path_problems({path}) == "", path);
    BOOST_TEST(path_problems({"/api/"}) == "final_slash routes[0].path");
    BOOST_TEST(path_problems({"/x/", "/api/{id}/"}) ==
               "final_slash routes[0].path; final_slash routes[1].path");
    BOOST_TEST(path_problems({"/api/", "/api/*"}) == "");
    BOOST_TEST(path_problems({"/"}) == "");
    BOOST_TEST(path_problems({"/api/*/"}) == "");
}

BOOST_AUTO_TEST_CASE(networks_that_have_too_many_clients_are_a_warning) {
    const auto proxies = [](const std::string& networks) {
        return document_problems(R"({"policies": {"a": "5/s"}, "proxy_field": "Forwarded",
            "trusted_proxies": [)" +
                                 networks + "]}");
    };
    BOOST_TEST(proxies(R"("10.0.0.0/8", "64.0.0.0/2")") == "wide_proxies trusted_proxies[1]");
    for (const auto* const text : {"8.0.0.0/7", "::ffff:8.0.0.0/103", "2000::/5", "2001::/16"})
        BOOST_TEST(proxies('"' + std::string{text} + '"') == "wide_proxies trusted_proxies[0]",
                   text);
    for (const auto* const text : {"10.0.0.0/8", "8.0.0.0/8", "172.16.0.0/12", "::1", "127.0.0.1",
                                   "fc00::/7", "fe80::/10", "2606:4700::/32", "2400::/17"})
        BOOST_TEST(proxies('"' + std::string{text} + '"') == "", text);
    auto many = std::string{R"("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")"};
    BOOST_TEST(proxies(many) == "");
    BOOST_TEST(proxies(R"("10.0.0.0/8", "10.0.0.0/8", "11.0.0.0/8", "11.0.0.0/9", "11.128.0.0/9",
                          "10.0.0.0/9", "10.0.0.0/10", "11.0.0.0/8", "10.0.0.0/8")")
                   .find("wide_proxies") == std::string::npos);
    BOOST_TEST(proxies(R"("64:ff9b::/64")") == "");
    for (auto first = 100; first < 103; ++first)
        many += ", \"" + std::to_string(first) + ".0.0.0/8\"";
    BOOST_TEST(proxies(many) == "wide_proxies trusted_proxies");
}

BOOST_AUTO_TEST_CASE(a_network_in_another_one_is_a_warning) {
    const auto proxies = [](const std::string& networks) {
        return document_problems(R"({"policies": {"a": "5/s"}, "proxy_field": "Forwarded",
            "trusted_proxies": [)" +
                                 networks + "]}");
    };
    const std::string first = "no_effect trusted_proxies[0]";
    const std::string second = "no_effect trusted_proxies[1]";
    BOOST_TEST(proxies(R"("10.0.0.0/8", "10.0.0.0/8")") == second);
    BOOST_TEST(proxies(R"("10.0.0.1", "10.0.0.1/32")") == second);
    BOOST_TEST(proxies(R"("10.0.0.1", "::ffff:10.0.0.1")") == second);
    BOOST_TEST(proxies(R"("10.0.0.0/8", "10.7.0.0/16")") == second);
    BOOST_TEST(proxies(R"("10.7.0.0/16", "10.0.0.0/8")") == first);
    BOOST_TEST(proxies(R"("10.0.0.0/9", "10.0.0.0/8")") == first);
    BOOST_TEST(proxies(R"("::ffff:10.0.0.0/104", "10.0.0.1")") == second);
    BOOST_TEST(proxies(R"("fc00::/7", "fc00::1")") == second);
    BOOST_TEST(proxies(R"("fd00::1", "fc00::/7")") == first);
    for (const auto* const apart :
         {R"("10.0.0.0/8", "11.0.0.0/8")", R"("10.0.0.0/9", "10.128.0.0/9")",
          R"("10.0.0.1", "10.0.0.2")", R"("fc00::/8", "fd00::/8")", R"("2001:db8::/32", "::1")"})
        BOOST_TEST(proxies(apart) == "", apart);
}

BOOST_AUTO_TEST_CASE(a_network_without_its_prefix_is_a_warning) {
    const auto messages = [](const std::string& networks) {
        std::string all;
        for (const auto& f : tool::lint::findings_of(
                 R"({"policies": {"a": "5/s"}, "proxy_field": "Forwarded", "trusted_proxies": [)" +
                 networks + "]}"))
            all += std::string{to_string(f.problem)} + ' ' + f.path + ": " + f.message + '\n';
        return all;
    };
    BOOST_TEST(messages(R"("10.0.0.1", "10.0.0.0")") ==
               "one_address trusted_proxies[1]: 10.0.0.0 is one address; a network needs its "
               "prefix, such as 10.0.0.0/8 (or 10.0.0.0/32 for this address alone)\n");
    for (const auto& [text, network] :
         std::vector<std::pair<std::string, std::string>>{{"172.16.0.0", "172.16.0.0/16"},
                                                          {"192.168.7.0", "192.168.7.0/24"},
                                                          {"::ffff:10.0.0.0", "10.0.0.0/8"},
                                                          {"2001:db8::", "2001:db8::/32"},
                                                          {"2001:db8:0:7::", "2001:db8:0:7::/64"},
                                                          {"fc00::", "fc00::/16"}})
        BOOST_TEST(messages('"' + text + '"').find("such as " + network + " (or ") !=
                       std::string::npos,
                   text);
    for (const auto* const text : {"0.0.0.0", "::"})
        BOOST_TEST(messages('"' + std::string{text} + '"').find("which no proxy has") !=
                       std::string::npos,
                   text);
    for (const auto* const text :
         {"10.0.0.0/32", "10.0.0.1", "192.0.2.10", "127.0.0.1", "::1", "2001:db8::1",
          "2001:db8::1:0:0:0", "2001:db8::/128", "2001:db8::/32"})
        BOOST_TEST(messages('"' + std::string{text} + '"') == "", text);
}

BOOST_AUTO_TEST_CASE(a_prefix_that_a_client_can_leave_is_a_warning) {
    const auto prefix = [](int bits) {
        return document_problems(R"({"policies": {"a": "5/s"}, "ipv6_prefix": )" +
                                 std::to_string(bits) + "}");
    };
    BOOST_TEST(prefix(64) == "");
    BOOST_TEST(prefix(56) == "");
    BOOST_TEST(prefix(65) == "invented_key ipv6_prefix");
}

BOOST_AUTO_TEST_CASE(a_prefix_of_whole_providers_is_a_warning) {
    const auto found = [](int bits) {
        return tool::lint::findings_of(R"({"policies": {"a": "5/s"}, "ipv6_prefix": )" +
                                       std::to_string(bits) + "}");
    };
    for (const auto bits : {1, 31, 32}) {
        BOOST_TEST_REQUIRE(found(bits).size() == 1U);
        BOOST_TEST(found(bits)[0].path == "ipv6_prefix");
        BOOST_TEST((found(bits)[0].problem == problem::wide_prefix));
        BOOST_TEST(found(bits)[0].message ==
                   "all clients of an IPv6 provider have one key, so they share a limit (got " +
                       std::to_string(bits) + ", expected 48 to 64)");
    }
    BOOST_TEST(found(33).empty());
}

BOOST_AUTO_TEST_CASE(routes_without_a_last_one_are_a_warning) {
    const auto routes = [](const std::string& last) {
        return document_problems(R"({"policies": {"a": "5/s"}, "routes": [)"
                                 R"({"path": "/x", "policy": "a"}, )" +
                                 last + "]}");
    };
    BOOST_TEST(routes(R"({"path": "/*", "policies": []})") == "");
    BOOST_TEST(routes(R"({"path": "/*/", "policy": "a"})") == "");
    for (const auto* const last :
         {R"({"path": "/x/*", "policy": "a"})", R"({"path": "/{a}", "policy": "a"})",
          R"({"path": "/*", "methods": ["GET"], "policy": "a"})"})
        BOOST_TEST(routes(last) == "no_last_route routes", last);
}

BOOST_AUTO_TEST_CASE(a_path_in_the_syntax_of_another_router_is_a_warning) {
    const auto path = [](const std::string& text) {
        return document_problems(R"({"policies": {"a": "5/s"}, "routes": [)"
                                 R"({"path": ")" +
                                 text + R"(", "policy": "a"}, {"path": "/*", "policies": []}]})");
    };
    for (const auto* const text : {"/:id",          "/api/:id/x",
                                   "/api/:id.json", "/user-:id",
                                   "/a/v.:id",      "/<id>",
                                   "/<int:id>",     "/a/<path:rest>",
                                   "/[id]",         "/[...slug]",
                                   "/[[...slug]]",  "/(group)/a",
                                   "/a...b",        "/[0-9]+",
                                   "/\\\\d+",       "/(a|b)",
                                   "/a|b",          "/^a",
                                   "/a$",           "/$id",
                                   "/.+",           "/a/(?P<id>x)/b",
                                   "/users/+",      "/users/_id",
                                   "/u/_userId/x",  "/users/@id",
                                   "/a/...",        "/users/%s",
                                   "/%d/x",         "/users:id",
                                   "/a:user_id",    "/a..."}) {
        const auto is_refused = path(text).starts_with("invalid_document");
        BOOST_TEST((path(text) == "foreign_path routes[0].path" || is_refused),
                   text << ": " << path(text));
        BOOST_TEST(is_refused == (std::string_view{text}.find('?') != std::string_view::npos));
    }
    for (const auto* const text :
         {"/api/{id}",  "/api/*",     "/*/x",       "/v1/users:batch", "/@user",    "/a.b",
          "/~x",        "/c++",       "/a=b",       "/%3Aid",          "/%5Bid%5D", "/a,b",
          "/it's",      "/a!",        "/{user.id}", "/x_y-z",          "/_health",  "/a+b",
          "/v1/a:void", "/i/_search", "/id",        "/100%25",         "/%2Bx"})
        BOOST_TEST(path(text) == "", text);
    for (const auto* const text :
         {"/*name", "/{id:[0-9]+}", "/{*path}", "/**", "/{id}?", "/a*", "/{path...}"})
        BOOST_TEST(path(text).starts_with("invalid_document"), text);
}

BOOST_AUTO_TEST_CASE(findings_say_where_and_what) {
    const auto found = tool::lint::findings_of(
        R"({"policies": {"b": "5/h burst 1000", "a": "10/s; 600/m named minute"}})");
    BOOST_TEST_REQUIRE(found.size() == 3U);
    BOOST_TEST(found[0].path == "policies.a");
    BOOST_TEST(found[0].message ==
               "rule 2 (600/m named minute) is unreachable: it never denies a call that rule 1 "
               "(10/s) allows");
    BOOST_TEST(found[1].path == "policies.b");
    BOOST_TEST(found[1].message == "rule 1 (5/h burst 1000) allows a day's quota in a second: a "
                                   "burst of 1,000, and 120 per day");
    BOOST_TEST(found[2].message ==
               "rule 1 (5/h burst 1000) takes 8 d 8 h to recover from a burst of 1,000");
}

BOOST_AUTO_TEST_CASE(an_error_has_its_position) {
    const auto found =
        tool::lint::findings_of(R"({"policies": {"a": "1/s"}, "routes": [{"path": 1}]})");
    BOOST_TEST_REQUIRE(found.size() == 1U);
    BOOST_TEST((found[0].problem == problem::invalid_document));
    BOOST_TEST(found[0].path == "routes[0].path");
    const auto broken = tool::lint::findings_of("{\n  x");
    BOOST_TEST_REQUIRE(broken.size() == 1U);
    BOOST_TEST(broken[0].path == "JSON, line 2, column 3");
}

namespace {

/// The problems of a document with the policies `ip`, `shadow`, `key` and `known`, and these
/// fields.
std::string problems_of(const std::string& fields) {
    std::string out;
    for (const auto& f : tool::lint::findings_of(
             R"({"policies": {"ip": "1/s", "shadow": "1/s shadow",
                "key": {"rules": "1/s", "key": "header:X-Api-Key|ip"},
                "trial": {"rules": "1/s", "shadow": true},
                "twins": {"rules": "1/s shadow", "prevent_duplicate": "5s"},
                "known": {"rules": "1/s", "key": "verified:header:X-Api-Key|ip"}}, )" +
             fields + "}"))
        if (f.problem == problem::invented_key || f.problem == problem::no_proxy_field)
            out += f.path + " " + std::string{to_string(f.problem)} + ";";
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(keys_that_a_client_can_invent_are_found_where_nothing_else_limits) {
    BOOST_TEST(problems_of(R"("routes": [{"path": "/a", "policy": "key"},
                                         {"path": "/b", "policies": ["key", "ip"]},
                                         {"path": "/c", "policies": []},
                                         {"path": "/d", "policies": ["shadow", "key"]},
                                         {"path": "/e", "policies": ["shadow"]},
                                         {"path": "/f", "policies": ["trial", "key"]},
                                         {"path": "/g", "policies": ["twins", "key"]},
                                         {"path": "/*", "policy": "known"}])") ==
               "routes[0] invented_key;routes[3] invented_key;routes[5] invented_key;");
}

BOOST_AUTO_TEST_CASE(proxies_without_the_field_that_they_write_are_found) {
    BOOST_TEST(problems_of(R"("trusted_proxies": 1)") == "trusted_proxies no_proxy_field;");
    BOOST_TEST(problems_of(R"("trusted_proxies": ["::1"])") == "trusted_proxies no_proxy_field;");
    BOOST_TEST(problems_of(R"("trusted_proxies": 0)") == "");
    BOOST_TEST(problems_of(R"("trusted_proxies": 1, "proxy_field": "Forwarded")") == "");
}

BOOST_AUTO_TEST_SUITE_END()
