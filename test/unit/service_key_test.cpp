// SPDX-License-Identifier: BSL-1.0
//
// Keys as operators write them, and as a service has them: whatever the guard counts under, and
// each spelling of it, leads to the same key, and no other text passes as a key.
#include <support/unit_test.hpp>
#include <tool/frame/service_key.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(service_keys)

namespace {

namespace http = colimit::http;
using tool::service_key;

/// A document whose policy `t` has keys of this template, on the routes `/login` and `/a/*`.
colimit::policy_document document_of(std::string_view key, std::string_view more = "") {
    return colimit::parse_policy_document(
        R"({"policies": {"t": {"rules": "2/h", "key": ")" + std::string{key} +
        R"("}, "o": "2/h"}, "routes": [{"path": "/login", "policy": "t"},
            {"path": "/a/*", "policy": "t"}, {"path": "/o", "policy": "o"}])" +
        std::string{more} + "}");
}

std::string problem(const auto& make) {
    try {
        return "no problem: " + make();
    } catch (const std::runtime_error& e) {
        return e.what();
    }
}

std::string problem_without_document(std::string_view key) {
    return problem([&] { return service_key(key); });
}

/// What a client may send.
struct message {
    std::vector<std::pair<std::string, std::string>> fields;
};

std::string guard_key(const colimit::policy_document& d, std::string_view client,
                      const http::request& r, std::string_view route) {
    const http::key_context context{.client = boost::asio::ip::make_address(client),
                                    .prefixes = d.prefixes(),
                                    .route = route,
                                    .user = r.user};
    return std::string{d.find("t")->key.key_of(r, context)};
}

} // namespace

BOOST_AUTO_TEST_CASE(the_keys_of_the_guard_are_keys_under_every_template) {
    for (const std::string_view key :
         {"ip", "user", "global", "user|ip", "ip+route", "method+ip", "user|ip+route+tag:x",
          "header:X-Api-Key|ip", "header:X-Api-Key", "query:account+ip", "global+user",
          "user+user|ip"})
        for (const std::string_view prefixes : {"", R"(, "ipv6_prefix": 128)"}) {
            const auto d = document_of(key, prefixes);
            for (const std::string_view client : {"192.0.2.7", "2001:db8::bad", "::ffff:192.0.2.7"})
                for (const auto& user : {std::string{}, std::string{"anna"}, std::string{"a;b%c=d"},
                                         std::string(500, 'x'), std::string(128, ';')})
                    for (const std::string_view route : {"/login", "/a/*"}) {
                        const message m{{{"X-Api-Key", user}}};
                        auto r = http::request{.method = "HEAD",
                                               .target = "/login?account=%3B",
                                               .peer = {},
                                               .user = user};
                        r.fields = {m, [](const message& of, std::string_view, auto visit) {
                                        for (const auto& f : of.fields)
                                            visit(f.second);
                                    }};
                        const auto made = guard_key(d, client, r, route);
                        BOOST_TEST(service_key(made, d, "t") == made, key);
                    }
        }
}

BOOST_AUTO_TEST_CASE(an_address_becomes_that_of_the_documents_keys) {
    const auto usual = document_of("ip");
    const auto wide = document_of("ip", R"(, "ipv6_prefix": 48)");
    for (const std::string_view text :
         {"2001:db8::bad", "2001:DB8:0:0:0::0bad", "2001:db8::/64", "2001:db8::1/64"})
        BOOST_TEST(service_key("ip=" + std::string{text}, usual, "t") == "ip=2001:db8::/64", text);
    for (const std::string_view text : {"192.0.2.7", "::ffff:192.0.2.7", "192.0.2.7/32"})
        BOOST_TEST(service_key("ip=" + std::string{text}, usual, "t") == "ip=192.0.2.7", text);
    BOOST_TEST(service_key("ip=2001:db8::bad", wide, "t") == "ip=2001:db8::/48");
    BOOST_TEST(service_key("ip=192.0.2.7", document_of("ip+tag:x"), "t") == "tag=x;ip=192.0.2.7");
    BOOST_TEST(service_key("header:X-Api-Key=A", document_of("header:x-API-key"), "t") ==
               "header:x-api-key=A");
}

