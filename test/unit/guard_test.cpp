// SPDX-License-Identifier: BSL-1.0
//
// The middleware without a framework: which calls a request makes, and what becomes of it.

#include <colimit/http_guard.hpp>
#include <support/coroutine_run.hpp>
#include <support/http_message.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(guards)

namespace {

using namespace colimit;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using http::guard;
using http::guard_options;
using http::verdict;
using test::http_message;

/// A limiter whose clock stands still, and the verdicts of requests under a document.
struct bench {
    explicit bench(std::string_view document, guard_options options = {}, config c = {})
        : limiter(context.get_executor(), settings(std::move(c))),
          guard(limiter, parse_policy_document(document), std::move(options)) {}

    [[nodiscard]] static config settings(config c) {
        c.advanced.clock = [] { return time_point{1'000'000s}; };
        return c;
    }

    verdict operator()(const http_message& m) { return check(m.view()); }
    verdict check(const http::request& r) {
        auto result = std::optional<verdict>{};
        guard.check(r, [&](error_code ec, verdict v) {
            BOOST_TEST(!ec);
            result = std::move(v);
        });
        BOOST_TEST(!result.has_value()); // never from within the initiating function
        test::run_until(context, [&] { return result.has_value(); });
        return std::move(*result);
    }

    asio::io_context context{1};
    colimit::limiter limiter;
    http::guard guard;
};

/// Returns the value of the only field of this name.
[[nodiscard]] std::string field(const verdict& v, std::string_view name) {
    BOOST_TEST(std::ranges::count(v.fields, name, &http::field::name) <= 1);
    const auto found = std::ranges::find(v.fields, name, &http::field::name);
    return found == v.fields.end() ? "none" : found->value;
}

/// A server that does not exist.
[[nodiscard]] config failing() {
    auto c = config{};
    c.server = "unix:/nonexistent/colimit";
    c.timeout = 20ms;
    c.on_failure = failure_mode::error;
    return c;
}

constexpr std::string_view two_policies = R"({
    "policies": {"each": {"rules": "2/h fixed_window named each", "key": "header:x|ip"},
                 "all": {"rules": "3/h fixed_window named all", "key": "global"}},
    "routes": [{"path": "/both/*", "policies": ["all", "each"]},
               {"path": "/free", "policies": []},
               {"path": "/one", "methods": ["POST"], "policy": "each"}]})";

} // namespace

BOOST_AUTO_TEST_CASE(a_request_is_let_through_with_fields_and_then_denied_with_a_response) {
    auto b = bench{two_policies};
    const auto m = http_message{.method = "POST", .target = "/one"};
    auto v = b(m);
    BOOST_TEST(v.allowed);
    BOOST_TEST(field(v, "RateLimit-Policy") == R"("each";q=2;w=3600)");
    BOOST_TEST(field(v, "RateLimit") == R"("each";r=1;t=800)");
    BOOST_TEST(v.fields.size() == 2U);
    BOOST_TEST(v.body.empty());
    BOOST_TEST(v.policies[v.limiting].limit.name() == "each");
    BOOST_TEST(v.decision.value().remaining == 1);

    (void)b(m);
    v = b(m);
    BOOST_TEST(!v.allowed);
    BOOST_TEST(v.status == 429U);
    BOOST_TEST(field(v, "RateLimit") == R"("each";r=0;t=800)");
    BOOST_TEST(field(v, "Retry-After") == "800");
    BOOST_TEST(field(v, "Cache-Control") == "no-store");
    BOOST_TEST(field(v, "Content-Type") == "application/problem+json");
    BOOST_TEST(v.body == http::problem_body(v.policies[0].limit, *v.decision));
    BOOST_TEST(b({.method = "POST", .target = "/one", .peer = "10.0.0.2"}).allowed);
}

BOOST_AUTO_TEST_CASE(a_request_without_a_route_or_a_policy_is_let_through_and_charges_nothing) {
    auto b = bench{two_policies};
    for (const auto& m : {http_message{.target = "/free"}, http_message{.target = "/one"},
                          http_message{.target = "/x"}}) {
        const auto v = b(m);
        BOOST_TEST(v.allowed);
        BOOST_TEST(v.fields.empty());
        BOOST_TEST(v.policies.empty());
        BOOST_TEST(!v.decision.has_value());
        BOOST_TEST(v.document != nullptr);
    }
    BOOST_TEST(b.limiter.statistics().allowed == 0U);
}

