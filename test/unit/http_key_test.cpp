// SPDX-License-Identifier: BSL-1.0
//
// Keys of requests: what a template accepts, and that keys are equal only for equal values.

#include <colimit/error.hpp>
#include <colimit/http_key.hpp>
#include <support/http_message.hpp>
#include <support/refusal.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(http_keys)

namespace {

using namespace colimit;
using namespace std::literals;
using test::http_message;

[[nodiscard]] std::string key_of(std::string_view text, const http_message& m,
                                 std::optional<std::string_view> user = std::nullopt,
                                 std::string_view route = "/a/*") {
    const auto client = boost::asio::ip::make_address(m.peer);
    return std::string{http::key_template{text}
                           .key_of(m.view(), {.client = client, .route = route, .user = user})
                           .view()};
}

[[nodiscard]] std::string with_key(std::vector<std::string> values) {
    auto m = http_message{};
    for (auto& v : values)
        m.fields.emplace_back("x-API-key", v);
    return key_of("header:X-Api-Key", m);
}

[[nodiscard]] std::string with_query(std::string_view query) {
    return key_of("query:account", {.target = "/a?" + std::string{query}});
}

[[nodiscard]] std::string refusal(std::string_view text) {
    return test::refusal(errc::invalid_policy, [text] { http::key_template{text}; });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_verified_part_is_one_that_the_server_knows) {
    const auto m = http_message{.target = "/a?q=v", .fields = {{"X", "k"}}};
    BOOST_TEST(key_of("verified:header:X|ip", m) == "ip=10.0.0.1"); // there is no verifier
    for (const auto* text :
         {"verified:header:x", "ip+verified:query:q", "user|verified:header:x"}) {
        BOOST_TEST(to_string(http::key_template{text}) == text);
        BOOST_TEST(!http::key_template{text}.is_chosen_by_client());
    }
    const auto expected = std::string{"key template, character "};
    BOOST_TEST(refusal("verified") ==
               expected + "9: expected a colon and header:NAME or query:NAME, found the end");
    for (const auto* text : {"verified:ip", "verified:tag:a", "verified:verified:header:x"})
        BOOST_TEST(refusal(text).starts_with(expected + "10: "), refusal(text));
    const auto verifier = http::value_verifier{
        [](const http::request&, std::string_view part, std::string_view value) {
            return part == "query:q" && value == "v";
        }};
    const auto with = http::key_context{.client = boost::asio::ip::make_address("10.0.0.1"),
                                        .verifier = &verifier};
    BOOST_TEST(http::key_template{"verified:query:q"}.key_of(m.view(), with).view() == "query:q=v");
    BOOST_TEST(http::key_template{"verified:header:x"}.key_of(m.view(), with).view() == "none");
}

BOOST_AUTO_TEST_CASE(keys_that_a_client_can_choose_are_known) {
    for (const auto* text : {"header:x", "header:x|ip", "ip+query:q", "verified:header:x|query:q"})
        BOOST_TEST(http::key_template{text}.is_chosen_by_client(), text);
    for (const auto* text : {"ip", "user|ip+route", "global", "method+ip+tag:x"})
        BOOST_TEST(!http::key_template{text}.is_chosen_by_client(), text);
}

BOOST_AUTO_TEST_CASE(each_part_is_a_readable_field) {
    const auto m = http_message{.method = "PUT",
                                .target = "/a/b?account=7",
                                .peer = "2001:db8:0:7::1",
                                .fields = {{"X-Api-Key", "k"}}};
    BOOST_TEST(key_of("ip", m) == "ip=2001:db8:0:7::/64");
    BOOST_TEST(key_of("ip+route", m) == "ip=2001:db8:0:7::/64;route=/a/*");
    BOOST_TEST(key_of("global", m) == "global");
    BOOST_TEST(key_of("method", m) == "method=PUT");
    BOOST_TEST(key_of("header:X-Api-Key", m) == "header:x-api-key=k");
    BOOST_TEST(key_of("query:account+route", m) == "query:account=7;route=/a/*");
    BOOST_TEST(key_of("user", m, "42") == "user=42");
    BOOST_TEST(key_of("user+tag:t", m, "42") == "tag=t;user=42");
    BOOST_TEST(key_of("tag:t+user", m, "42") == "tag=t;user=42");
}

BOOST_AUTO_TEST_CASE(the_first_alternative_with_a_value_counts) {
    const auto m = http_message{};
    BOOST_TEST(key_of("user|ip+route", m, "42") == "user=42;route=/a/*");
    BOOST_TEST(key_of("user|ip+route", m) == "ip=10.0.0.1;route=/a/*");
    BOOST_TEST(key_of("user | header:a | query:b | global", m) == "global");
    // The same text from another alternative is another key.
    BOOST_TEST(key_of("user|ip", m, "10.0.0.1") != key_of("user|ip", m));
}

BOOST_AUTO_TEST_CASE(requests_without_a_value_share_a_key_that_no_value_gives) {
    BOOST_TEST(key_of("header:a+route", {}) == "none;route=/a/*");
    BOOST_TEST(key_of("user", {}) == "none");
    BOOST_TEST(key_of("user", {}, "") == "none");
    BOOST_TEST(key_of("user", {}, "none") == "user=none");
    BOOST_TEST(with_query("none") == "none");
    BOOST_TEST(key_of("query:a+query:b", {.target = "/?a=1"}) == "query:a=1;none");
    BOOST_TEST(key_of("query:a+query:b", {.target = "/?b=1"}) == "none;query:b=1");
}

BOOST_AUTO_TEST_CASE(a_field_counts_if_it_is_given_once_and_has_a_text) {
    BOOST_TEST(with_key({"abc"}) == "header:x-api-key=abc");
    BOOST_TEST(with_key({"\t abc "}) == with_key({"abc"}));
    BOOST_TEST(with_key({"a c"}) != with_key({"ac"}));
    BOOST_TEST(with_key({"ABC"}) != with_key({"abc"}));
    BOOST_TEST(with_key({"a;user=b%"}) == "header:x-api-key=a%3Buser=b%25");
    for (const auto& values : std::vector<std::vector<std::string>>{
             {}, {""}, {" \t"}, {"a", "b"}, {"a", "a"}, {"a", ""}, {"", "a"}})
        BOOST_TEST(with_key(values) == "none");
    const auto long_key = with_key({std::string(100'000, 'x')});
    BOOST_TEST(long_key.starts_with("header:x-api-key#"));
    BOOST_TEST(long_key.size() < 60U);
}

BOOST_AUTO_TEST_CASE(parameters_are_decoded_as_forms_are) {
    for (const auto* same : {"account=a+1", "account=%61%201", "%61ccount=a%201",
                             "x=y&account=a+1&&z", "account=a%201#x", "=&account=a%201&account2=x"})
        BOOST_TEST(with_query(same) == "query:account=a 1");
    BOOST_TEST(with_query("account=a%2b1") == "query:account=a+1");
    BOOST_TEST(with_query("account=a=b?c/d") == "query:account=a=b?c/d");
    BOOST_TEST(with_query("account=%zz%4") == "query:account=%25zz%254");
    BOOST_TEST(with_query("account=%00%26") == "query:account=\0&"sv);
    for (const auto* none :
         {"", "account", "account=", "Account=1", "account=1&account=2", "a=1#account=2",
          "account=1&%61ccount=1", "account=&account=1", "account+=1"})
        BOOST_TEST(with_query(none) == "none");
    BOOST_TEST(key_of("query:a", {.target = "http://h?a=1"}) == "query:a=1");
    BOOST_TEST(key_of("query:a", {.target = "/?a=1?a=2"}) == "query:a=1?a=2");
}

BOOST_AUTO_TEST_CASE(clients_cannot_invent_methods_for_new_keys) {
    const auto of = [](std::string_view method) {
        return key_of("method", {.method = std::string{method}});
    };
    BOOST_TEST(of("HEAD") == of("GET"));
    BOOST_TEST(of("POST") != of("GET"));
    BOOST_TEST(of("BREW") == of("LOCK"));
    BOOST_TEST(of("get") == of("GET"));
    BOOST_TEST(of("Head") == of("GET"));
    BOOST_TEST(of("other") == of("BREW"));
}

BOOST_AUTO_TEST_CASE(a_template_has_a_text_that_makes_an_equal_one) {
    for (const auto& [text, normal] : std::map<std::string_view, std::string_view>{
             {"ip", "ip"},
             {" user | ip + route ", "user|ip+route"},
             {"tag:a.b+header:X-A+query:X-A", "header:x-a+query:X-A+tag:a.b"}}) {
        const auto made = http::key_template{text};
        BOOST_TEST(to_string(made) == normal);
        BOOST_TEST((http::key_template{to_string(made)} == made));
    }
    BOOST_TEST(!(http::key_template{"user|ip"} == http::key_template{"user+ip"}));
    BOOST_TEST((http::key_template{} == http::key_template{"ip"}));
    BOOST_TEST(http::key_template{"ip|user"sv.substr(0, 2)}.uses_user() == false);
    BOOST_TEST(http::key_template{"route+header:a|user"}.uses_user());
}

BOOST_AUTO_TEST_CASE(what_is_no_template_is_refused_with_the_position) {
    const auto part = "expected a part: ip, route, method, user, global, header:NAME, query:NAME, "
                      "verified:header:NAME, verified:query:NAME, tag:NAME, found "s;
    BOOST_TEST(refusal("") == "key template, character 1: " + part + "the end");
    BOOST_TEST(refusal("ip+iq") == "key template, character 4: " + part + "'iq'");
    BOOST_TEST(refusal("ip||route") == "key template, character 4: an alternative to ip is never "
                                       "used, as that always has a value");
    BOOST_TEST(refusal("IP").starts_with("key template, character 1: expected a part"));
    BOOST_TEST(refusal("user|").starts_with("key template, character 6: expected a part"));
    BOOST_TEST(refusal("user ip") ==
               "key template, character 6: expected +, | or the end, found 'ip'");
    BOOST_TEST(refusal("ip\x01") ==
               "key template, character 3: expected +, | or the end, found '\\x01'");
    BOOST_TEST(refusal("header") ==
               "key template, character 7: expected a colon and a name, found the end");
    BOOST_TEST(refusal("query:+ip") ==
               "key template, character 7: expected a name of [A-Za-z0-9_.-], found '+ip'");
    BOOST_TEST(refusal("header:" + std::string(65, 'x')) ==
               "key template, character 8: the name is too long (got 65 characters, expected at "
               "most 64)");
    BOOST_TEST(refusal("tag:x") == "key template, character 1: a tag alone is no key; add what "
                                   "identifies a client, such as ip+tag:NAME");
    BOOST_TEST(refusal("ip+tag:x+tag:x") ==
               "key template, character 10: a key has one tag, and this is the second");
    BOOST_TEST(refusal("ip+tag:x|user") == "key template, character 9: a tag has no alternatives");
    BOOST_TEST(refusal("user|tag:x") == "key template, character 6: a tag is not an alternative");
    auto many = std::string{"ip"};
    for (int i = 1; i < 8; ++i)
        many += "+query:" + std::to_string(i);
    BOOST_TEST(refusal(many) == "not refused");
    BOOST_TEST(refusal(many + "+user") == "key template, character 60: too many parts and "
                                          "alternatives (expected at most 8)");
    BOOST_TEST(refusal(std::string(513, ' ')) ==
               "key template: too long (got 513 bytes, expected at most 512)");
}

BOOST_AUTO_TEST_CASE(what_is_given_twice_in_a_template_is_refused) {
    const auto twice = "a part is given twice, which makes no other key"s;
    const auto unused = [](const std::string& name) {
        return "an alternative to " + name + " is never used, as it has no other value";
    };
    BOOST_TEST(refusal("ip+ip") == "key template, character 4: " + twice);
    BOOST_TEST(refusal("user|ip + route+ user|ip") == "key template, character 18: " + twice);
    BOOST_TEST(refusal("header:A+header:a") == "key template, character 10: " + twice);
    BOOST_TEST(refusal("user|user") == "key template, character 6: " + unused("user"));
    BOOST_TEST(refusal("header:a|user|verified:header:A|ip") ==
               "key template, character 15: " + unused("header:a"));
    for (const auto* const text :
         {"user+user|ip", "verified:header:a|header:a", "header:a+verified:header:a",
          "header:a+query:a", "query:a+query:A", "user|header:user", "ip+route+method+global"})
        BOOST_TEST(refusal(text) == "not refused", text);
}

namespace {

/// A request of few values, most of which have a meaning in keys, and what it means.
struct random_request {
    http_message message{};
    std::optional<std::string> user{};
    std::vector<std::string> meaning{};
};

[[nodiscard]] std::string random_value(test::rng& random) {
    constexpr auto letters = ";=#%|ab"sv;
    auto out = std::string(1 + random.below(3), ' ');
    for (auto& c : out)
        c = letters[random.below(letters.size())];
    return random.below(20) == 0 ? std::string(limits::max_key_part_bytes - 1, 'x') + out : out;
}

[[nodiscard]] std::string encoded(std::string_view text, test::rng& random) {
    auto out = std::string{};
    for (const auto c : text) {
        if (c == '#' || c == '%' || c == '&' || random.percent(30)) {
            const auto code = static_cast<unsigned char>(c);
            out += {'%', "0123456789abcdef"[code >> 4U], "0123456789ABCDEF"[code & 15U]};
        } else {
            out += c;
        }
    }
    return out;
}

/// For the template `user|header:h+query:q|header:i`.
[[nodiscard]] random_request draw(test::rng& random) {
    auto r = random_request{};
    auto first = std::string{"none"};
    auto second = std::string{"none"};
    for (const auto* name : {"h", "i"})
        if (random.percent(60)) {
            const auto value = random_value(random);
            r.message.fields.emplace_back(name, " " + value);
            (name == "h"sv ? first : second) = name + (":" + value);
        }
    if (random.percent(50)) {
        r.user = random_value(random);
        first = "user:" + *r.user;
    }
    if (random.percent(50)) {
        const auto value = random_value(random);
        r.message.target = "/?x=1&q=" + encoded(value, random);
        second = "query:" + value;
    }
    r.meaning = {first, second};
    return r;
}

} // namespace

BOOST_AUTO_TEST_CASE(keys_are_equal_only_for_equal_values_of_the_same_alternatives) {
    auto random = test::rng{11};
    auto by_key = std::map<std::string, std::vector<std::string>>{};
    auto by_meaning = std::map<std::vector<std::string>, std::string>{};
    for (int i = 0; i < 50'000; ++i) {
        const auto r = draw(random);
        const auto key = key_of("user|header:h+query:q|header:i", r.message, r.user);
        BOOST_TEST_REQUIRE((by_key.try_emplace(key, r.meaning).first->second == r.meaning));
        BOOST_TEST_REQUIRE(by_meaning.try_emplace(r.meaning, key).first->second == key);
    }
    BOOST_TEST(by_key.size() > 10'000U);
}

BOOST_AUTO_TEST_SUITE_END()