BOOST_AUTO_TEST_CASE(a_key_that_no_request_has_is_refused_with_the_form) {
    const auto refused = [](std::string_view given, std::string_view key) {
        const auto d = document_of(key);
        return problem([&] { return service_key(given, d, "t"); });
    };
    const std::string other = "KEY: policy 't' has keys of another form (got ";
    for (const std::string_view given :
         {"2001:db8::bad", "192.0.2.7", "user=42", "ip", "none", "ip=192.0.2.7;route=/login",
          "IP=192.0.2.7", " ip=192.0.2.7", "all#0123456789abcdef0123456789abcdef",
          "tag=x;ip=192.0.2.7", "", "ip#0123456789abcdef0123456789abcdef", "global"})
        BOOST_TEST(refused(given, "ip") == other + std::string{given} + ", expected ip=ADDRESS)");
    BOOST_TEST(refused("ip=192.0.2.7", "user|ip+route") ==
               other + "ip=192.0.2.7, expected user=VALUE|ip=ADDRESS;route=PATH)");
    const auto one_path = colimit::parse_policy_document(
        R"({"policies": {"t": {"rules": "2/h", "key": "route+ip"}},
            "routes": [{"path": "/a;b", "policy": "t"}]})");
    BOOST_TEST(problem([&] { return service_key("ip=192.0.2.7", one_path, "t"); }) ==
               other + "ip=192.0.2.7, expected route=/a%3Bb;ip=ADDRESS)");
    BOOST_TEST(refused("global=1", "global") == other + "global=1, expected global)");
    BOOST_TEST(refused("tag=y;ip=192.0.2.7", "ip+tag:x").starts_with(other));
    BOOST_TEST(refused("ip=192.0.2.7;route=/o", "ip+route") ==
               "KEY: no route of policy 't' has this path (got route=/o)");
    for (const std::string_view method : {"HEAD", "get", "X"})
        BOOST_TEST(refused("method=" + std::string{method}, "method")
                       .starts_with("KEY: no key has this method"),
                   method);
    const auto routes = colimit::parse_policy_document(
        R"({"policies": {"t": {"rules": "2/h", "key": "ip+method+route"}}, "routes": [
            {"path": "/login", "methods": ["POST", "PROPFIND"], "policy": "t"},
            {"path": "/a", "methods": ["GET"], "policy": "t"}]})");
    for (const std::string_view end : {"method=PUT;route=/login", "method=GET;route=/login",
                                       "method=POST;route=/a", "method=other;route=/a"})
        BOOST_TEST(problem([&] {
                       return service_key("ip=192.0.2.7;" + std::string{end}, routes, "t");
                   }).starts_with("KEY: no route of policy 't' has this "),
                   end);
    for (const std::string_view end :
         {"method=POST;route=/login", "method=other;route=/login", "method=GET;route=/a"})
        BOOST_TEST(service_key("ip=192.0.2.7;" + std::string{end}, routes, "t") ==
                   "ip=192.0.2.7;" + std::string{end});
    for (const std::string_view user : {"50%", "a%3bb", "a%20b"})
        BOOST_TEST(
            refused("user=" + std::string{user}, "user").starts_with("KEY: no key has this text"),
            user);
    for (const std::string_view value : {" a", "a ", "\ta", " "})
        BOOST_TEST(refused("header:x=" + std::string{value}, "header:X")
                       .starts_with("KEY: no key has this text"),
                   value);
    BOOST_TEST(refused("user=", "user") ==
               "KEY: no key has a field without a value (got user=, expected user=VALUE)");
    BOOST_TEST(refused("ip=2001:db8::1/48", "ip") ==
               "KEY: not a prefix length of these keys (got ip=2001:db8::1/48, expected /64, as in "
               "the document)");
}

