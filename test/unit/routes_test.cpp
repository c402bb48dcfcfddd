// SPDX-License-Identifier: BSL-1.0
//
// Routes: the normal form of paths, which route a request has, and which one hides another.

#include <colimit/error.hpp>
#include <colimit/limits.hpp>
#include <colimit/routes.hpp>
#include <support/refusal.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(routes)

namespace {

using namespace colimit;
using namespace std::string_view_literals;
using http::normal_path;
using http::route;
using http::route_table;

[[nodiscard]] route_table table_of(const std::vector<std::string>& paths) {
    auto made = std::vector<route>{};
    for (const auto& p : paths)
        made.emplace_back(p);
    return route_table{made};
}

/// Returns whether a table with this route alone has the target.
[[nodiscard]] bool matches(std::string_view path, std::string_view target) {
    return route_table{{route{path}}}.find("GET", target).has_value();
}

[[nodiscard]] std::string refusal(std::string_view path, std::vector<std::string> methods = {}) {
    return test::refusal(errc::invalid_config, [&] { route{path, methods}; });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_path_has_one_normal_form) {
    const std::pair<std::string_view, std::string_view> pairs[] = {
        {"/", "/"},
        {"", "/"},
        {"//", "/"},
        {"/a/b", "/a/b"},
        {"/a/b/", "/a/b"},
        {"a/b", "/a/b"},
        {"/a/../login", "/login"}, // these four as the guide says
        {"//login/", "/login"},
        {"/%6Cogin", "/login"},
        {"/a//../b", "/b"},
        {"/LOGIN", "/LOGIN"},
        {"/API/./a//b/../%7Euser/?x=1", "/API/a/~user"},
        {"/%61%2e%2E/%2e%2e/b", "/b"},
        {"/..", "/"},
        {"/../../a", "/a"},
        {"/a/..b/...", "/a/..b/..."},
        {"/a#b?c", "/a"},
        {"/a?b#c", "/a"},
        {"/a%2fb", "/a%2Fb"},
        {"/a%2f..%2fb", "/a%2F..%2Fb"},
        {"/a%252e", "/a%252e"},
        {"/a%3fb%23%25", "/a%3Fb%23%25"},
        {"/%", "/%25"},
        {"/%4", "/%254"},
        {"/%zz", "/%25zz"},
        {"/a b\x01", "/a%20b%01"},
        {"/\xc3\xbc", "/%C3%BC"},
        {"/%c3%bc", "/%C3%BC"},
        {"/a;b=c,d@e:f", "/a;b=c,d@e:f"},
        {"http://example.org", "/"},
        {"HTTP://example.org:80/a/../b?c", "/b"},
        {"http://example.org?a/b", "/"},
        {"http://u@[::1]/a", "/a"},
        {"//example.org/a", "/example.org/a"},
        {"/go/http://example.org/", "/go/http:/example.org"},
        {"*", "/*"},
    };
    for (const auto& [target, path] : pairs)
        BOOST_TEST_CONTEXT(target) {
            BOOST_TEST(normal_path(target) == path);
            BOOST_TEST(normal_path(path) == path);
        }
    BOOST_TEST(normal_path("/a\0b"sv) == "/a%00b");
}

namespace {

/// Writes a path of these segments in a random way.
[[nodiscard]] std::string respelled(const std::vector<std::string>& segments, test::rng& random) {
    auto out = std::string{};
    const auto noise = [&] {
        for (auto n = random.below(3); n > 0; --n) {
            const std::string_view pieces[] = {"/",     "/.",        "/%2E",
                                               "/x/..", "/%2f/%2e.", "/x/./.%2E"};
            out += random.pick(pieces);
        }
    };
    for (const auto& segment : segments) {
        noise();
        out += '/';
        for (const auto c : segment) {
            const auto code = static_cast<unsigned char>(c);
            if ("/%?#"sv.find(c) != std::string_view::npos || random.percent(30))
                out += {'%', "0123456789abcdef"[code >> 4U], "0123456789ABCDEF"[code & 15U]};
            else
                out += c;
        }
    }
    noise();
    return out + (random.percent(30) ? "?a/../b" : "");
}

[[nodiscard]] std::vector<std::string> random_segments(test::rng& random) {
    auto out = std::vector<std::string>(random.below(4));
    for (auto& s : out)
        do {
            s.assign(1 + random.below(2), ' ');
            for (auto& c : s)
                c = "ab./%? \xff"[random.below(8)];
        } while (s == "." || s == "..");
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(another_spelling_of_a_path_is_the_same_path_and_no_other) {
    auto random = test::rng{3};
    for (int i = 0; i < 20'000; ++i) {
        const auto a = random_segments(random);
        const auto b = random_segments(random);
        const auto path = normal_path(respelled(a, random));
        BOOST_TEST_REQUIRE(normal_path(respelled(a, random)) == path);
        BOOST_TEST_REQUIRE((normal_path(respelled(b, random)) == path) == (a == b));
        BOOST_TEST_REQUIRE(normal_path(path) == path);
        BOOST_TEST_REQUIRE(
            matches(path.find('*') == std::string::npos ? path : "/*", respelled(a, random)));
    }
}

BOOST_AUTO_TEST_CASE(segments_match_texts_wildcards_and_the_rest) {
    BOOST_TEST(matches("/", "/"));
    BOOST_TEST(!matches("/", "/a"));
    BOOST_TEST(matches("/a/b", "//a/./%62/?c"));
    BOOST_TEST(!matches("/a/b", "/a/B"));
    BOOST_TEST(!matches("/a/b", "/a"));
    BOOST_TEST(!matches("/a/b", "/a/b/c"));
    for (const auto* any : {"/users/{id}/posts", "/users/*/posts"}) {
        BOOST_TEST(matches(any, "/users/7/posts"));
        BOOST_TEST(matches(any, "/users/a%2Fb/posts"));
        BOOST_TEST(!matches(any, "/users/posts"));
        BOOST_TEST(!matches(any, "/users//posts"));
        BOOST_TEST(!matches(any, "/users/7/8/posts"));
        BOOST_TEST(!matches(any, "/users/7/../posts"));
    }
    BOOST_TEST(matches("/users/{id}", "/users/7/"));
    BOOST_TEST(!matches("/users/{id}", "/users/"));
    for (const auto* target : {"/api", "/api/", "/api/a", "/api/a/b/c", "/x/../api"})
        BOOST_TEST(matches("/api/*", target));
    BOOST_TEST(!matches("/api/*", "/apis"));
    BOOST_TEST(!matches("/api/*", "/api/.."));
    for (const auto* target : {"", "/", "*", "/a/b", "http://h", "%"})
        BOOST_TEST(matches("/*", target));
}

BOOST_AUTO_TEST_CASE(an_encoded_character_of_a_wildcard_is_a_text) {
    for (const std::string_view path :
         {"/f/%2A", "/f/%2a", "/q/%7Bid%7D", "/q/%7bid%7d/x", "/%2A", "/%257Ba", "/a%2Ab"}) {
        const auto made = route{path};
        BOOST_TEST(matches(path, path));
        BOOST_TEST(matches(path, normal_path(path)));
        BOOST_TEST((made == route{made.path()}), path);
        BOOST_TEST(!matches(path, "/f/x"), path);
        BOOST_TEST(!matches(path, "/q/x"), path);
        BOOST_TEST(!matches(path, "/"), path);
    }
    BOOST_TEST(route{"/f/%2a"}.path() == "/f/%2A");
    BOOST_TEST(table_of({"/f/%2A", "/f/*"}).hidden_by(1).empty());
    BOOST_TEST(table_of({"/f/*", "/f/%2A"}).hidden_by(1) == std::vector<std::size_t>{0});
}

BOOST_AUTO_TEST_CASE(the_first_route_in_the_order_counts) {
    const auto t = table_of({"/a/{x}/c", "/a/b/*", "/a/b/c", "/*", "/a"});
    const auto find = [&t](std::string_view target) { return t.find("GET", target).value(); };
    BOOST_TEST(find("/a/b/c") == 0U);
    BOOST_TEST(find("/a/b/d") == 1U);
    BOOST_TEST(find("/a/b") == 1U);
    BOOST_TEST(find("/a") == 3U);
    BOOST_TEST(!route_table{}.find("GET", "/").has_value());
    BOOST_TEST(!table_of({"/a"}).find("GET", "/b").has_value());
}

BOOST_AUTO_TEST_CASE(routes_are_for_their_methods_and_get_is_also_head) {
    const auto t = route_table{
        {route{"/a", {"POST"}}, route{"/a", {"PUT", "GET"}}, route{"/b"}, route{"/c", {"HEAD"}}}};
    const auto find = [&t](std::string_view method, std::string_view target) {
        return static_cast<int>(t.find(method, target).value_or(99));
    };
    BOOST_TEST(find("POST", "/a") == 0);
    BOOST_TEST(find("GET", "/a") == 1);
    BOOST_TEST(find("HEAD", "/a") == 1);
    BOOST_TEST(find("PUT", "/a") == 1);
    BOOST_TEST(find("DELETE", "/a") == 99);
    for (const auto* method : {"get", "Get", "head"}) // the router may take it for GET
        BOOST_TEST(find(method, "/a") == 1);
    BOOST_TEST(find("post", "/a") == 0);
    BOOST_TEST(find("BREW", "/b") == 2);
    BOOST_TEST(find("GET", "/c") == 99);
    BOOST_TEST(find("HEAD", "/c") == 3);
}

BOOST_AUTO_TEST_CASE(a_route_that_matches_all_of_a_later_one_hides_it) {
    const auto hides = [](const route& a, const route& b) {
        return route_table{{a, b}}.hidden_by(1) == std::vector<std::size_t>{0};
    };
    BOOST_TEST(hides(route{"/a"}, route{"/a/"}));
    BOOST_TEST(hides(route{"/a/*"}, route{"/a"}));
    BOOST_TEST(hides(route{"/*"}, route{"/"}));
    BOOST_TEST(hides(route{"/a/{x}/c"}, route{"/a/b/c"}));
    BOOST_TEST(hides(route{"/a/{x}"}, route{"/a/{y}"}));
    BOOST_TEST(hides(route{"/{x}/*"}, route{"/a/b/*"}));
    BOOST_TEST(!hides(route{"/a/{x}"}, route{"/a/*"}));
    BOOST_TEST(!hides(route{"/{x}/*"}, route{"/*"}));
    BOOST_TEST(!hides(route{"/a/b"}, route{"/a/{x}"}));
    BOOST_TEST(!hides(route{"/a"}, route{"/a/b"}));
    BOOST_TEST(hides(route{"/a"}, route{"/a", {"GET"}}));
    BOOST_TEST(!hides(route{"/a", {"GET"}}, route{"/a"}));
    BOOST_TEST(hides(route{"/a", {"GET", "PUT"}}, route{"/a", {"PUT", "HEAD"}}));
    BOOST_TEST(!hides(route{"/a", {"HEAD"}}, route{"/a", {"GET"}}));
    BOOST_TEST(table_of({"/b", "/a/*", "/{x}", "/a/b"}).hidden_by(3) ==
               std::vector<std::size_t>{1});
}

BOOST_AUTO_TEST_CASE(several_routes_together_hide_a_later_one) {
    const auto hides = [](const std::vector<route>& all) {
        return route_table{all}.hidden_by(all.size() - 1);
    };
    const auto both = std::vector<std::size_t>{0, 1};
    BOOST_TEST(hides({route{"/a", {"GET"}}, route{"/a", {"PUT"}}, route{"/a", {"HEAD", "PUT"}}}) ==
               both);
    BOOST_TEST(hides({route{"/a"}, route{"/a/{x}/*"}, route{"/a/*"}}) == both);
    BOOST_TEST(hides({route{"/"}, route{"/*/x"}, route{"/{x}"}, route{"/{x}/{y}/*"},
                      route{"/*"}}) == (std::vector<std::size_t>{0, 2, 3}));
    BOOST_TEST(hides({route{"/a", {"GET"}}, route{"/a", {"PUT"}}, route{"/a"}}).empty());
    BOOST_TEST(hides({route{"/a"}, route{"/a/b/*"}, route{"/a/*"}}).empty());
    BOOST_TEST(hides({route{"/a"}, route{"/a/{x}/{y}/*"}, route{"/a/*"}}).empty());
    BOOST_TEST(hides({route{"/a", {"GET"}}, route{"/a/{x}/*"}, route{"/a/*"}}).empty());
}

namespace {

[[nodiscard]] std::vector<std::string> split(std::string_view path) {
    auto out = std::vector<std::string>{};
    while (path.size() > 1) {
        path.remove_prefix(1);
        const auto end = std::min(path.find('/'), path.size());
        out.emplace_back(path.substr(0, end));
        path.remove_prefix(end);
    }
    return out;
}

/// The definition, without a tree.
[[nodiscard]] bool is_match(const std::vector<std::string>& pattern,
                            const std::vector<std::string>& path) {
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == "*" && i + 1 == pattern.size())
            return true;
        if (i >= path.size() || (pattern[i] != "*" && pattern[i] != "{x}" && pattern[i] != path[i]))
            return false;
    }
    return pattern.size() == path.size();
}

/// Returns whether the first pattern matches every path of the second one, without a tree.
[[nodiscard]] bool is_cover(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    const auto is_rest = [](const std::vector<std::string>& p, std::size_t i) {
        return i + 1 == p.size() && p[i] == "*";
    };
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (is_rest(a, i))
            return true;
        if (i >= b.size() || is_rest(b, i) || (a[i] != "*" && a[i] != "{x}" && a[i] != b[i]))
            return false;
    }
    return a.size() == b.size();
}

/// Returns whether a route has each method of another one.
[[nodiscard]] bool has_all(const route& a, const route& b) {
    return a.methods().empty() ||
           (!b.methods().empty() &&
            std::ranges::all_of(b.methods(), [&a](const auto& m) { return a.has_method(m); }));
}

/// Returns whether a request has the route: one whose segments for `*` and `{x}` are those of no
/// other route, and of which `/*` stands for up to five.
[[nodiscard]] bool may_count(const route_table& t, std::size_t k) {
    const auto segments = split(t[k].path());
    const auto is_rest = !segments.empty() && segments.back() == "*";
    const auto any = std::vector<std::string>{"OTHER"};
    for (const auto& method : t[k].methods().empty() ? any : t[k].methods())
        for (auto more = std::size_t{0}; more < (is_rest ? 6U : 1U); ++more) {
            auto path = std::string{};
            for (std::size_t i = 0; i + (is_rest ? 1 : 0) < segments.size(); ++i)
                path += segments[i] == "*" || segments[i] == "{x}" ? "/new" : "/" + segments[i];
            for (auto i = more; i > 0; --i)
                path += "/new";
            if (t.find(method, path) == k)
                return true;
        }
    return false;
}

[[nodiscard]] std::string random_path(test::rng& random, std::string_view letters) {
    auto out = std::string{};
    for (auto n = random.below(5); n > 0; --n) {
        const auto c = letters[random.below(letters.size())];
        out += c == '{' ? "/{x}" : std::string{'/', c};
    }
    return out.empty() ? "/" : out;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_search_in_the_tree_finds_what_a_search_in_the_order_finds) {
    auto random = test::rng{4};
    constexpr std::string_view methods[] = {"GET", "PUT", "HEAD"};
    for (int i = 0; i < 1'000; ++i) {
        auto made = std::vector<route>{};
        for (auto n = random.below(30); n > 0; --n)
            made.emplace_back(
                random_path(random, "abc*{"),
                std::vector<std::string>{methods + random.below(2), methods + 1 + random.below(3)});
        const auto t = route_table{made};
        for (int j = 0; j < 30; ++j) {
            const auto path = random_path(random, "abc");
            const auto method = random.pick(methods);
            auto expected = std::optional<std::size_t>{};
            for (std::size_t k = 0; k < made.size() && !expected; ++k)
                if (is_match(split(made[k].path()), split(path)) && made[k].has_method(method))
                    expected = k;
            BOOST_TEST_REQUIRE((t.find(method, path) == expected));
        }
        for (std::size_t k = 0; k < made.size(); ++k) {
            const auto covers = [&](const route& earlier) {
                return is_cover(split(earlier.path()), split(made[k].path())) &&
                       has_all(earlier, made[k]);
            };
            const auto end = made.begin() + static_cast<std::ptrdiff_t>(k);
            const auto found = std::find_if(made.begin(), end, covers);
            if (found != end)
                BOOST_TEST_REQUIRE(
                    t.hidden_by(k) ==
                    std::vector<std::size_t>{static_cast<std::size_t>(found - made.begin())});
            BOOST_TEST_REQUIRE(t.hidden_by(k).empty() == may_count(t, k));
        }
    }
}

/// A segment of a request stands for itself, also `*`.
BOOST_AUTO_TEST_CASE(a_star_in_a_request_is_a_text) {
    BOOST_TEST(matches("/a/{x}", "/a/*"));
    BOOST_TEST(matches("/{x}", "/*"));
    BOOST_TEST(!matches("/a/b", "/a/*"));
}

BOOST_AUTO_TEST_CASE(what_is_no_route_is_refused_with_the_reason) {
    BOOST_TEST(refusal("") == "invalid path (got '', expected a path that begins with /)");
    BOOST_TEST(refusal("api") == "invalid path (got 'api', expected a path that begins with /)");
    BOOST_TEST(refusal("http://h/a").starts_with("invalid path"));
    for (const auto* path : {"/a?b", "/a#b"})
        BOOST_TEST(refusal(path) == "invalid path (got '" + std::string{path} +
                                        "', expected a path without query and fragment)");
    for (const auto* segment : {"a*", "**", "{", "{}", "a{b}", "{a b}", "{a", "a}", "{a}b"})
        BOOST_TEST(
            refusal("/x/" + std::string{segment} + "/y").starts_with("invalid segment (got '"));
    for (const auto* segment : {"{path...}", "{...}", "{...path}"})
        BOOST_TEST(refusal("/x/" + std::string{segment}) ==
                   "invalid segment (got '" + std::string{segment} +
                       "', expected {name} for one segment, or /* at the end for any number)");
    BOOST_TEST(refusal("/x/{user.id}/{a..b}") == "not refused");
    BOOST_TEST(refusal("/" + std::string(limits::max_route_bytes, 'a')) ==
               "the path is too long (got 1025 bytes, expected at most 1024)");
    BOOST_TEST(refusal("/" + std::string(limits::max_route_bytes - 1, 'a')) == "not refused");
    const auto deep = [](int segments) {
        auto path = std::string{};
        for (int i = 0; i < segments; ++i)
            path += "/a";
        return path;
    };
    BOOST_TEST(refusal(deep(32)) == "not refused");
    BOOST_TEST(refusal(deep(33)) == "the path has too many segments (got 33, expected at most 32)");
    BOOST_TEST(matches("/a/*", deep(100'000))); // a target may have any number
    for (const auto* method : {"", "get", "GET ", "G\x01"})
        BOOST_TEST(refusal("/a", {method}).starts_with("invalid method (got "));
    BOOST_TEST(refusal("/a", {std::string(33, 'A')}).starts_with("invalid method (got "));
    BOOST_TEST(refusal("/a", {"GET", "M-SEARCH", "GET"}) == "method GET is given twice");
    const auto many = [] { route_table{std::vector<route>(1'001, route{"/"})}; };
    BOOST_TEST(test::refusal(errc::invalid_config, many) ==
               "too many routes (got 1001, expected at most 1000)");
}

BOOST_AUTO_TEST_SUITE_END()
