// SPDX-License-Identifier: BSL-1.0
//
// What the server module tells replicas and the AOF: they have the same states as the server, of
// each storage and after each verb, whether they get the effects or the command.

#include <support/live_limiter.hpp>
#include <support/redis_replica.hpp>
#include <support/server_module.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/co_spawn.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(module_replication)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using words = std::vector<std::string>;

/// So long that nothing expires or comes back while a test runs.
constexpr auto period = 24h * 365;

const policy policies[] = {
    policy{"plain", gcra(9, period), fixed_window(12, period)},
    policy{"log", sliding_log(9, period)},
    policy{"members", distinct(7, period)},
    policy{"packed", gcra(9, period)}.with_storage(storage::shared_hash),
};
const auto filter = bloom_filter{"ids", {.capacity = 1'000, .ttl = period}};

[[nodiscard]] words with_module(std::string_view propagation, const words& others) {
    auto all = test::with_server_module();
    all.insert(all.end(), {"replicate", std::string{propagation}, "--enable-debug-command", "yes"});
    all.insert(all.end(), others.begin(), others.end());
    return all;
}

asio::awaitable<void> make_call(limiter& l, int n) {
    const auto& p = policies[n % 4];
    const auto key = "k" + std::to_string(n % 3);
    const auto member = std::to_string(n % 11);
    const auto is_distinct = p.name() == "members";
    const auto by = is_distinct ? std::optional<std::string_view>{member} : std::nullopt;
    switch (n / 4 % 16) {
    case 3:
        (void)co_await l.charge(key, p, {.cost = 2, .member = by});
        break;
    case 5:
        (void)co_await l.refund(key, p);
        break;
    case 7:
        if (p.name() != "packed") // a block would keep its states for longer
            (void)co_await l.block(key, p, 1h);
        break;
    case 9:
        (void)co_await l.reset(key, p);
        break;
    case 11:
        (void)co_await l.peek(key, p, {.member = by});
        break;
    case 13:
        (void)co_await l.seen("id" + std::to_string(n), filter);
        break;
    default:
        (void)co_await l.allow(key, p, {.member = by});
    }
}

/// Makes calls, most of them in batches of several.
void make_calls(const std::string& address) {
    constexpr auto callers = 32;
    constexpr auto calls = 24; // of each
    auto l = test::live{address, [](config& c) {
                            c.advanced.server_module = module_use::required;
                            c.timeout = test::patience;
                        }};
    auto running = callers;
    for (auto i = 0; i < callers; ++i)
        asio::co_spawn(
            l.context,
            [&, i]() -> asio::awaitable<void> {
                for (auto n = 0; n < calls; ++n)
                    co_await make_call(l.limiter, i + n * callers);
                --running;
            },
            test::rethrow);
    test::run_until(l.context, [&] { return running == 0; });
}

/// The digest of all values, and when each key expires.
[[nodiscard]] words state_of(test::raw_client& server) {
    auto state = words{server.must({"DEBUG", "DIGEST"}).text};
    for (const auto& key : server.keys())
        state.push_back(key + ' ' + std::to_string(server.must({"PEXPIRETIME", key}).integer));
    return state;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_replica_has_the_same_states_and_needs_the_module_for_commands_only) {
    for (const auto* propagation : {"effects", "command"}) {
        const auto server = test::redis_server{
            {.tcp = true,
             .arguments = with_module(propagation, {"--repl-diskless-sync-delay", "0"})}};
        const auto has_module = propagation == std::string_view{"command"};
        auto replica =
            test::redis_replica{server, has_module ? with_module(propagation, {})
                                                   : words{"--enable-debug-command", "yes"}};
        auto look = server.connect();
        auto& copy = replica.client;
        make_calls(server.address());
        look.must({"SET", "last", ""}); // WAIT is about the writes of its own connection
        BOOST_TEST(look.must({"WAIT", "1", "60000"}).integer == 1);
        BOOST_TEST(look.dbsize() > 10);
        BOOST_TEST(state_of(copy) == state_of(look), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(a_server_that_loads_its_aof_has_the_same_states) {
    for (const auto* propagation : {"effects", "command"}) {
        const auto server =
            test::redis_server{{.arguments = with_module(propagation, {"--appendonly", "yes"})}};
        make_calls(server.address());
        auto look = server.connect();
        const auto before = state_of(look);
        look.must({"DEBUG", "LOADAOF"});
        BOOST_TEST(state_of(look) == before, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_SUITE_END()