BOOST_AUTO_TEST_CASE(without_a_route_an_application_has_keys_of_its_own) {
    const auto d =
        colimit::parse_policy_document(R"({"policies": {"t": "2/h"}, "ipv6_prefix": 56})");
    for (const std::string_view key :
         {"ann", "a;b", ";a", "a;;b", "a=50%;", "user", "zip=1", "all#x", "user:42", "192.0.2.7",
          "a:b", "name=Ip=3", "ip:eth0", "query:A=1"}) {
        BOOST_TEST(service_key(key, d, "t") == key);
        BOOST_TEST(service_key(key) == key);
    }
    BOOST_TEST(service_key("user=1;ip=2001:db8:0:ff::1", d, "t") == "user=1;ip=2001:db8::/56");
    for (const std::string_view key : {"ip=2001:db8::/64", "ip=192.0.2.0/24"})
        BOOST_TEST(service_key(key, d, "t") == key);
}

BOOST_AUTO_TEST_CASE(a_text_with_fields_of_the_library_is_one_that_it_writes) {
    const auto d = colimit::parse_policy_document(R"({"policies": {"t": "2/h"}})");
    const auto refuses = [&](const std::string& key, const std::string& reason) {
        BOOST_TEST(problem_without_document(key).starts_with("KEY: " + reason), key);
        BOOST_TEST(problem([&] { return service_key(key, d, "t"); }).starts_with("KEY: " + reason),
                   key);
    };
    for (const auto* const key : {"user=50%", "user=1%3b", "user=1%zz", "user=1%", "part=a%2",
                                  "query:A=a%20b", "user=1;part=a%3b"})
        refuses(key, "no key has this text");
    for (const auto* const key : {"user=1;route", "ip", "ip;user=1", "header:x=", "query:A="})
        refuses(key, "no key has a field without a value");
    for (const auto* const key : {"user=1;", ";user=1", "user=1;;route=/x", "ip=192.0.2.7;"})
        refuses(key, "no key has an empty field");
    for (const auto* const key : {"user=a;b", "user=1;c=d", "user=1;ip#42", "user=1;global=1"})
        refuses(key, "no key with fields of the library has this one");
    for (const auto* const key : {"tag=t", "user=1;tag=t", "tag=t;user=1;tag=u"})
        refuses(key, "no key has its tag here");
    for (const auto* const key : {"part=a", "part=a;user=1", "tag=t;part=a"})
        refuses(key, "no key begins with a part");
    for (const auto* const key : {"method=get", "method=HEAD", "ip=192.0.2.7;method=PROPFIND"})
        refuses(key, "no key has this method");
    for (const auto* const key : {"user#abc", "user#42;route=/x", "all#x;user=1"})
        refuses(key, "no key has this digest");
    for (const auto* const key :
         {"user=1;user=2", "user=1;ip=192.0.2.7;user=2", "tag=t;user=1;user=2",
          "method=GET;method=POST", "header:x=1;header:x=2", "query:A=1;query:A=2",
          "user=1;user#0123456789abcdef0123456789abcdef"})
        refuses(key, "no key has two values of this field");
    for (const auto* const key : {"header:=5", "query:=5", "user=1;header:=5", "query:#5"})
        refuses(key, "no key has a field without a name");
    refuses("verified:header:x-k=1", "another spelling of a field");
    for (const auto* const key :
         {"user=1%3B%25", "tag=t;user=1", "user=", "user=1;part=", "tag=;user=1",
          "user=1;part=a;part=b", "global;part=a", "none;route=/x", "method=other",
          "tag=t;global;part=a", "user#0123456789abcdef0123456789abcdef;route=/x",
          "all#0123456789abcdef0123456789abcdef;part=a", "header:x-k=1;method=GET",
          "header:a=1;header:b=2", "query:a=1;query:A=2", "user=1;user=1", "none;none",
          "route=/a;route=/b"})
        BOOST_TEST(service_key(key) == key);
    const auto two = colimit::key::address("192.0.2.1").address("192.0.2.2");
    BOOST_TEST(service_key(two) == std::string{two});
}