/// A server that routes by it does what was limited.
BOOST_AUTO_TEST_CASE(a_verdict_has_the_path_that_decided) {
    auto b = bench{two_policies};
    for (const auto& [target, path] : {std::pair{"/free/../one?x", "/one"},
                                       {"//%6Fne/", "/one"},
                                       {"/free", "/free"},
                                       {"http://h/none%00", "/none%00"},
                                       {"*", "/*"},
                                       {"", "/"}}) {
        const auto v = b({.method = "POST", .target = target});
        BOOST_TEST(v.path == path);
        BOOST_TEST(v.policies.empty() == (path != std::string_view{"/one"}));
    }
    BOOST_TEST(b({.method = "post", .target = "/one"}).policies.size() == 1U);
}

BOOST_AUTO_TEST_CASE(several_policies_are_all_charged_or_none) {
    auto b = bench{two_policies};
    const auto of = [](std::string client) {
        return http_message{.target = "/both/1", .fields = {{"X", std::move(client)}}};
    };
    auto v = b(of("a"));
    BOOST_TEST(v.policies[v.limiting].limit.name() == "each"); // the least remains
    BOOST_TEST(field(v, "RateLimit-Policy") == R"("each";q=2;w=3600, "all";q=3;w=3600)");
    BOOST_TEST(field(v, "RateLimit") == R"("each";r=1;t=800, "all";r=2;t=800)");
    (void)b(of("a"));
    v = b(of("a"));
    BOOST_TEST(!v.allowed);
    BOOST_TEST(v.policies[v.limiting].limit.name() == "each");
    BOOST_TEST(field(v, "RateLimit") == R"("each";r=0;t=800, "all";r=1)"); // not charged
    BOOST_TEST(v.body.find(R"("violated-policies":["each"])") != std::string::npos);
    BOOST_TEST(b(of("b")).allowed);
    v = b(of("b"));
    BOOST_TEST(!v.allowed);
    BOOST_TEST(v.policies[v.limiting].limit.name() == "all");
    BOOST_TEST(v.decision.value().limit == 3);
}

BOOST_AUTO_TEST_CASE(keys_have_the_pattern_of_the_route_and_the_address_behind_proxies) {
    auto b = bench{R"({"trusted_proxies": 1, "ipv6_prefix": 48,
        "policies": {"p": {"rules": "9/h fixed_window", "key": "ip+route"}},
        "routes": [{"path": "/users/{id}", "policy": "p"}, {"path": "/*", "policy": "p"}]})"};
    const auto left = [&b](std::string target, std::string client) {
        return b({.target = std::move(target), .fields = {{"X-Forwarded-For", std::move(client)}}})
            .decision.value()
            .remaining;
    };
    BOOST_TEST(left("/users/1", "2001:db8::1") == 8);
    BOOST_TEST(left("/users//%32?x", "6.6.6.6, 2001:db8:0:9::1") == 7);
    BOOST_TEST(left("/users", "2001:db8::1") == 8);
    BOOST_TEST(left("/other/path", "2001:db8::1") == 7);
    BOOST_TEST(left("/users/1", "2001:db8:1::1") == 8);
    BOOST_TEST(left("/users/1", "nonsense") == 8); // the proxy
    BOOST_TEST(left("/users/1", "other nonsense") == 7);
}

BOOST_AUTO_TEST_CASE(the_user_is_that_of_the_request_or_of_the_callback) {
    constexpr std::string_view document = R"({
        "policies": {"p": {"rules": "9/h fixed_window", "key": "user|ip"},
                     "ip": "9/h fixed_window"},
        "routes": [{"path": "/ip", "policy": "ip"}, {"path": "/*", "policy": "p"}]})";
    const auto m = http_message{.fields = {{"Cookie", "u"}}};
    auto known = m.view();
    known.user = "u";

    auto plain = bench{document};
    BOOST_TEST(plain(m).decision->remaining == 8);
    BOOST_TEST(plain.check(known).decision->remaining == 8);
    BOOST_TEST(plain.check(known).decision->remaining == 7);

    auto calls = 0;
    auto asked = bench{document, {.user = [&](const http::request& r) {
                           ++calls;
                           auto found = std::optional<std::string>{};
                           r.fields.for_each("cookie", [&](auto value) { found.emplace(value); });
                           return found;
                       }}};
    BOOST_TEST(asked(m).decision->remaining == 8);
    BOOST_TEST(asked(m).decision->remaining == 7);
    BOOST_TEST(asked(http_message{}).decision->remaining == 8);
    BOOST_TEST(calls == 3);
    BOOST_TEST(asked(http_message{.target = "/ip"}).allowed);
    BOOST_TEST(calls == 3); // no key needs it
}

