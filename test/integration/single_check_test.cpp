// SPDX-License-Identifier: BSL-1.0
//
// CL.THROTTLE and COLIMIT.ALLOW of the server module, on a real server: redis-cell's published
// results, what they refuse, and the states that they share with the library.
//
// Time passes by moving the stored state into the past, so no test waits. The periods are long, so
// that a slow machine does not change what is expected.

#include <core/state_encoding.hpp>
#include <policy/policy_data.hpp>
#include <support/live_limiter.hpp>
#include <support/redis_replica.hpp>
#include <support/server_module.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(single_check)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using std::chrono::microseconds;
using test::raw_client;
using test::redis_server;

/// With it the name of a key is the key.
const auto shared = policy{"CL.THROTTLE", cell(4, 1, 1000s)};

struct loaded_server {
    redis_server server{{.tcp = true, .arguments = test::with_server_module()}};
    raw_client client = server.connect();
};

[[nodiscard]] std::vector<std::int64_t> integers(const test::reply& r) {
    BOOST_TEST(!r.is_error(), r.text);
    auto all = std::vector<std::int64_t>{};
    for (const auto& e : r.elements)
        all.push_back(e.integer);
    return all;
}

[[nodiscard]] test::reply send(raw_client& client, const std::vector<std::string_view>& words) {
    auto bytes = std::string{};
    redis::resp::append_array(bytes, words.size());
    for (const auto word : words)
        redis::resp::append_bulk(bytes, word);
    client.send(bytes);
    return client.receive();
}

/// Returns the integers that follow the names in a reply of COLIMIT.ALLOW.
[[nodiscard]] std::vector<std::int64_t> fields(const test::reply& r) {
    constexpr std::string_view names[] = {"allowed", "limit", "remaining", "retry_after_ms",
                                          "reset_after_ms"};
    BOOST_TEST_REQUIRE(r.elements.size() == 10U, r.text);
    auto all = std::vector<std::int64_t>{};
    for (std::size_t i = 0; i < 5; ++i) {
        BOOST_TEST(r.elements[2 * i].text == names[i]);
        all.push_back(r.elements[2 * i + 1].integer);
    }
    return all;
}

/// Moves the state of a key into the past.
void pass(raw_client& client, std::string_view key, microseconds time) {
    const auto& rules = detail::access::data(shared)->compiled;
    auto state = core::decode_value(rules, client.get(key));
    state.states[0].t -= time.count();
    const auto value = core::encoded_value{rules, state, 0};
    (void)client.must({"SET", key, std::string_view{value}, "KEEPTTL"});
}

struct row {
    std::chrono::milliseconds time;
    std::string_view quantity;
    std::array<std::int64_t, 5> expected;
};