BOOST_AUTO_TEST_CASE(a_part_that_a_template_has_twice_has_one_value) {
    const auto d = document_of("user+user|ip");
    BOOST_TEST(service_key("user=1;user=1", d, "t") == "user=1;user=1");
    BOOST_TEST(service_key("none;ip=192.0.2.7", d, "t") == "none;ip=192.0.2.7");
    BOOST_TEST(problem([&] { return service_key("user=1;user=2", d, "t"); }) ==
               "KEY: no key has two values of this field (got user=2, expected one user)");
}

BOOST_AUTO_TEST_CASE(a_digest_is_one_that_a_key_can_have) {
    const std::string digest = "0123456789abcdef0123456789abcdef";
    const auto refused = [](const std::string& given, std::string_view key) {
        const auto d = document_of(key);
        return problem([&] { return service_key(given, d, "t"); });
    };
    for (const std::string& bad :
         {std::string{"42"}, std::string{}, digest + "0", digest.substr(1), std::string(32, 'A')}) {
        BOOST_TEST(refused("user#" + bad, "user") ==
                   "KEY: no key has this digest (got user#" + bad +
                       ", expected 32 hexadecimal digits in lower case)");
        for (const auto* const given : {"user#", "all#"})
            BOOST_TEST(refused(given + bad + ";route=/login", "user+route")
                           .starts_with("KEY: no key has this digest"),
                       bad);
    }
    BOOST_TEST(refused("user#" + digest, "user").starts_with("no problem"));
    BOOST_TEST(refused("all#" + digest + ";route=/login", "user+route").starts_with("no problem"));
    BOOST_TEST(
        refused("all#" + digest + ";route=/login", "user+method+route").starts_with("no pr"));
    for (const auto* const rest : {"", ";route", ";user=1", ";route=/login;route=/login"})
        BOOST_TEST(refused("all#" + digest + rest, "user+route").starts_with("KEY: policy 't' has"),
                   rest);
    BOOST_TEST(refused("all#" + digest + ";route=/log", "user+route").starts_with("KEY: no route"));
    for (const std::string name : {"route", "method", "global"})
        BOOST_TEST(refused(name + '#' + digest, name).starts_with("KEY: "), name);
}

BOOST_AUTO_TEST_CASE(a_long_value_becomes_its_digest_without_a_document_too) {
    using colimit::key::user;
    const std::string longer(129, 'x');
    for (const auto& id : {longer, std::string(50, 'x'), std::string(128, 'x'),
                           std::string(43, ';'), std::string(600, '%')}) {
        std::string escaped;
        for (const auto c : id)
            escaped += c == ';' ? "%3B" : c == '%' ? "%25" : std::string{c};
        BOOST_TEST(service_key("user=" + escaped) == std::string{user(id)});
        BOOST_TEST(service_key("user=" + escaped + ";ip=192.0.2.7") ==
                   std::string{user(id).address("192.0.2.7")});
        BOOST_TEST(service_key("tag=t;user=" + escaped) == std::string{user(id).tagged("t")});
    }
    BOOST_TEST(service_key("ip=192.0.2.7;route=/" + longer) ==
               std::string{colimit::key::address("192.0.2.7").route("/" + longer)});
    const std::string part(100, 'p');
    BOOST_TEST(service_key("user=1;part=" + part + ";part=" + part + ";part=" + part) ==
               std::string{user("1").part(part).part(part).part(part)});
    BOOST_TEST(service_key("tag=t;user=1;part=" + part + ";part=" + part + ";part=" + part) ==
               std::string{user("1").part(part).part(part).part(part).tagged("t")});
    BOOST_TEST(
        problem_without_document("user=%" + longer).starts_with("KEY: no key has this text"));
    for (const auto& own : {longer, "mine=" + longer})
        BOOST_TEST(service_key(own) == own);
}

