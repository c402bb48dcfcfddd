// SPDX-License-Identifier: BSL-1.0
//
// Logs of JSON lines, the forms of their times, and requests that the routes of a document limit.
#include <support/unit_test.hpp>
#include <tool/replay/json_log.hpp>
#include <tool/replay/limits.hpp>
#include <tool/replay/times.hpp>

#include <colimit/policy_document.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(replay_json)

namespace {

namespace replay = tool::replay;
using namespace std::chrono;

constexpr colimit::time_point moment =
    sys_days{year{2015} / 5 / 17} + hours{10} + minutes{5} + seconds{3};

std::string key_in(std::string_view path, std::string_view line) {
    replay::json_reader reader{{.key = std::string{path}, .time = "ts"}};
    const auto read = reader.read(line);
    return read.line ? std::string{read.line->client} : "! " + std::string{read.problem};
}

bool is_time(std::string_view text, colimit::time_point expected) {
    const auto read = replay::read_any_time(text);
    return read.problem.empty() && read.time == expected;
}

std::string_view problem_of(std::string_view text) {
    return replay::read_any_time(text).problem;
}

/// The checks of a request, as `policy key; policy key`.
std::string checks(const replay::limits& tried, std::string_view method, std::string_view target,
                   std::string_view client = "192.0.2.7", std::string_view user = {}) {
    const auto read = tried.call_of({client, moment, user, method, target});
    std::string text{read.problem};
    for (const auto& c : read.checks)
        text += (text.empty() ? "" : "; ") + std::string{tried.policies()[c.policy].name()} + ' ' +
                c.key;
    return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(times_are_read_in_each_form) {
    for (const std::string_view text :
         {"2015-05-17T10:05:03Z", "2015-05-17 10:05:03", "2015-05-17t10:05:03z",
          "2015-05-17T12:05:03+02:00", "2015-05-17T12:05:03+0200", "2015-05-17T08:05:03-02",
          "17/May/2015:12:05:03 +0200", "1431857103", "1431857103.0", "1431857103000",
          "1431857103000000", "1431857103000000000", "1.431857103e9", "1.431857103E+09",
          "1431857103000e0", "14318571030e-1", "1.431857103e18"})
        BOOST_TEST(is_time(text, moment), text);
    for (const std::string_view text :
         {"2015-05-17T10:05:03.25Z", "2015-05-17T10:05:03,250", "2015-05-17T10:05:03.250000123Z",
          "1431857103.25", "1431857103250", "1431857103250000", "1.43185710325e9"})
        BOOST_TEST(is_time(text, moment + milliseconds{250}), text);
}

BOOST_AUTO_TEST_CASE(the_size_of_a_number_is_its_unit) {
    const colimit::time_point least{milliseconds{100'000'000'000}}; // in 1973
    BOOST_TEST(is_time("100000000000", least));
    BOOST_TEST(problem_of("99999999999999") == "the year is not between 1970 and 2111");
    BOOST_TEST(is_time("4000000000000", colimit::time_point{seconds{4'000'000'000}}));
    BOOST_TEST(is_time("100000000000000", least));
    BOOST_TEST(is_time("100000000000000000", least));
}

BOOST_AUTO_TEST_CASE(other_texts_are_not_times) {
    for (const std::string_view text :
         {"", "now", "2015-05-17", "2015-05-17T10:05", "-1", "1e19", "1e", "1e9.5", "-1e9",
          "2015-05-17T10:05:03.Z", "2015-05-17T10:05:03.1234567890Z", "1.2.3",
          "99999999999999999999", "10:05:03"})
        BOOST_TEST(problem_of(text) == "the time is not of a known form", text);
    BOOST_TEST(problem_of("2015-02-29T10:05:03Z") == "there is no such day");
    BOOST_TEST(problem_of("2015-05-17T24:05:03Z") == "there is no such time of day");
    BOOST_TEST(problem_of("2015-05-17T10:05:03+15:00") == "there is no such time zone");
    BOOST_TEST(problem_of("2112-05-17T10:05:03Z") == "the year is not between 1970 and 2111");
    BOOST_TEST(problem_of("99999999999") == "the year is not between 1970 and 2111");
}

BOOST_AUTO_TEST_CASE(a_field_is_found_by_its_path) {
    BOOST_TEST(key_in("user.id", R"({"ts": 1431857103, "user": {"id": "anna"}})") == "anna");
    BOOST_TEST(key_in("user.id", R"({"user": {"id": 42}, "ts": "1431857103"})") == "42");
    BOOST_TEST(key_in("user.id", R"({"ts": 1, "user.id": "flat", "user": {"x": 1}})") == "flat");
    BOOST_TEST(key_in("a.b.c", R"({"ts": 1, "a": {"b.c": "\u00e9\n"}})") == "\u00e9\n");
}

BOOST_AUTO_TEST_CASE(a_field_that_a_line_has_more_than_once_is_not_guessed) {
    for (const std::string_view line : {R"({"ts": 1, "user.id": "a", "user": {"id": "b"}})",
                                        R"({"ts": 1, "user": {"id": "b"}, "user.id": null})",
                                        R"({"ts": 1, "user": {"id": "a", "id": "a"}})",
                                        R"({"ts": 1, "user": {"id": "a"}, "user": {"id": "b"}})"})
        BOOST_TEST(key_in("user.id", line) == "! has more than one 'user.id'", line);
    BOOST_TEST(key_in("key", R"({"ts": 1, "key": "a", "key": "b"})") ==
               "! has more than one 'key'");
    BOOST_TEST(key_in("key", R"({"ts": 1, "key": "a", "ts": 2})") == "! has more than one 'ts'");
    BOOST_TEST(key_in("key", R"({"ts": 1, "key": "a", "x": 2, "x": 2, "y": {"key": 1}})") == "a");
}

BOOST_AUTO_TEST_CASE(lines_without_the_fields_are_reported_with_the_reason) {
    const std::string missing = "! has no text or number 'user.id'";
    for (const std::string_view line :
         {R"({"ts": 1})", R"({"ts": 1, "user": {}})", R"({"ts": 1, "user": {"id": null}})",
          R"({"ts": 1, "user": {"id": {"x": 1}}})", R"({"ts": 1, "user": ["id"]})", "[]", "7",
          R"({"ts": 1, "user": {"id": true}})"})
        BOOST_TEST(key_in("user.id", line) == missing, line);
    BOOST_TEST(key_in("id", R"({"id": 1})") == "! has no text or number 'ts'");
    for (const std::string_view none : {"", "  ", "-", " - "})
        BOOST_TEST(key_in("id", R"({"ts": 1, "id": ")" + std::string{none} + R"("})") ==
                   "! the key is empty");
    BOOST_TEST(key_in("id", R"({"id": "--", "ts": 1})") == "--");
    BOOST_TEST(key_in("id", R"({"id": ")" + std::string(256, 'x') + R"(", "ts": 1})") ==
               "! the key is longer than 255 bytes");
    BOOST_TEST(key_in("id", "").starts_with("! is not valid: JSON, line 1, column 1"));
    BOOST_TEST(key_in("id", R"({"id": 1,)").starts_with("! is not valid: JSON"));
}

BOOST_AUTO_TEST_CASE(a_key_is_the_address_of_one_client_or_none) {
    const auto read = [](std::string_view key) {
        return key_in("id", R"({"ts": 1, "id": ")" + std::string{key} + R"("})");
    };
    for (const std::string_view key :
         {"203.0.113.9, 10.0.0.7", "203.0.113.9,10.0.0.7", "203.0.113.9 10.0.0.7",
          "203.0.113.9;10.0.0.7", "203.0.113.9|10.0.0.7", "203.0.113.9\\t10.0.0.7",
          "unknown, 203.0.113.9", "203.0.113.9, unknown", "[2001:db8::1]:44 10.0.0.7",
          "[2001:db8::1],10.0.0.1"})
        BOOST_TEST(read(key) == "! the key is a list of addresses, not the address of one client",
                   key);
    for (const std::string_view key :
         {"for=203.0.113.9;p=1", "For=203.0.113.9", "proto=http;for=203.0.113.9", "by=a; for=_x"})
        BOOST_TEST(read(key) == "! the key is a field Forwarded, not the address of one client",
                   key);
    for (const std::string_view key :
         {"/203.0.113.9:1", "/203.0.113.9", "/2001:db8::1", "tcp:203.0.113.9:1",
          "ipv4:203.0.113.9:1", "ipv6:[2001:db8::1]:1", "host/203.0.113.9:1", "a=203.0.113.9:1"})
        BOOST_TEST(read(key) == "! the key has text in front of an address, so it is not the "
                                "address of one client",
                   key);
    for (const std::string_view key :
         {"203.0.113.9", "203.0.113.9:1", "[2001:db8::1]", "[2001:db8::1]:44", "2001:db8::1:2",
          "anna 203.0.113.9", "203.0.113.9;route=/a", "ip=203.0.113.9;route=/login", "Ann, Bob",
          "tenant:42", "tenant:203.0.113.9", "http://203.0.113.9:80", "form=a;b", "a b",
          "12:30:00"})
        BOOST_TEST(read(key) == key);
    BOOST_TEST(read(" 203.0.113.9  ") == "203.0.113.9");
    BOOST_TEST(read("anna\\t") == "anna");
    BOOST_TEST(read("  ") == "! the key is empty");
}

BOOST_AUTO_TEST_CASE(a_line_counts_whatever_bytes_a_client_has_sent) {
    const auto with_agent = [](std::string_view agent) {
        return R"({"ts": 1, "id": "anna", "agent": ")" + std::string{agent} + R"("})";
    };
    for (const std::string_view agent :
         {R"(\x22)", R"(\x5Cx\xff)", R"(a\x0Ab)", "\xff\xfe", "\xc3", "\xe2\x82", "\xed\xa0\x80",
          R"(\\\x22)", "\xc3\xab\xff", R"(\x00)", "\xc0\x80\\n"})
        BOOST_TEST(key_in("id", with_agent(agent)) == "anna", agent);
    const auto as_key = [](std::string_view key) {
        return key_in("id", R"({"ts": 1, "id": ")" + std::string{key} + R"("})");
    };
    BOOST_TEST(as_key(R"(a\x22b)") == "a\"b");
    BOOST_TEST(as_key(R"(a\x5cb)") == "a\\b");
    BOOST_TEST(as_key("a\xff"
                      "b") == "a\\xffb");
    BOOST_TEST(as_key("\xc3\xab\xfe") == "\xc3\xab\\xfe");
    BOOST_TEST(as_key(R"(\\x22)") == R"(\x22)"); // valid as it is
    BOOST_TEST(as_key(R"(\\x22\xff)") == "\\x22\xc3\xbf");
    for (const std::string_view key : {R"(\x)", R"(\x2)", R"(\xzz)", R"(\q)", R"(\)"})
        BOOST_TEST(as_key(key).starts_with("! is not valid: JSON, line 1, column"), key);
    for (const std::string_view line : {"\xff", "{\xff}", "{\"ts\": 1, \"id\": \xff}", "\\x22"})
        BOOST_TEST(key_in("id", line).starts_with("! is not valid: JSON, line 1, column"), line);
}

BOOST_AUTO_TEST_CASE(routes_decide_which_policies_limit_a_request) {
    const replay::limits tried{colimit::parse_policy_document(R"({
        "policies": {"api": "10/s; 100/h named hour", "login": {"rules": "5/m", "key": "user|ip"}},
        "routes": [{"path": "/health", "policies": []},
                   {"path": "/login", "methods": ["POST"], "policies": ["login", "api"]},
                   {"path": "/api/*", "policy": "api"}]})")};
    BOOST_TEST(tried.has_keys());
    BOOST_TEST(tried.rules().size() == 3U);
    BOOST_TEST(tried.rules().at(1) == "api: 100/h named hour");
    BOOST_TEST(tried.denying_rule(1, colimit::decision{}) == 2U);
    BOOST_TEST(checks(tried, "GET", "/health") == "");
    BOOST_TEST(checks(tried, "GET", "/elsewhere") == "");
    BOOST_TEST(checks(tried, "", "") == "");
    BOOST_TEST(checks(tried, "GET", "/api/x?y=1") == "api ip=192.0.2.7");
    BOOST_TEST(checks(tried, "GET", "/API/../api//x") == "api ip=192.0.2.7");
    BOOST_TEST(checks(tried, "POST", "/login") == "login ip=192.0.2.7; api ip=192.0.2.7");
    BOOST_TEST(checks(tried, "POST", "/login", "2001:db8::1", "anna") ==
               "login user=anna; api ip=2001:db8::/64");
    BOOST_TEST(checks(tried, "GET", "/api/x", "host.example") ==
               "the client is not an address, which the routes need");
}

BOOST_AUTO_TEST_CASE(one_policy_of_a_document_has_its_own_keys) {
    const auto document = colimit::parse_policy_document(R"({
        "policies": {"net": {"rules": "5/m", "key": "ip"}, "all": {"rules": "5/m", "key": "global"},
                     "one": {"rules": "5/m", "key": "global+tag:x"},
                     "login": {"rules": "5/m", "key": "user|ip+route"}},
        "routes": [{"path": "/login", "policy": "login"}, {"path": "/*", "policy": "net"}],
        "ipv6_prefix": 48})");
    const auto of = [&](std::string_view name, bool has_requests = true) {
        return replay::limits{document, name, has_requests};
    };
    BOOST_TEST(of("net").rules().at(0) == "5/m");
    BOOST_TEST(checks(of("net"), "GET", "/login", "2001:db8:0:ff::1") == "net ip=2001:db8::/48");
    BOOST_TEST(checks(of("net"), "", "", "::ffff:192.0.2.7") == "net ip=192.0.2.7");
    BOOST_TEST(checks(of("login"), "GET", "/login", "192.0.2.7", "anna") ==
               "login user=anna;route=/login");
    BOOST_TEST(checks(of("login"), "GET", "/x", "192.0.2.7") == "login ip=192.0.2.7;route=/*");
    BOOST_TEST(checks(of("net"), "GET", "/", "host.example") ==
               "the client is not an address, which the keys need");
    for (const std::string_view name : {"all", "one"})
        for (const std::string_view client : {"192.0.2.7", "2001:db8::1", "host.example"})
            for (const auto has_requests : {true, false})
                BOOST_TEST(checks(of(name, has_requests), "GET", "/", client) ==
                           std::string{name} + " global");
    BOOST_TEST(checks(of("net", false), "", "", "2001:db8:0:ff::1") == "net 2001:db8::/48");
    BOOST_TEST(checks(of("login", false), "", "", "anna") == "login anna");
}

BOOST_AUTO_TEST_CASE(a_rule_in_shadow_mode_is_replayed_as_if_it_denied) {
    const replay::limits tried{colimit::parse_policy_document(R"({
        "policies": {"a": {"rules": "5/h shadow; 9/d named day"},
                     "b": {"rules": "7/h burst 9", "shadow": true, "prevent_duplicate": "2s",
                           "prefix": "app", "storage": "shared_hash"},
                     "c": {"rules": "100/h", "shadow": true, "leases": "1s"}},
        "routes": [{"path": "/a", "policy": "a"}, {"path": "/b", "policy": "b"},
                   {"path": "/*", "policy": "c"}]})")};
    BOOST_TEST(tried.rules() ==
                   (std::vector<std::string>{"a: 5/h (shadow: here it denies)", "a: 9/d named day",
                                             "b: 7/h burst 9 (shadow: here it denies)",
                                             "b: prevent_duplicate 2s (shadow: here it denies)",
                                             "c: 100/h (shadow: here it denies)"}),
               boost::test_tools::per_element());
    using colimit::gcra;
    const std::vector<colimit::policy> same{
        colimit::policy{"a", gcra(5, hours{1}), gcra(9, hours{24}).named("day")},
        colimit::policy{"b", gcra(7, hours{1}).burst(9)}.prevent_duplicate(seconds{2}),
        colimit::policy{"c", gcra(100, hours{1})}.with_leases(seconds{1})};
    for (std::size_t i = 0; i < same.size(); ++i)
        BOOST_TEST(
            (tried.policies().at(i) == same[i].with_failure_mode(colimit::failure_mode::error)));
}

BOOST_AUTO_TEST_CASE(a_client_that_is_a_trusted_proxy_is_not_one) {
    const auto document = colimit::parse_policy_document(R"({
        "trusted_proxies": ["10.0.0.0/8", "2001:db8::/32"],
        "policies": {"net": "5/m", "user": {"rules": "5/m", "key": "user|ip"},
                     "all": {"rules": "5/m", "key": "global"}},
        "routes": [{"path": "/free", "policies": []}, {"path": "/user", "policy": "user"},
                   {"path": "/all", "policy": "all"}, {"path": "/*", "policy": "net"}]})");
    const std::string proxy = "the client is a trusted proxy of the document, so its line does not "
                              "say whose request it was: let the server log the client's own "
                              "address";
    const replay::limits routes{document};
    for (const std::string_view client : {"10.0.0.5", "::ffff:10.0.0.5", "2001:db8::1"}) {
        BOOST_TEST(checks(routes, "GET", "/", client) == proxy);
        BOOST_TEST(checks(routes, "GET", "/user", client) == proxy);
        BOOST_TEST(checks(routes, "GET", "/user", client, "anna") == "user user=anna");
        BOOST_TEST(checks(routes, "GET", "/all", client) == "all global");
        BOOST_TEST(checks(routes, "GET", "/free", client) == "");
        BOOST_TEST(checks(replay::limits{document, "net", true}, "GET", "/", client) == proxy);
        BOOST_TEST(checks(replay::limits{document, "net", false}, "", "", client) == proxy);
        BOOST_TEST(checks(replay::limits{document, "all", false}, "", "", client) == "all global");
    }
    BOOST_TEST(checks(routes, "GET", "/", "192.0.2.7") == "net ip=192.0.2.7");
    const replay::limits counted{colimit::parse_policy_document(R"({"trusted_proxies": 1,
        "policies": {"net": "5/m"}, "routes": [{"path": "/*", "policy": "net"}]})")};
    BOOST_TEST(checks(counted, "GET", "/", "10.0.0.5") == "net ip=10.0.0.5");
}

BOOST_AUTO_TEST_CASE(the_spellings_of_an_address_are_one_client) {
    const replay::limits tried{colimit::policy{colimit::gcra(1, seconds{1})}};
    BOOST_TEST(!tried.has_keys());
    for (const std::string_view text :
         {"192.0.2.7", "::ffff:192.0.2.7", "::FFFF:c000:207", "192.0.2.7:1", "192.0.2.7:65535",
          "[::ffff:192.0.2.7]:443", "[::ffff:192.0.2.7]", "[192.0.2.7]"})
        BOOST_TEST(tried.client_of(text) == "192.0.2.7", text);
    for (const std::string_view text :
         {"2001:db8:0:1::7", "2001:DB8::1:0:0:0:8", "2001:db8:0:1:ffff:ffff:ffff:ffff",
          "[2001:db8:0:1::7]:443", "[2001:db8:0:1::7]"})
        BOOST_TEST(tried.client_of(text) == "2001:db8:0:1::/64", text);
    for (const std::string_view text :
         {"anna", "host.example", "host.example:443", "tenant:42", "192.0.2.7:", "192.0.2.7:x",
          "[2001:db8::7]:", "[2001:db8::7", "[]:1", "[]", "[", "[x]", "[:1", "]:1", ":1", ":", "",
          "a:b:c", "192.0.2:80"})
        BOOST_TEST(tried.client_of(text) == text);
}

BOOST_AUTO_TEST_SUITE_END()
