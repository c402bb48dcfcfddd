// SPDX-License-Identifier: BSL-1.0
//
// The code of the user guide, include/*.md, as it is there: `test/style` looks for each block and
// each code of a table here. So it compiles, and here it runs in process.

#include <colimit.hpp>

#include <colimit/beast.hpp>
#include <support/unit_test.hpp>

#include <boost/asio.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(user_guide)

namespace {

namespace asio = boost::asio;
using namespace colimit;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(a_limiter_of_a_server) {
    asio::io_context context;
    colimit::limiter limiter{context.get_executor(), "redis://127.0.0.1:6379"}; // or "memory:"
    BOOST_TEST((limiter.health().state == health_state::connecting));
}

void configure(asio::io_context& context) {
    colimit::config settings;
    settings.server = "rediss://cache.example.org:6380";
    settings.tls.ca_file = "/etc/ssl/example-ca.pem";
    settings.tls.cert_file = "/etc/ssl/client.pem"; // for servers that require client certificates
    settings.tls.key_file = "/etc/ssl/client.key";
    colimit::limiter limiter{context.get_executor(), settings};
}

BOOST_AUTO_TEST_CASE(the_options_of_tls) {
    asio::io_context context;
    BOOST_CHECK_EXCEPTION(configure(context), colimit::error, [](const colimit::error& e) {
        return std::string_view{e.what()}.find("/etc/ssl/client.pem") != std::string_view::npos;
    });
}

BOOST_AUTO_TEST_CASE(credentials_of_each_connection) {
    auto read_tokens = 0;
    const auto read_token = [&] { return "token " + std::to_string(++read_tokens); };
    asio::io_context context;
    colimit::config settings;
    settings.server = "rediss://127.0.0.1:1";
    settings.credentials = [&] { return colimit::credentials{"app", read_token()}; };
    colimit::limiter limiter{context.get_executor(), settings};
    context.poll();
    BOOST_TEST(read_tokens == 1);
}

BOOST_AUTO_TEST_CASE(a_master_behind_sentinel) {
    asio::io_context context;
    colimit::config settings;
    settings.server = "redis+sentinel://app:secret@sentinel1,sentinel2,sentinel3/mymaster/0";
    settings.advanced.sentinel_credentials = [] {
        return colimit::credentials{"watch", "secret2"};
    };
    colimit::limiter limiter{context.get_executor(), settings};
    BOOST_TEST((limiter.health().state == colimit::health_state::connecting));
}

BOOST_AUTO_TEST_CASE(a_cluster) {
    asio::io_context context;
    colimit::config settings;
    settings.server = "redis+cluster://app:secret@node1,node2,node3";
    colimit::limiter limiter{context.get_executor(), settings};
    BOOST_TEST((limiter.health().state == colimit::health_state::connecting));
}

BOOST_AUTO_TEST_CASE(a_response) {
    const auto login =
        policy{"login", gcra(2, 1s).burst(3).named("second"), gcra(5, 1min).named("minute")};
    auto store = local_limiter{100};
    auto d = decision{};
    for (int i = 0; i < 4; ++i)
        d = store.allow("ada", login, {.now = time_point{1h}});
    auto response = boost::beast::http::response<boost::beast::http::string_body>{};
    response.result(http::status_of(d)); // 200, 429, or 503 if no store could decide
    for (const auto& [name, value] : http::draft_11::fields(login, d))
        response.set(name, value);
    if (!d.allowed())
        response.body() = http::problem_body(login, d);
    BOOST_TEST(response.result_int() == 429U);
    BOOST_TEST(response["RateLimit-Policy"] == R"("second";q=3;w=2, "minute";q=5;w=60)");
    BOOST_TEST(response["RateLimit"] == R"("second";r=0;t=1, "minute";r=2)");
    BOOST_TEST(response["Retry-After"] == "1");
    BOOST_TEST(response["Cache-Control"] == "no-store");
    BOOST_TEST(response.body().find("quota-exceeded") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(events_for_a_log) {
    colimit::config settings;
    settings.on_event = [](const colimit::event& e) { std::cerr << "limiter: " << e << '\n'; };
    BOOST_TEST(!!settings.on_event);
}

BOOST_AUTO_TEST_CASE(a_log_of_connections) {
    colimit::config settings;
    settings.log = {.level = colimit::log_level::debug,
                    .write = [](colimit::log_level level, std::string_view line) {
                        std::clog << to_string(level) << ": " << line << '\n';
                    }};
    BOOST_TEST(!!settings.log.write);
}

BOOST_AUTO_TEST_CASE(metrics_of_a_limiter) {
    asio::io_context context;
    colimit::config settings;
    settings.counted_policies = 100; // by name; all others are counted together
    colimit::limiter limiter{context.get_executor(), settings};
    const auto text = colimit::to_prometheus(colimit::metrics_of(limiter, {{"limiter", "api"}}));
    BOOST_TEST(text.find("{limiter=\"api\",outcome=\"allowed\"} 0\n") != std::string::npos);
    BOOST_TEST(limiter.policy_statistics().empty());
}

BOOST_AUTO_TEST_CASE(records_for_an_audit_log) {
    colimit::config settings;
    settings.advanced.audit_sampling = {.allowed = 1'000, .denied = 1, .failed = 1};
    settings.on_decision = [](const colimit::audit_record& r) {
        std::clog << r.verb << ' ' << r.policy << ' ' << colimit::log_text(r.key) << ' '
                  << (r.ec ? r.ec.message() : std::string{to_string(r.result.outcome)}) << '\n';
    };
    BOOST_TEST(!!settings.on_decision);
}

/// Runs a coroutine on a limiter in process.
template<class Body>
void run(Body body) {
    asio::io_context context;
    colimit::limiter limiter{context.get_executor(), "memory:"};
    auto failure = std::exception_ptr{};
    asio::co_spawn(context, body(limiter), [&](const std::exception_ptr& e) { failure = e; });
    context.run(); // returns, although the limiter is not closed
    if (failure)
        std::rethrow_exception(failure);
}

asio::awaitable<void> call_verbs(colimit::limiter& limiter) {
    const auto* const key = "key";
    const auto policy = colimit::policy{"api", gcra(10, 1h)};
    const auto n = std::int64_t{3};
    const auto m = std::int64_t{2};
    auto d = co_await limiter.allow(key, policy, {.cost = n});
    BOOST_TEST(d.remaining == 7);
    d = co_await limiter.charge(key, policy, {.cost = n});
    BOOST_TEST(d.remaining == 4);
    d = co_await limiter.refund(key, policy, {.cost = n});
    BOOST_TEST(d.remaining == 7);
    d = co_await limiter.charge(key, policy, {.cost = 5});
    d = co_await limiter.allow(key, policy, {.cost = n, .at_least = m});
    BOOST_TEST(d.granted == 2);
    d = co_await limiter.peek(key, policy);
    BOOST_TEST(!d);
    d = co_await limiter.wait(key, policy, {.max_wait = 2s});
    BOOST_TEST(!d);
    d = co_await limiter.reset(key, policy);
    BOOST_TEST(d.remaining == 10);
    d = co_await limiter.block(key, policy, 1h);
    BOOST_TEST((d.reason == denial_reason::block));

    const auto* const id = "id";
    d = co_await limiter.once(id, 24h);
    BOOST_TEST(d.allowed());
    auto checks = std::array{check_item{.key = "a", .policy = policy},
                             check_item{.key = "b", .policy = policy}};
    co_await limiter.allow_many(checks);
    BOOST_TEST(checks[1].result.remaining == 9);
    d = co_await limiter.allow_all(checks);
    BOOST_TEST(d.remaining == 8);

    co_await limiter.ready();
    BOOST_TEST((limiter.health().state == health_state::ready));
    BOOST_TEST(!limiter.last_error());
    BOOST_TEST(limiter.statistics().denied == 3); // peek, wait and block
    limiter.close();
}

asio::awaitable<void> call_sketch_verbs(colimit::limiter& limiter) {
    const auto filter = bloom_filter{"ids", {.capacity = 1'000, .ttl = 24h * 365}};
    const auto* const id = "id";
    auto seen = co_await limiter.probably_seen(id, filter);
    BOOST_TEST(!seen);
    seen = co_await limiter.seen(id, filter);
    BOOST_TEST(!seen);
    seen = co_await limiter.probably_seen(id, filter);
    BOOST_TEST(seen);
    auto ids = std::array{seen_item{.id = id}, seen_item{.id = "another"}};
    co_await limiter.probably_seen_many(ids, filter);
    BOOST_TEST((ids[0].seen && !ids[1].seen));
    co_await limiter.seen_many(ids, filter);
    co_await limiter.seen_many(ids, filter);
    BOOST_TEST((ids[0].seen && ids[1].seen));
    const auto status = co_await limiter.filter_status(filter);
    BOOST_TEST(status.current.ids == 2);

    const auto* const key = "key";
    const auto policy = colimit::policy{"addresses", distinct(3, 24h * 365)};
    const auto members = std::array<std::string_view, 3>{"a", "b", "a"};
    const auto d = co_await limiter.charge_members(key, policy, members);
    BOOST_TEST(d.remaining == 1);
    const auto counted = co_await limiter.count_distinct(key, policy);
    BOOST_TEST(counted == 2);
}

BOOST_AUTO_TEST_CASE(sketch_verbs_of_the_table) {
    run(call_sketch_verbs);
}

BOOST_AUTO_TEST_CASE(verbs) {
    run(call_verbs);
}

BOOST_AUTO_TEST_CASE(rules_of_the_table) {
    const auto n = std::int64_t{20};
    const auto m = std::int64_t{5};
    const auto count = std::int64_t{10};
    const auto limit = std::int64_t{10};
    const auto period = 1min;
    const auto unit = calendar_unit::week;
    const auto utc_offset = -3h;
    BOOST_TEST(to_string(gcra(count, period).burst(n)) == "10/m burst 20");
    BOOST_TEST(to_string(cell(n - 1, count, period)) == "10/m cell burst 20");
    BOOST_TEST(to_string(token_bucket(n, count, period)) == "10/m token_bucket burst 20");
    BOOST_TEST(to_string(gcra(count, period).initially(m)) == "10/m initially 5");
    BOOST_TEST(to_string(gcra(count, period).stepwise()) == "10/m stepwise");
    BOOST_TEST(to_string(gcra(count, period).aligned()) == "10/m aligned");
    BOOST_TEST(to_string(fixed_window(limit, period)) == "10/m fixed_window");
    BOOST_TEST(to_string(fixed_window(limit, period).from_first()) ==
               "10/m fixed_window from_first");
    BOOST_TEST(to_string(calendar(limit, unit, utc_offset)) == "10 per week utc-3");
    BOOST_TEST(to_string(sliding_window(limit, period)) == "10/m sliding_window");
    BOOST_TEST(to_string(sliding_log(limit, period)) == "10/m sliding_log");
    BOOST_TEST(to_string(distinct(limit, period)) == "10/m distinct");
    BOOST_TEST(to_string(concurrent(limit).lease(30s)) == "10/30s concurrent");

    // A rate with a fraction: 0.5 per second.
    const auto capacity = std::int64_t{10};
    BOOST_TEST((leaky_bucket(capacity, 1, 2s) == parse_rules("0.5/s leaky_bucket burst 10")[0]));
}

BOOST_AUTO_TEST_CASE(request_ids) {
    const auto api = policy{"api", gcra(10, 1h)};
    asio::io_context context;
    colimit::limiter limiter{context.get_executor(), "memory:"};
    const auto call = [&](std::string user, std::string idempotency_key) -> asio::awaitable<void> {
        auto d = co_await limiter.allow(user, api, {.cost = 5, .request = idempotency_key});
        BOOST_TEST(d.remaining == 5);
    };
    for (auto times = 0; times < 3; ++times)
        asio::co_spawn(context, call("ada", "8e03978e-40d5-43dd-bc93-6894a57f9324"),
                       [](const std::exception_ptr& failure) { BOOST_TEST(!failure); });
    context.run();
}

const auto jobs = policy{"jobs", concurrent(10).lease(30s), gcra(100, 1min)};

asio::awaitable<void> work(std::uint64_t token) {
    BOOST_TEST(token > 0);
    co_return;
}

asio::awaitable<bool> run_job(colimit::limiter& limiter, std::string_view tenant) {
    asio::cancellation_signal lost; // must outlive the slot
    auto slot = co_await limiter.acquire(tenant, jobs, {.max_wait = 5s});
    if (!slot)
        co_return false; // slot.decision() says why, and when a slot is free at the latest
    slot.cancel_when_lost(lost);
    co_await asio::co_spawn(co_await asio::this_coro::executor, work(slot.fencing_token()),
                            asio::bind_cancellation_slot(lost.slot(), asio::use_awaitable));
    co_return true; // the destructor gives the slot back
}

asio::awaitable<void> run_jobs(colimit::limiter& limiter) {
    const auto is_done = co_await run_job(limiter, "acme");
    BOOST_TEST(is_done);
    const auto left = co_await limiter.peek("acme", jobs);
    BOOST_TEST(left.rules[0].balance == 10);
    BOOST_TEST(left.rules[1].balance == 99);
    const auto* const key = "acme";
    const auto& policy = jobs;
    const auto place = co_await limiter.acquire(key, policy, {.max_wait = 2s});
    BOOST_TEST(static_cast<bool>(place));
}

BOOST_AUTO_TEST_CASE(slots) {
    run(run_jobs);
}

BOOST_AUTO_TEST_CASE(leases) {
    const auto tenant = policy{"tenant", gcra(1'000, 1s)}.with_leases(100ms);
    BOOST_TEST((tenant.leases() == 100ms));
    local_limiter limiter;
    BOOST_TEST(limiter.allow("acme", tenant).limit == 900);
}

BOOST_AUTO_TEST_CASE(keys) {
    const auto endpoint = asio::ip::tcp::endpoint{asio::ip::make_address("2001:db8::7"), 80};
    const auto* const id = "42";
    BOOST_TEST((key::address(endpoint.address()) == key::address("2001:db8::1")));
    BOOST_TEST(key::user(id).route("/login").part("eu").view() == "user=42;route=/login;part=eu");
    const auto* const tenant = "acme";
    BOOST_TEST(key::user(id).tagged(tenant).view() == "tag=acme;user=42");
    BOOST_TEST(key::global().part(tenant).tagged(tenant).view() == "tag=acme;global;part=acme");
    BOOST_TEST((key::user(id) != key::global() && key::user(id).address("::1") != key::user(id)));
}

BOOST_AUTO_TEST_CASE(texts) {
    for (const auto* text : {"100/s", "5/m burst 10 named login", "20 per 1m sliding_log",
                             "9/h token_bucket stepwise initially 0", "3 per month utc+8",
                             "5 per day calendar", "0.5/s leaky_bucket burst 10"})
        BOOST_TEST(parse_rules(text).size() == 1);
    BOOST_TEST(parse_rules("5/s burst 10; 100/h named hour").size() == 2);

    const auto set = parse_policies(R"(
    {"policies": {
      "api": "100/s; 5000/h named hour",
      "login": {
        "rules": ["5/s burst 10",
                  {"algorithm": "sliding_log", "limit": 20, "period": "1m", "name": "minute"}],
        "prevent_duplicate": "5s"
      }
    }}
    )");
    BOOST_TEST(set.at("login").size() == 2);
}

void watch_policies(asio::io_context& context) {
    colimit::policy_source_options options;
    options.reload_on_hangup = true; // besides watching the file
    options.on_event = [](const colimit::policy_event& e) { std::cerr << e << '\n'; }; // a log
    colimit::policy_source source{context.get_executor(), "policies.json", options};

    const auto document = source.current(); // one version, for as long as it is held
}

void follow_published_policies(asio::io_context& context, const colimit::config& settings) {
    colimit::policy_source_options options;
    options.copy = "/var/lib/app/policies.copy"; // the last good version, if Redis is away at start
    colimit::policy_source source{context.get_executor(), "policies.json", settings, options};
}

BOOST_AUTO_TEST_CASE(documents) {
    const auto document = parse_policy_document(R"(
    {"version": 7,
     "trusted_proxies": ["10.0.0.0/8"], "proxy_field": "X-Forwarded-For",
     "policies": {
       "api": {"rules": "100/s burst 200", "key": "user|ip"},
       "login": {"rules": "5/m", "key": "ip+route"}
     },
     "routes": [
       {"path": "/health", "policies": []},
       {"path": "/login", "methods": ["POST"], "policies": ["login", "api"]},
       {"path": "/api/*", "policy": "api"},
       {"path": "/*", "policy": "api"}
     ]}
    )");
    BOOST_TEST(document.policies_of(1).size() == 2U);
    BOOST_TEST((document.routes().find("GET", "/api/users") == 2U));
    asio::io_context context;
    const auto says_file = [](const colimit::error& e) {
        return e.reason() == "policies.json: cannot be read: No such file or directory";
    };
    BOOST_CHECK_EXCEPTION(watch_policies(context), colimit::error, says_file);
    config settings;
    settings.server = "redis://127.0.0.1:6379";
    BOOST_CHECK_EXCEPTION(follow_published_policies(context, settings), colimit::error, says_file);
}

asio::awaitable<void> change_rules(colimit::limiter& limiter) {
    const auto left = [&](const policy& p) -> asio::awaitable<std::int64_t> {
        const auto d = co_await limiter.peek("key", p);
        co_return d.remaining;
    };
    const auto named = policy{"named", gcra(10, 1h).named("hour")};
    co_await limiter.charge("key", named, {.cost = 4});
    BOOST_TEST(co_await left(policy{"named", gcra(20, 1h).named("hour")}) == 16);
    BOOST_TEST(co_await left(policy{"named", gcra(10, 1h).named("per_hour")}) == 10);
    BOOST_TEST(co_await left(policy{"other", gcra(10, 1h).named("hour")}) == 10);
    BOOST_TEST(co_await left(policy{"named", sliding_window(10, 1h).named("hour")}) == 10);
    // Buckets are one algorithm.
    BOOST_TEST(co_await left(policy{"named", token_bucket(10, 10, 1h).named("hour")}) == 6);
    // A policy made of a rule alone is named by the text of the rule.
    co_await limiter.charge("key", gcra(10, 1h), {.cost = 4});
    BOOST_TEST(co_await left(gcra(10, 1h)) == 6);
    BOOST_TEST(co_await left(gcra(20, 1h)) == 20);
}

BOOST_AUTO_TEST_CASE(changed_names_start_afresh) {
    run(change_rules);
}

asio::awaitable<void> call_with_a_clock_that_a_test_sets(asio::io_context& context) {
    const auto policy = colimit::policy{"api", gcra(1, 1h)};
    auto now = colimit::time_point{1h};
    colimit::config settings; // "memory:"
    settings.advanced.clock = [&now] { return now; };
    colimit::limiter limiter{context.get_executor(), settings};
    co_await limiter.charge("ada", policy);
    auto d = co_await limiter.allow("ada", policy);
    now += d.retry_after; // until here the call is denied, from here on it is allowed
    d = co_await limiter.allow("ada", policy);
    BOOST_TEST(d.allowed());
}

asio::awaitable<void> call_without_a_server(asio::io_context& context) {
    colimit::config settings;
    settings.server = "unix:/nonexistent";
    settings.on_failure = colimit::failure_mode::error;
    colimit::limiter limiter{context.get_executor(), settings};
    auto ec = error_code{};
    co_await limiter.allow("ada", gcra(1, 1h), asio::redirect_error(asio::use_awaitable, ec));
    BOOST_TEST((ec == condition::transient));
    limiter.close();
}

BOOST_AUTO_TEST_CASE(tests_of_programs) {
    asio::io_context context;
    auto failures = 0;
    const auto count = [&](const std::exception_ptr& e) { failures += e ? 1 : 0; };
    asio::co_spawn(context, call_with_a_clock_that_a_test_sets(context), count);
    asio::co_spawn(context, call_without_a_server(context), count);
    context.run();
    BOOST_TEST(failures == 0);
}

BOOST_AUTO_TEST_CASE(use_future_from_another_thread) {
    asio::io_context context;
    auto work = asio::make_work_guard(context);
    config settings;
    settings.thread_safe = true;
    colimit::limiter limiter{context.get_executor(), settings};
    std::thread thread{[&] { context.run(); }};
    const auto d = limiter.allow("key", gcra(10, 1h), asio::use_future).get();
    BOOST_TEST(d.remaining == 9);
    work.reset();
    thread.join();
}

} // namespace

namespace {

using text_response = boost::beast::http::response<boost::beast::http::string_body>;
using text_request = boost::beast::http::request<boost::beast::http::string_body>;

[[nodiscard]] text_response handle(const text_request& message) {
    return text_response{boost::beast::http::status::ok, message.version()};
}

} // namespace

BOOST_AUTO_TEST_CASE(a_server_with_the_middleware) {
    asio::io_context context;
    colimit::limiter limiter{context.get_executor(), "memory:"};
    struct {
        std::shared_ptr<const policy_document> document =
            std::make_shared<const policy_document>(parse_policy_document(R"({
                "policies": {"login": "1/m"},
                "routes": [{"path": "/login", "policy": "login"}]})"));
        [[nodiscard]] auto current() const { return document; }
    } source;
    const http::guard guard{limiter, [&] { return source.current(); }}; // once
    const auto message = text_request{boost::beast::http::verb::get, "//login/", 11};
    const auto peer = asio::ip::make_address("192.0.2.1");
    auto statuses = std::vector<unsigned>{};
    const auto answer = [&]() -> asio::awaitable<void> {
        auto verdict = co_await guard.check(http::view_of(message, peer)); // for each request
        auto response = verdict.allowed ? handle(message) : http::denial_of(message, verdict);
        http::add_fields(response, verdict);
        statuses.push_back(response.result_int());
        BOOST_TEST(response.count("RateLimit") == 1U);
    };
    for (int i = 0; i < 2; ++i) {
        asio::co_spawn(context, answer, asio::detached);
        context.run();
        context.restart();
    }
    BOOST_TEST((statuses == std::vector<unsigned>{200, 429}));
}

namespace {

asio::awaitable<void> handle(std::string_view /*user*/) {
    co_return;
}

asio::awaitable<int> serve(colimit::adaptive_limit& limit, colimit::limiter& limiter,
                           const colimit::policy& policy, std::string_view user) {
    auto work = limit.try_acquire(); // never waits
    if (!work)
        co_return 503; // Service Unavailable, with `Retry-After: 1`
    const auto d = co_await limiter.allow(user, policy);
    if (!d) {
        work.ignored(); // a denial is fast, and says nothing about the load
        co_return 429;  // Too Many Requests, with the fields of the decision
    }
    co_await handle(user); // an exception ends `work` as ignored
    co_return 200;         // `work` reports its latency when it is destroyed
}

/// At most half of what the process can serve, for each tenant.
class tenant_share {
  public:
    explicit tenant_share(const colimit::adaptive_limit& limit) : limit_{limit} {}

    const colimit::policy& policy() {
        const auto half =
            std::clamp<std::int64_t>(limit_.limit() / 2, 1, colimit::limits::max_concurrent);
        if (policy_.rules().front().capacity() != half)
            policy_ = share(half);
        return policy_; // for `limiter.acquire(tenant, shares.policy())`, with "memory:"
    }

  private:
    static colimit::policy share(std::int64_t slots) {
        return colimit::policy{"share", colimit::concurrent(slots).lease(30s)};
    }

    const colimit::adaptive_limit& limit_;
    colimit::policy policy_ = share(1);
};

} // namespace

BOOST_AUTO_TEST_CASE(an_adaptive_limit_drives_the_places_of_tenants) {
    colimit::adaptive_options options;
    options.gradient2.initial_limit = 8;
    options.gradient2.min_limit = 2;
    options.gradient2.queue_size = 1;
    colimit::adaptive_limit limit{options};
    tenant_share shares{limit};
    asio::io_context context;
    colimit::limiter limiter{context.get_executor(), "memory:"};
    const auto acquire = [&](std::string_view tenant) {
        auto result = limiter.acquire(tenant, shares.policy(), asio::use_future);
        while (result.wait_for(0s) != std::future_status::ready)
            BOOST_REQUIRE(context.run_one() == 1);
        context.restart();
        return result.get();
    };
    std::vector<colimit::slot> held;
    for (int i = 0; i < 4; ++i)
        BOOST_TEST(bool{held.emplace_back(acquire("a"))});
    BOOST_TEST(!acquire("a"));
    BOOST_TEST(bool{acquire("b")});

    auto now = colimit::adaptive_limit::time_point{} + 1h;
    const auto serve = [&](std::chrono::milliseconds latency, int times) {
        while (times-- > 0) {
            std::vector<colimit::adaptive_limit::permit> work;
            while (auto permit = limit.try_acquire(now))
                work.push_back(std::move(permit));
            now += latency;
            for (auto& permit : work)
                permit.succeeded(now);
        }
    };
    serve(20ms, 250);
    serve(200ms, 100);
    BOOST_TEST(limit.limit() < 8);
    held.pop_back();
    BOOST_TEST(!acquire("a")); // three of its calls have places
    held.clear();
    BOOST_TEST(bool{acquire("a")});
}

BOOST_AUTO_TEST_CASE(a_server_with_an_adaptive_limit) {
    colimit::adaptive_options options;
    options.gradient2.initial_limit = 64; // about as many as the process serves at a time
    options.gradient2.max_limit = 1000;
    colimit::adaptive_limit limit{options}; // one for the process
    asio::io_context context;
    colimit::limiter limiter{context.get_executor(), "memory:"};
    const colimit::policy once_a_minute{"minute", gcra(1, 1min)};
    const auto status = [&] {
        auto result =
            asio::co_spawn(context, serve(limit, limiter, once_a_minute, "ada"), asio::use_future);
        context.run();
        context.restart();
        return result.get();
    };
    BOOST_TEST(status() == 200);
    BOOST_TEST(status() == 429);
    BOOST_TEST(limit.in_flight() == 0);
    std::vector<colimit::adaptive_limit::permit> others;
    while (limit.in_flight() < limit.limit())
        others.push_back(limit.try_acquire());
    BOOST_TEST(others.size() == 64U);
    BOOST_TEST(status() == 503);
    BOOST_TEST((parse_adaptive_algorithm("brpc") == adaptive_algorithm::brpc));
}

BOOST_AUTO_TEST_SUITE_END()