BOOST_AUTO_TEST_CASE(a_request_whose_user_callback_throws_has_no_user) {
    auto b = bench{R"({"policies": {"p": {"rules": "9/h fixed_window", "key": "user|ip"}},
                       "routes": [{"path": "/*", "policy": "p"}]})",
                   {.user = [](const http::request&) -> std::optional<std::string> {
                       throw std::runtime_error{"no"};
                   }}};
    const auto m = http_message{};
    auto with_user = m.view();
    with_user.user = "u";
    for (const auto left : {8, 7})
        test::run(b.context, [&]() -> asio::awaitable<void> {
            const auto v = co_await b.guard.check(with_user);
            BOOST_TEST(v.decision.value().remaining == left);
        });
    BOOST_TEST(b({.peer = "10.0.0.2"}).decision.value().remaining == 8);
}

BOOST_AUTO_TEST_CASE(a_new_document_applies_to_the_next_request_and_state_is_kept) {
    const auto document = [](int limit) {
        return std::make_shared<const policy_document>(parse_policy_document(
            R"({"policies": {"p": ")" + std::to_string(limit) +
            R"(/h fixed_window named w"}, "routes": [{"path": "/*", "policy": "p"}]})"));
    };
    auto b = bench{"{\"policies\": {\"p\": \"1/h\"}}"};
    auto current = document(1);
    const auto reloading = http::guard{b.limiter, [&current] { return current; }};
    const auto m = http_message{};
    const auto ask = [&](auto in_between) {
        auto result = std::optional<verdict>{};
        reloading.check(m.view(), [&](error_code, verdict v) { result = std::move(v); });
        in_between();
        test::run_until(b.context, [&] { return result.has_value(); });
        return std::move(*result);
    };
    const auto nothing = [] {};
    BOOST_TEST(ask(nothing).allowed);
    BOOST_TEST(!ask(nothing).allowed);
    current = document(3);
    BOOST_TEST(ask(nothing).decision->remaining == 1);
    // A request that is being checked keeps the document that it began with.
    const auto v = ask([&] { current = document(100); });
    BOOST_TEST(v.decision->limit == 3);
    BOOST_TEST((v.policies[0].limit == v.document->policies().at("p")));
    BOOST_TEST(ask(nothing).decision->limit == 100);
}

BOOST_AUTO_TEST_CASE(a_request_that_the_limiter_cannot_decide_is_let_through_and_reported) {
    auto reports = std::vector<std::string>{};
    auto b = bench{two_policies,
                   {.on_error =
                        [&reports](const http::request& r, const verdict& v) {
                            reports.push_back(std::string{r.target} + " " + v.error.message());
                        }},
                   failing()};
    for (const auto* target : {"/both/1", "/free"}) {
        const auto v = b({.target = target});
        BOOST_TEST(v.allowed);
        BOOST_TEST(v.fields.empty());
        BOOST_TEST(!v.decision.has_value());
        BOOST_TEST((v.error == errc::unavailable || v.error == errc::deadline_exceeded ||
                    target == std::string_view{"/free"}));
    }
    BOOST_TEST(reports.size() == 1U);
    BOOST_TEST(reports[0].starts_with("/both/1 "));
}

/// Otherwise each request could have a key of its own.
BOOST_AUTO_TEST_CASE(an_invented_value_of_a_verified_part_is_a_missing_one) {
    auto asked = std::vector<std::string>{};
    auto options = guard_options{};
    options.verifier = [&asked](const http::request& r, std::string_view part,
                                std::string_view value) {
        asked.push_back(std::string{r.target} + " " + std::string{part});
        if (value == "throw")
            throw std::runtime_error{"x"};
        return value == "known";
    };
    const std::string_view document = R"({"policies": {
        "a": {"rules": "2/h", "key": "verified:header:X-Api-Key|ip"}},
        "routes": [{"path": "/*", "policy": "a"}]})";
    auto b = bench{document, std::move(options)};
    const auto with = [](std::string value) {
        return http_message{.target = "/x", .fields = {{"X-Api-Key", std::move(value)}}};
    };
    auto allowed = 0;
    for (int i = 0; i < 20; ++i)
        allowed += b(with("k" + std::to_string(i))).allowed ? 1 : 0;
    BOOST_TEST(allowed == 2);
    BOOST_TEST(asked.front() == "/x header:x-api-key");
    BOOST_TEST(asked.size() == 20U); // once per request
    BOOST_TEST(!b(with("throw")).allowed);
    BOOST_TEST(b(with("known")).allowed); // its own key

    auto without = bench{document}; // knows none
    allowed = 0;
    for (int i = 0; i < 20; ++i)
        allowed += without(with("known")).allowed ? 1 : 0;
    BOOST_TEST(allowed == 2);
}