BOOST_AUTO_TEST_CASE(another_spelling_of_a_field_is_refused_with_the_right_one) {
    const auto expected = [](std::string_view key) {
        const auto text = problem_without_document(key);
        const auto at = text.find("expected ");
        return at == std::string::npos ? text : text.substr(at + 9);
    };
    for (const std::string_view key : {"IP=192.0.2.7", " ip=192.0.2.7", "ip =192.0.2.7",
                                       "ip=192.0.2.7 ", "ip:192.0.2.7", "IP:192.0.2.7"})
        BOOST_TEST(expected(key) == "ip=192.0.2.7)", key);
    for (const std::string_view key :
         {"IP=2001:db8::1", " ip=2001:db8::1", "ip:2001:db8::1", "2001:db8::1", "[2001:db8::1]",
          "2001:DB8::1/64", "client=2001:db8::1", "user=1;2001:db8::1", "[2001:db8::1]:443"})
        BOOST_TEST(expected(key).starts_with("ip=2001:db8::/64"), key);
    BOOST_TEST(expected("User=42") == "user=42)");
    BOOST_TEST(expected(" user=42") == "user=42)");
    BOOST_TEST(expected("user=1; Route=/a") == "route=/a)");
    BOOST_TEST(expected("header:X-Api-Key=A") == "header:x-api-key=A)");
    BOOST_TEST(expected("verified:header:X-Api-Key=A") == "header:x-api-key=A)");
    BOOST_TEST(expected("IP=\x1b[31mX\a") == "ip=\\x1b[31mX\\x07)");
    BOOST_TEST(expected("GLOBAL") == "global)");
    BOOST_TEST(problem_without_document("") == "KEY: empty (expected a key such as user=42)");
}

BOOST_AUTO_TEST_CASE(without_a_document_an_address_must_be_one_of_a_key) {
    for (const std::string_view key :
         {"ip=192.0.2.7", "ip=192.0.2.0/24", "ip=2001:db8::/64", "ip=2001:db8::/56;route=/x",
          "tag=t;ip=192.0.2.7", "user=1;ip=192.0.2.7"})
        BOOST_TEST(service_key(key) == key);
    BOOST_TEST(service_key("ip=2001:DB8::7/64") == "ip=2001:db8::/64");
    BOOST_TEST(service_key("ip=2001:db8::7/128") == "ip=2001:db8::7");
    BOOST_TEST(service_key("ip=::ffff:192.0.2.7;route=/x") == "ip=192.0.2.7;route=/x");
    for (const std::string_view text : {"fe80::1", "fe80::1%eth0", "fe80::1/64"})
        BOOST_TEST(service_key("ip=" + std::string{text}) == "ip=fe80::1", text);
    BOOST_TEST(service_key("ip=64:ff9b::192.0.2.7") == "ip=192.0.2.7");
    BOOST_TEST(problem_without_document("ip=2001:db8::bad") ==
               "KEY: services count IPv6 clients by network, so this is not the key of one (got "
               "ip=2001:db8::bad, expected ip=2001:db8::/64, or another length if "
               "the service has one; --policies FILE reads it there)");
    for (const std::string_view text :
         {"", "192.0.2", "192.0.2.7:443", "[2001:db8::1]", "host.example", "192.0.2.07",
          " 192.0.2.7", "192.0.2.7,192.0.2.8", "::ffff:192.0.2.7/96", "\x1b[31m"})
        BOOST_TEST(problem_without_document("ip=" + std::string{text})
                       .starts_with("KEY: not the address of a client"),
                   text);
    for (const std::string_view length : {"", "129", "064", "-1", "x", "64/1"})
        BOOST_TEST(problem_without_document("ip=2001:db8::/" + std::string{length})
                       .starts_with("KEY: not a prefix length of these keys"),
                   length);
    BOOST_TEST(problem_without_document("ip=192.0.2.7/33").ends_with("expected /0 to /32)"));
}

BOOST_AUTO_TEST_SUITE_END()
