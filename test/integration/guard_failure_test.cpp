// SPDX-License-Identifier: BSL-1.0
//
// A route whose policies do not all have a store that decides: an error that is about one of them
// must not open the others.

#include <colimit/http_guard.hpp>
#include <support/http_message.hpp>
#include <support/live_limiter.hpp>
#include <support/redis_cluster.hpp>
#include <support/unit_test.hpp>

#include <optional>
#include <string>
#include <utility>

BOOST_AUTO_TEST_SUITE(guard_failures)

namespace {

using namespace colimit;
using test::http_message;
using test::live;

const auto document = parse_policy_document(R"({
    "policies": {"login": {"rules": "2/h fixed_window named login", "key": "ip"},
                 "all": {"rules": "1000/h named all", "key": "global"}},
    "routes": [{"path": "/*", "policies": ["login", "all"]}]})");

[[nodiscard]] http::verdict check(live& l, const http::guard& g, const http_message& m) {
    auto result = std::optional<http::verdict>{};
    g.check(m.view(), [&](error_code ec, http::verdict v) {
        BOOST_TEST(!ec);
        result = std::move(v);
    });
    test::run_until(l.context, [&] { return result.has_value(); });
    return std::move(*result);
}

/// Returns how many of the requests of a client are allowed; each reports the error.
[[nodiscard]] int allowed_of(live& l, const http::guard& g, const std::string& client,
                             errc expected) {
    auto allowed = 0;
    for (int i = 0; i < 5; ++i) {
        const auto v = check(l, g, {.peer = client});
        BOOST_TEST((v.error == expected), v.error.message());
        allowed += v.allowed ? 1 : 0;
    }
    return allowed;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_foreign_value_at_one_key_leaves_the_other_policies_in_force) {
    const test::redis_server server;
    auto look = server.connect();
    auto l = live{server.unix_address()};
    const auto g = http::guard{l.limiter, document};
    BOOST_TEST(check(l, g, {.peer = "10.0.0.1"}).allowed);
    for (const auto& k : look.must({"KEYS", "*global*"}).elements) {
        look.must({"DEL", k.text});
        look.must({"LPUSH", k.text, "x"});
    }
    BOOST_TEST(allowed_of(l, g, "10.0.0.2", errc::key_conflict) == 2);

    const auto strict = http::guard{l.limiter, document, {.allow_on_error = false}};
    BOOST_TEST(allowed_of(l, strict, "10.0.0.3", errc::key_conflict) == 0);
}

/// They are not checked at once, but each limits.
BOOST_AUTO_TEST_CASE(policies_without_a_common_tag_limit_on_a_cluster_too) {
    const test::redis_cluster cluster;
    auto l = live{"redis+cluster://" + cluster.endpoint(0)};
    const auto g = http::guard{l.limiter, document};
    BOOST_TEST(allowed_of(l, g, "10.0.0.2", errc::invalid_argument) == 2);
}

BOOST_AUTO_TEST_SUITE_END()