/// Times that are expected are in thousands of seconds, and may be a little shorter, as a moment
/// passes between two commands.
void check_row(const std::vector<std::int64_t>& found, const row& r) {
    BOOST_TEST_REQUIRE(found.size() == 5U);
    for (std::size_t i = 0; i < 3; ++i)
        BOOST_TEST(found[i] == r.expected[i]);
    for (std::size_t i = 3; i < 5; ++i) {
        const auto expected = r.expected[i] <= 0 ? r.expected[i] : r.expected[i] * 1'000;
        BOOST_TEST(found[i] <= expected);
        BOOST_TEST(found[i] >= (expected <= 0 ? expected : expected - 100));
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(an_example_of_redis_cell_has_its_reply) {
    auto s = loaded_server{};
    const auto found = integers(s.client.must({"CL.THROTTLE", "user123", "15", "30", "60"}));
    BOOST_TEST(found == (std::vector<std::int64_t>{0, 16, 15, -1, 2}));
    const auto without_burst = integers(s.client.must({"CL.THROTTLE", "k", "0", "1", "2", "1"}));
    BOOST_TEST(without_burst == (std::vector<std::int64_t>{0, 1, 0, -1, 2}));
}

BOOST_AUTO_TEST_CASE(the_published_rows_of_redis_cell_have_their_replies) {
    constexpr row rows[] = {{0ms, "6", {1, 5, 5, -1, 0}},    {0ms, "1", {0, 5, 4, -1, 1}},
                            {0ms, "1", {0, 5, 3, -1, 2}},    {0ms, "1", {0, 5, 2, -1, 3}},
                            {0ms, "1", {0, 5, 1, -1, 4}},    {0ms, "1", {0, 5, 0, -1, 5}},
                            {0ms, "1", {1, 5, 0, 1, 5}},     {3000ms, "1", {0, 5, 2, -1, 3}},
                            {4000ms, "1", {0, 5, 2, -1, 3}}, {8000ms, "1", {0, 5, 4, -1, 1}},
                            {9500ms, "1", {0, 5, 4, -1, 1}}, {9500ms, "0", {0, 5, 4, -1, 1}},
                            {9500ms, "2", {0, 5, 2, -1, 3}}, {9500ms, "5", {1, 5, 2, 3, 3}},
                            {15000ms, "6", {1, 5, 5, -1, 0}}};
    auto s = loaded_server{};
    auto now = 0ms;
    for (const auto& r : rows) {
        if (r.time != now)
            pass(s.client, "foo", 1'000 * (r.time - now)); // with the period of the policy
        now = r.time;
        check_row(integers(s.client.must({"CL.THROTTLE", "foo", "4", "1", "1000", r.quantity})), r);
    }
}

/// The examples of the module's README, in thousands of seconds.
BOOST_AUTO_TEST_CASE(what_was_used_stays_used_when_the_numbers_change) {
    auto s = loaded_server{};
    const auto call = [&s](std::string_view key, std::string_view period) {
        return integers(s.client.must({"CL.THROTTLE", key, "9", "10", period}));
    };
    for (auto i = 0; i < 10; ++i)
        (void)call("slower", "60000");
    check_row(call("slower", "600000"), {{}, {}, {1, 10, 0, 60, 600}});
    (void)call("faster", "600000");
    check_row(call("faster", "60000"), {{}, {}, {0, 10, 8, -1, 12}});
}

BOOST_AUTO_TEST_CASE(a_readable_reply_has_names_and_milliseconds) {
    auto s = loaded_server{};
    const auto allow = [&s](std::string_view cost) {
        return fields(s.client.must({"COLIMIT.ALLOW", "user:42", "10", "5", "1000s", cost}));
    };
    BOOST_TEST(allow("3") == (std::vector<std::int64_t>{1, 10, 7, 0, 600'000}));
    const auto denied = allow("8");
    BOOST_TEST(denied[0] == 0);
    BOOST_TEST(denied[2] == 7);
    BOOST_TEST(denied[3] <= 200'000);
    BOOST_TEST(denied[3] > 100'000);
    BOOST_TEST(allow("11")[3] == -1);
}

BOOST_AUTO_TEST_CASE(a_reply_is_a_map_in_resp3) {
    auto s = loaded_server{};
    (void)s.client.must({"HELLO", "3"});
    const auto r = s.client.must({"COLIMIT.ALLOW", "k", "10", "5", "1s"});
    const auto version = s.client.must({"INFO", "server"}).text;
    if (version.find("redis_version:6.") == std::string::npos)
        BOOST_TEST((r.kind == redis::resp::kind::map));
    BOOST_TEST(fields(r) == (std::vector<std::int64_t>{1, 10, 9, 0, 200}));
}

BOOST_AUTO_TEST_CASE(periods_have_units) {
    struct {
        std::string_view text;
        std::int64_t milliseconds;
    } const periods[] = {{"60s", 60'000},   {"60", 60'000},    {"1m", 60'000},    {"100ms", 100},
                         {"100000us", 100}, {"2h", 7'200'000}, {"1d", 86'400'000}};
    auto s = loaded_server{};
    for (const auto& [text, milliseconds] : periods) {
        const auto found = fields(s.client.must({"COLIMIT.ALLOW", text, "10", "1", text}));
        BOOST_TEST(found[4] == milliseconds);
    }
}

BOOST_AUTO_TEST_CASE(wrong_arguments_are_refused_with_what_is_expected) {
    struct {
        std::vector<std::string_view> words;
        std::string_view reason;
    } const refused[] = {
        {{"COLIMIT.ALLOW", "k", "10", "5"}, "wrong number of arguments"},
        {{"COLIMIT.ALLOW", "k", "10", "5", "1s", "1", "1"},
         "arguments: not the right number (expected key burst count period [cost])"},
        {{"COLIMIT.ALLOW", "k", "x", "5", "1s"}, "burst: not a number in range (expected"},
        {{"COLIMIT.ALLOW", "k", "10", "-5", "1s"}, "count: not a number in range (expected"},
        {{"COLIMIT.ALLOW", "k", "10", "5", "1w"}, "period: not a time (expected"},
        {{"COLIMIT.ALLOW", "k", "10", "5", "s"}, "period: not a time (expected"},
        {{"COLIMIT.ALLOW", "k", "10", "5", ""}, "period: not a time (expected"},
        {{"COLIMIT.ALLOW", "k", "10", "5", "99999999d"}, "period: too long (expected"},
        {{"COLIMIT.ALLOW", "k", "10", "5", "99999999999999999999"}, "period: not a number"},
        {{"COLIMIT.ALLOW", "k", "0", "5", "1s"}, "burst: not a number in range (expected"},
        {{"COLIMIT.ALLOW", "k", "9007199254740991", "5", "1d"},
         "limit: capacity times period is too"},
        {{"COLIMIT.ALLOW", "k", "10", "5", "1s", "1.5"}, "cost: not a number in range"},
        {{"CL.THROTTLE", "k", "10", "5", "60", "1", "1"},
         "arguments: not the right number (expected key max_burst count period [quantity])"},
        {{"CL.THROTTLE", "k", "-1", "5", "60"}, "max_burst: not a number in range"},
        {{"CL.THROTTLE", "k", "10", "0", "60"}, "count: not a number in range (expected"},
        {{"CL.THROTTLE", "k", "10", "5", "0"}, "limit: the period must be 1 us to 100 years"},
        {{"CL.THROTTLE", "k", "10", "5", "60", "-1"}, "quantity: not a number in range"},
        {{"CL.THROTTLE", "k", "10", "5", "60", "9007199254740992"}, "quantity: not a number"},
        {{"CL.THROTTLE", "k", "9007199254740991", "5", "60"}, "limit: the capacity must be 1 to"},
    };
    auto s = loaded_server{};
    for (const auto& [words, reason] : refused) {
        const auto r = send(s.client, words);
        BOOST_TEST(r.is_error());
        BOOST_TEST(r.text.find(reason) != std::string::npos, r.text);
        BOOST_TEST(r.text.find('\n') == std::string::npos);
    }
    BOOST_TEST(s.client.dbsize() == 0);
}

BOOST_AUTO_TEST_CASE(the_largest_numbers_do_not_overflow) {
    constexpr auto most = std::string_view{"9007199254740991"};
    auto s = loaded_server{};
    const auto all =
        integers(s.client.must({"CL.THROTTLE", "k", "9007199254740990", most, "1", most}));
    BOOST_TEST(all == (std::vector<std::int64_t>{0, 9'007'199'254'740'991, 0, -1, 1}));
    BOOST_TEST(integers(s.client.must({"CL.THROTTLE", "l", "0", "1", "3155760000", "1"})) ==
               (std::vector<std::int64_t>{0, 1, 0, -1, 3'155'760'000}));
}

namespace {

/// Keys with what others may store under them, none of it a state of the shared policy.
[[nodiscard]] std::vector<std::string> plant_other_values(raw_client& client) {
    const auto several = policy{"p", gcra(5, 1s).named("cell"), gcra(6, 1s).named("b")};
    const auto named = policy{"p", gcra(5, 1s)};
    auto state = core::key_state{};
    state.states.fill({.t = 1'750'000'000'000'000, .debt = 1, .num = 200'000, .capacity = 5});
    const auto value_of = [&state](const policy& p) {
        return std::string{core::encoded_value{detail::access::data(p)->compiled, state, 0}};
    };
    client.must({"SET", "text", "1700000000000000000"}); // as redis-cell writes it
    client.must({"SET", "empty", ""});
    client.must({"LPUSH", "list", "1"});
    client.must({"SET", "several", value_of(several)});
    client.must({"SET", "named", value_of(named)});
    client.must({"SET", "long", std::string(100'000, 'x')});
    return {"text", "empty", "list", "several", "named", "long"};
}

} // namespace

BOOST_AUTO_TEST_CASE(a_value_of_something_else_stays) {
    auto s = loaded_server{};
    for (const auto& key : plant_other_values(s.client))
        for (const auto* command : {"CL.THROTTLE", "COLIMIT.ALLOW"}) {
            const auto before = s.client.dump(key);
            const auto r = s.client({command, key, "4", "1", "60"});
            BOOST_TEST(r.text.starts_with("WRONGTYPE "), r.text);
            BOOST_TEST((s.client.dump(key) == before));
        }
    // That of another version of the limit is no other value.
    auto l = test::live{s.server.address()};
    l.run([&]() -> asio::awaitable<void> {
        const auto [ec, d] =
            co_await l.allow("other", policy{"CL.THROTTLE", gcra(5, 1s).named("cell")});
        BOOST_TEST(!ec, ec.message());
    });
    BOOST_TEST(!s.client({"CL.THROTTLE", "other", "4", "1", "60"}).is_error());
}

/// With the module, with the script and in each form in which a batch may list its calls.
BOOST_AUTO_TEST_CASE(a_value_of_something_else_is_a_conflict_for_the_library) {
    auto s = loaded_server{};
    for (const auto use : {module_use::required, module_use::never}) {
        auto l =
            test::live{s.server.address(), [use](config& c) { c.advanced.server_module = use; }};
        s.client.must({"FLUSHALL"});
        for (const auto& key : plant_other_values(s.client)) {
            const auto before = s.client.dump(key);
            auto codes = std::vector<error_code>{};
            const auto take = [&codes](error_code ec, const decision&) { codes.push_back(ec); };
            auto own = check_item{"own", shared};
            auto other = check_item{key, shared};
            auto checks = std::array{own, other};
            l.run([&]() -> asio::awaitable<void> {
                (void)co_await l.allow(key, shared);
                l.limiter.allow(key, shared, take); // several equal ones are one entry
                l.limiter.allow(key, shared, take);
                co_await test::until([&] { return codes.size() == 2U; });
                l.limiter.allow(key, shared, {.cost = 2}, take);
                l.limiter.peek(key, shared, take);
                l.limiter.charge(key, shared, take);
                l.limiter.refund(key, shared, take);
                l.limiter.block(key, shared, 1s, take);
                l.limiter.reset(key, shared, take);
                l.limiter.wait(key, shared, {.max_wait = 1s}, take);
                l.limiter.allow_all(checks, take);
                co_await test::until([&] { return codes.size() == 10U; });
            });
            for (const auto& code : codes)
                BOOST_TEST((code == errc::key_conflict), key << ": " << code.message());
            BOOST_TEST((s.client.dump(key) == before), key);
            BOOST_TEST(!s.client.get("own"));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_key_expires_after_its_recovery) {
    auto s = loaded_server{};
    (void)s.client.must({"COLIMIT.ALLOW", "k", "10", "1", "1000s", "2"});
    const auto ttl = s.client.pttl("k");
    BOOST_TEST(ttl > 2'000'000);
    BOOST_TEST(ttl <= 4'001'000);
    const auto value = s.client.get("k");
    (void)s.client.must({"COLIMIT.ALLOW", "k", "10", "1", "1000s", "9"}); // denied
    (void)s.client.must({"COLIMIT.ALLOW", "k", "10", "1", "1000s", "0"});
    BOOST_TEST((s.client.get("k") == value));
    (void)s.client.must({"COLIMIT.ALLOW", "never", "10", "1", "1000s", "11"});
    (void)s.client.must({"COLIMIT.ALLOW", "asked", "10", "1", "1000s", "0"});
    BOOST_TEST(s.client.dbsize() == 1);
}

BOOST_AUTO_TEST_CASE(a_denial_does_not_end_a_transaction_that_watches_the_key) {
    auto s = loaded_server{};
    auto watching = s.server.connect();
    (void)s.client.must({"CL.THROTTLE", "k", "0", "1", "1000"});
    const auto is_changed_by = [&](std::string_view quantity) {
        (void)watching.must({"WATCH", "k"});
        (void)s.client.must({"CL.THROTTLE", "k", "4", "1", "1000", quantity});
        (void)watching.must({"MULTI"});
        (void)watching.must({"PING"});
        return watching.must({"EXEC"}).is_null();
    };
    BOOST_TEST(!is_changed_by("6"));
    BOOST_TEST(is_changed_by("1"));
}

BOOST_AUTO_TEST_CASE(transactions_and_scripts_may_check) {
    auto s = loaded_server{};
    const auto script = "return redis.call('CL.THROTTLE', KEYS[1], 4, 1, 1000)";
    BOOST_TEST(integers(s.client.must({"EVAL", script, "1", "k"}))[2] == 4);
    (void)s.client.must({"MULTI"});
    (void)s.client.must({"CL.THROTTLE", "k", "4", "1", "1000"});
    (void)s.client.must({"COLIMIT.ALLOW", "k", "5", "1", "1000"});
    const auto both = s.client.must({"EXEC"});
    BOOST_TEST_REQUIRE(both.elements.size() == 2U);
    BOOST_TEST(integers(both.elements[0])[2] == 3);
    BOOST_TEST(fields(both.elements[1])[2] == 2);
}

BOOST_AUTO_TEST_CASE(a_full_server_refuses_single_checks) {
    auto s = loaded_server{};
    (void)s.client.must({"CL.THROTTLE", "k", "4", "1", "1000"});
    const auto value = s.client.get("k");
    (void)s.client.must({"CONFIG", "SET", "maxmemory", "1"});
    for (const auto* command : {"CL.THROTTLE", "COLIMIT.ALLOW"})
        BOOST_TEST(s.client({command, "k", "4", "1", "1000"}).text.starts_with("OOM "));
    BOOST_TEST((s.client.get("k") == value));
}

/// Such a server is at its limit most of the time, and over it while a command runs.
BOOST_AUTO_TEST_CASE(a_server_that_evicts_refuses_no_checks) {
    auto s = loaded_server{};
    const auto check = [&s](int i) {
        return s.client({"COLIMIT.ALLOW", "k" + std::to_string(i), "4", "1", "1000"});
    };
    auto made = 0;
    for (; made < 1'000; ++made)
        BOOST_TEST(!check(made).is_error());
    const auto memory = s.client.must({"INFO", "memory"}).text;
    const auto used_at = memory.find("used_memory:") + std::string{"used_memory:"}.size();
    const auto used = memory.substr(used_at, memory.find('\r', used_at) - used_at);
    (void)s.client.must({"CONFIG", "SET", "maxmemory-policy", "allkeys-random"});
    (void)s.client.must({"CONFIG", "SET", "maxmemory-eviction-tenacity", "100"});
    (void)s.client.must({"CONFIG", "SET", "maxmemory", used});
    for (const auto end = made + 1'000; made < end; ++made) {
        const auto r = check(made);
        BOOST_TEST_REQUIRE(!r.is_error(), r.text);
    }
    BOOST_TEST(s.client.must({"DBSIZE"}).integer < made);
}

BOOST_AUTO_TEST_CASE(a_replica_without_the_module_has_the_same_states) {
    auto s = loaded_server{};
    auto replica = test::redis_replica{s.server};
    auto& copy = replica.client;
    for (auto i = 0; i < 20; ++i) {
        const auto key = "k" + std::to_string(i % 3);
        (void)s.client.must({"CL.THROTTLE", key, "4", "1", "1000"});
        (void)s.client.must({"COLIMIT.ALLOW", key, "50", "10", "1m", "3"});
    }
    BOOST_TEST(s.client.must({"WAIT", "1", "60000"}).integer == 1);
    BOOST_TEST(copy.keys().size() == 3U);
    for (const auto& key : copy.keys()) {
        BOOST_TEST((copy.get(key) == s.client.get(key)));
        const auto difference = s.client.pttl(key) - copy.pttl(key);
        BOOST_TEST(std::abs(difference) < 60'000);
    }
}

BOOST_AUTO_TEST_CASE(the_library_shares_the_states) {
    auto s = loaded_server{};
    for (const auto use : {true, false}) {
        auto l = test::live{s.server.address(), [use](config& c) {
                                c.advanced.server_module =
                                    use ? module_use::if_available : module_use::never;
                            }};
        const auto key = std::string{use ? "user:{1}" : "user:2"};
        l.run([&]() -> asio::awaitable<void> {
            auto [ec, d] = co_await l.allow(key, shared);
            BOOST_TEST(!ec);
            BOOST_TEST(d.remaining == 4);
            const auto found = integers(s.client.must({"CL.THROTTLE", key, "4", "1", "1000"}));
            BOOST_TEST(found[2] == 3);
            const auto fields_found =
                fields(s.client.must({"COLIMIT.ALLOW", key, "5", "1", "1000s", "2"}));
            BOOST_TEST(fields_found[2] == 1);
            std::tie(ec, d) = co_await l.allow(key, shared);
            BOOST_TEST(d.remaining == 0);
            co_await l.limiter.block(key, shared, 5000s, asio::use_awaitable);
            check_row(integers(s.client.must({"CL.THROTTLE", key, "4", "1", "1000"})),
                      {0ms, "1", {1, 0, 0, 5, 5}});
            co_await l.limiter.reset(key, shared, asio::use_awaitable);
        });
        BOOST_TEST(s.client.dbsize() == 0);
    }
}

BOOST_AUTO_TEST_CASE(the_library_checks_several_such_keys_at_once) {
    auto s = loaded_server{};
    auto l = test::live{s.server.address()};
    const auto other = policy{"p", gcra(5, 1000s)};
    l.run([&]() -> asio::awaitable<void> {
        auto checks = std::vector<check_item>{{"a", shared}, {"b", shared}, {"a", other}};
        const auto d = co_await l.limiter.allow_all(checks, asio::use_awaitable);
        BOOST_TEST(d.allowed());
    });
    for (const auto* key : {"a", "b"})
        BOOST_TEST(integers(s.client.must({"CL.THROTTLE", key, "4", "1", "1000"}))[2] == 3);
    BOOST_TEST(s.client.dbsize() == 3);
}

BOOST_AUTO_TEST_SUITE_END()