/// An item with the name of another one would be about the other limit.
BOOST_AUTO_TEST_CASE(items_of_several_policies_have_different_names) {
    auto b = bench{R"({"policies": {
        "login": {"rules": "1/m", "prevent_duplicate": "5s", "key": "ip+route"},
        "api": {"rules": "100/s burst 200", "prevent_duplicate": "7s", "key": "ip+route"},
        "other": "7/h named other"},
        "routes": [{"path": "/both", "policies": ["login", "api"]},
                   {"path": "/named", "policies": ["login", "other"]},
                   {"path": "/*", "policy": "login"}]})"};
    BOOST_TEST(field(b({.target = "/both"}), "RateLimit-Policy") ==
               R"("login/gcra";q=1;w=60, "login/prevent_duplicate";q=1;w=5, )"
               R"("api/gcra";q=200;w=2, "api/prevent_duplicate";q=1;w=7)");
    const auto v = b({.target = "/both"});
    BOOST_TEST(!v.allowed);
    BOOST_TEST(field(v, "RateLimit").starts_with(R"("login/gcra";r=0;t=60)"),
               field(v, "RateLimit"));
    BOOST_TEST(v.body.find(R"("violated-policies":["login/gcra")") != std::string::npos, v.body);
    BOOST_TEST(field(b({.target = "/named"}), "RateLimit-Policy") ==
               R"("gcra";q=1;w=60, "prevent_duplicate";q=1;w=5, "other";q=7;w=3600)");
    BOOST_TEST(field(b({.target = "/x"}), "RateLimit-Policy") ==
               R"("gcra";q=1;w=60, "prevent_duplicate";q=1;w=5)");
}

BOOST_AUTO_TEST_CASE(or_it_is_denied_as_a_temporary_lack_of_capacity) {
    auto reports = 0;
    auto b = bench{two_policies,
                   {.allow_on_error = false,
                    .on_error = [&](const http::request&,
                                    const verdict& v) { reports += v.allowed ? 100 : 1; }},
                   failing()};
    const auto v = b({.target = "/both/1"});
    BOOST_TEST(!v.allowed);
    BOOST_TEST(v.status == 503U);
    BOOST_TEST(field(v, "Retry-After") == "1");
    BOOST_TEST(field(v, "Cache-Control") == "no-store");
    BOOST_TEST(field(v, "Content-Type") == "application/problem+json");
    BOOST_TEST(field(v, "RateLimit") == "none");
    BOOST_TEST(v.body.find("temporary-reduced-capacity") != std::string::npos);
    BOOST_TEST(reports == 1);
}

BOOST_AUTO_TEST_CASE(a_failure_mode_that_denies_is_also_a_503) {
    auto c = failing();
    c.on_failure = failure_mode::deny;
    auto b = bench{two_policies, {}, std::move(c)};
    const auto v = b({.method = "POST", .target = "/one"});
    BOOST_TEST(!v.allowed);
    BOOST_TEST(v.status == 503U);
    BOOST_TEST(!v.error);
}

/// Whatever the failure modes are, no policy lets a request through that another would deny alone.
BOOST_AUTO_TEST_CASE(no_failure_mode_of_a_policy_opens_another_one) {
    using enum failure_mode;
    constexpr auto modes = std::array{local, allow, deny, failure_mode::error};
    auto denied = 0;
    for (const auto first : modes)
        for (const auto second : modes)
            for (const auto allow_on_error : {true, false}) {
                const auto mode = [](failure_mode m) { return std::string{to_string(m)}; };
                auto b = bench{R"({"policies": {
                    "a": {"rules": "2/h fixed_window named a", "key": "ip+route",
                          "on_failure": ")" +
                                   mode(first) + R"("},
                    "b": {"rules": "3/h fixed_window named b", "key": "ip+route",
                          "on_failure": ")" +
                                   mode(second) + R"("}},
                    "routes": [{"path": "/a", "policy": "a"}, {"path": "/b", "policy": "b"},
                               {"path": "/both", "policies": ["a", "b"]}]})",
                               {.allow_on_error = allow_on_error},
                               failing()};
                BOOST_TEST_CONTEXT(mode(first) << ", " << mode(second) << ", " << allow_on_error)
                for (int i = 0; i < 5; ++i) {
                    const auto v = b({.target = "/both"});
                    const auto alone = b({.target = "/a"}).allowed && b({.target = "/b"}).allowed;
                    BOOST_TEST((alone || !v.allowed));
                    BOOST_TEST((v.allowed || v.status == 429U || v.status == 503U));
                    // A deterministic mode needs no store, so it decides the two as it does each.
                    if (first == second)
                        BOOST_TEST(v.allowed == alone);
                    denied += v.allowed ? 0 : 1;
                }
            }
    BOOST_TEST(denied > 0);
}

BOOST_AUTO_TEST_CASE(policies_that_decide_stay_in_force_beside_one_that_fails) {
    auto reports = 0;
    auto b = bench{R"({"policies": {
        "a": {"rules": "2/h fixed_window named a", "on_failure": "local"},
        "b": {"rules": "3/h fixed_window named b", "on_failure": "error"}},
        "routes": [{"path": "/*", "policies": ["b", "a"]}]})",
                   {.on_error = [&](const http::request&, const verdict&) { ++reports; }},
                   failing()};
    auto v = b({});
    BOOST_TEST(v.allowed);
    BOOST_TEST((v.error == condition::transient));
    BOOST_TEST(v.policies[v.limiting].limit.name() == "a");
    BOOST_TEST((v.decision.value().source == decision_source::fallback));
    BOOST_TEST(field(v, "RateLimit-Policy") == R"("a";q=2;w=3600)");
    BOOST_TEST(b({}).allowed);
    v = b({});
    BOOST_TEST(!v.allowed);
    BOOST_TEST(v.status == 429U);
    BOOST_TEST(v.policies[v.limiting].limit.name() == "a");
    BOOST_TEST(reports == 3);
}

/// The second calls begin where the limiter is, whatever the executor of the handler.
BOOST_AUTO_TEST_CASE(policies_are_asked_apart_on_the_executor_of_the_limiter) {
    auto elsewhere = asio::io_context{1};
    auto b = bench{R"({"policies": {"a": {"rules": "1/h", "on_failure": "local"},
                                    "b": {"rules": "1/h", "on_failure": "error"}},
                       "routes": [{"path": "/*", "policies": ["a", "b"]}]})",
                   {},
                   failing()};
    const auto m = http_message{};
    auto allowed = std::optional<bool>{};
    b.guard.check(m.view(),
                  asio::bind_executor(elsewhere.get_executor(), [&](error_code, const verdict& v) {
                      BOOST_TEST(elsewhere.get_executor().running_in_this_thread());
                      allowed = v.allowed;
                  }));
    auto runner = std::thread{[&] { elsewhere.run(); }};
    test::run_until(b.context, [&] { return elsewhere.stopped(); });
    runner.join();
    BOOST_TEST((allowed == true));
}

BOOST_AUTO_TEST_CASE(denials_can_be_changed) {
    auto b = bench{two_policies,
                   {.on_denied =
                        [](const http::request& r, verdict& v) {
                            v.body = "no";
                            v.status = 420;
                            v.allowed = r.target == "/one?allow";
                        },
                    .fields = {.x_ratelimit = true}}};
    const auto m = http_message{.method = "POST", .target = "/one"};
    BOOST_TEST(field(b(m), "X-RateLimit-Remaining") == "1");
    BOOST_TEST(b(m).body.empty());
    const auto v = b(m);
    BOOST_TEST(!v.allowed);
    BOOST_TEST(v.status == 420U);
    BOOST_TEST(v.body == "no");
    const auto allowed = b({.method = "POST", .target = "/one?allow"});
    BOOST_TEST(allowed.allowed);
    BOOST_TEST(allowed.status == 200U);
    BOOST_TEST(allowed.body.empty());
    for (const auto* name : {"Retry-After", "Cache-Control", "Content-Type"})
        BOOST_TEST(field(allowed, name) == "none");
    BOOST_TEST(field(allowed, "RateLimit") == R"("each";r=0;t=800)");
}

BOOST_AUTO_TEST_CASE(policies_that_shadow_never_deny_and_have_no_fields) {
    auto b = bench{R"({"policies": {"p": {"rules": "1/h", "shadow": true}},
                       "routes": [{"path": "/*", "policy": "p"}]})"};
    for (int i = 0; i < 3; ++i) {
        const auto v = b(http_message{});
        BOOST_TEST(v.allowed);
        BOOST_TEST(v.fields.empty());
    }
}

BOOST_AUTO_TEST_CASE(a_check_completes_where_its_handler_wants) {
    auto b = bench{two_policies};
    auto strand = asio::make_strand(b.context);
    const auto one = http_message{.method = "POST", .target = "/one"};
    const auto free = http_message{.target = "/free"};
    const auto both = http_message{.target = "/both/1"};
    for (const auto* m : {&one, &free, &both}) {
        auto there = std::optional<bool>{};
        b.guard.check(m->view(), asio::bind_executor(strand, [&](error_code, const verdict&) {
                          there = strand.running_in_this_thread();
                      }));
        test::run_until(b.context, [&] { return there.has_value(); });
        BOOST_TEST(*there);
    }
    test::run(b.context, [&]() -> asio::awaitable<void> {
        const auto other = http_message{.target = "/both/1", .peer = "10.0.0.2"};
        const auto v = co_await b.guard.check(other.view());
        BOOST_TEST(v.allowed);
    });
}

BOOST_AUTO_TEST_CASE(a_handler_of_the_caller_is_copied) {
    auto b = bench{two_policies};
    const auto m = http_message{.method = "POST", .target = "/one"};
    auto calls = 0;
    auto handler = std::function<void(error_code, const verdict&)>{
        [&](error_code, const verdict&) { ++calls; }};
    for (const auto expected : {1, 2}) {
        b.guard.check(m.view(), handler);
        test::run_until(b.context, [&] { return calls == expected; });
    }
}

BOOST_AUTO_TEST_CASE(a_cancelled_check_ends_with_the_code_of_asio) {
    auto reports = 0;
    auto c = failing();
    c.timeout = 10s;
    auto b = bench{two_policies,
                   {.on_error = [&](const http::request&, const verdict&) { ++reports; }},
                   std::move(c)};
    const auto one = http_message{.method = "POST", .target = "/one"};
    const auto both = http_message{.target = "/both/1"};
    for (const auto* m : {&one, &both}) {
        auto signal = asio::cancellation_signal{};
        auto result = std::optional<error_code>{};
        b.guard.check(m->view(),
                      asio::bind_cancellation_slot(
                          signal.slot(), [&](error_code ec, const verdict&) { result = ec; }));
        signal.emit(asio::cancellation_type::total);
        test::run_until(b.context, [&] { return result.has_value(); });
        BOOST_TEST((*result == asio::error::operation_aborted));
    }
    BOOST_TEST(reports == 0);
}

BOOST_AUTO_TEST_CASE(checks_may_outlive_the_guard_and_end_with_the_context) {
    auto owner = std::make_shared<int>();
    const auto m = http_message{.target = "/both/1"};
    {
        auto b = bench{two_policies};
        auto done = false;
        {
            const auto g = http::guard{b.limiter, parse_policy_document(two_policies)};
            g.check(m.view(), [&](error_code, const verdict& v) { done = v.allowed; });
        }
        test::run_until(b.context, [&] { return done; });
        b.guard.check(m.view(), [owner](error_code, const verdict&) {});
    }
    BOOST_TEST(owner.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(threads_may_share_a_guard_of_a_limiter_that_they_may_share) {
    auto c = config{};
    c.thread_safe = true;
    auto b = bench{R"({"policies": {"p": {"rules": "1000/h fixed_window", "key": "route"}},
                       "routes": [{"path": "/*", "policy": "p"}]})",
                   {},
                   std::move(c)};
    const auto m = http_message{};
    auto granted = std::atomic<int>{};
    auto threads = std::vector<std::thread>{};
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int j = 0; j < 500; ++j)
                if (b.guard.check(m.view(), asio::use_future).get().allowed)
                    ++granted;
        });
    auto work = std::optional{asio::make_work_guard(b.context)};
    auto runner = std::thread{[&] { b.context.run(); }};
    for (auto& t : threads)
        t.join();
    work.reset();
    runner.join();
    BOOST_TEST(granted == 1000);
}

BOOST_AUTO_TEST_SUITE_END()
