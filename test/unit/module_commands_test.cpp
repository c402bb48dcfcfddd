// SPDX-License-Identifier: BSL-1.0
//
// Commands of the server module in a fake server: arguments, foreign values, a full server,
// replicas, transactions and scripts, and what is propagated.

#include <core/state_encoding.hpp>
#include <server_module/check_words.hpp>
#include <server_module/fake_server.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(module_commands)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using detail::verb;
using test::call_bytes;
using test::check_words;
using test::fake::server;
using test::fake::words;
namespace fake = test::fake;

const auto bucket = policy{"p", gcra(3, 24h * 365)};
const auto log_rule = policy{"p", sliding_log(3, 24h * 365)};
const auto places = policy{"p", concurrent(3).lease(1h)};
const auto mixed = policy{"p", gcra(3, 1h), concurrent(3).lease(1h)};
const auto events = policy{"p", sliding_log(3, 1h)};
const auto members = policy{"p", distinct(3, 24h * 365)};
const auto packed = policy{"p", gcra(3, 24h * 365)}.with_storage(storage::shared_hash);

struct loaded : server {
    explicit loaded(const words& arguments = {}) { BOOST_TEST_REQUIRE(load(arguments)); }
};

/// Returns the last element of a reply without the nonce and the time: `granted statuses`.
[[nodiscard]] std::string header(const std::string& reply) {
    auto text = reply.substr(0, reply.size() - 2);
    text.erase(0, text.rfind('\n') + 1);
    for (auto words = 0; words < 3; ++words)
        text.erase(0, text.find(' ') + 1);
    return text;
}

[[nodiscard]] std::string header_of(server& s, const words& command) {
    return header(s.run(command));
}

[[nodiscard]] std::string bytes_of(server& s, const std::string& key) {
    auto* found = s.keys.find(key);
    auto* text = found == nullptr ? nullptr : std::get_if<fake::bytes>(&found->content);
    return text == nullptr ? "(none)" : std::string{text->view()};
}

void plant_list(server& s, const std::string& key) {
    BOOST_TEST(s.keys.execute({"RPUSH", key, "x"}).has_value());
}

} // namespace

BOOST_AUTO_TEST_CASE(wrong_arguments_name_what_is_expected) {
    auto s = loaded{};
    struct refused {
        words command;
        std::string_view error;
    };
    const auto range = std::string{"(expected a whole number from 0 to 9007199254740991)"};
    const refused all[] = {
        {{"COLIMIT.ALLOW", "k", "1", "1"}, "wrong number of arguments"},
        {{"COLIMIT.ALLOW", "k", "1", "1", "1", "1", "1"}, "arguments: not the right number"},
        {{"COLIMIT.ALLOW", "k", "-1", "1", "1"}, "burst: not a number in range"},
        {{"COLIMIT.ALLOW", "k", "1", "9007199254740992", "1"}, "count: not a number in range"},
        {{"COLIMIT.ALLOW", "k", "0", "1", "1"},
         "burst: not a number in range (expected a whole "
         "number from 1 to 9007199254740991)"},
        {{"COLIMIT.ALLOW", "k", "1", "0", "1"}, "(expected a whole number from 1 to "},
        {{"COLIMIT.ALLOW", "k", "1", "1", "1", "-0"},
         "cost: not a number in range (expected a "
         "whole number from 0 to "},
        {{"CL.THROTTLE", "k", "-0", "1", "1"},
         "max_burst: not a number in range (expected a "
         "whole number from 0 to "},
        {check_words(bucket, {"k"}, "", "-0"), "clock: not a time"},
        {{"COLIMIT.ALLOW", "k", "1", "1", "1w"}, "period: not a time"},
        {{"COLIMIT.ALLOW", "k", "1", "1", "36526d"}, "period: too long"},
        {{"COLIMIT.ALLOW", "k", "1", "1", "1", "x"}, "cost: not a number in range"},
        {{"CL.THROTTLE", "k", "1", "1", ""}, "period: not a time"},
        {{"COLIMIT.CHECK", "x"}, "numkeys: not a number in range"},
        {{"COLIMIT.CHECK", "2", "k"}, "numkeys: not a number of keys"},
        {{"COLIMIT.CHECK", "1", "k", "p"}, "arguments: too few after the keys"},
        {{"COLIMIT.CHECK", "1", "k", "p", "7", "", "0", ""}, "colimit.check: "},
        {check_words(bucket, {"k"}, "x2345"), "call 1: cut off"},
        {check_words(bucket, {"k"}, call_bytes(1, verb::allow, 1)), "call 1: no such key"},
        {check_words(bucket, {"k"}, call_bytes(0, verb::allow, 0.5)), "call 1: cost or at_least"},
        {check_words(bucket, {"k"}, call_bytes(0, verb::inspect, 1)), "call 1: not a verb ("},
        {check_words(events, {"k", "l"}, call_bytes(0, verb::once, 1)),
         "call 1: not a verb of the policy (expected once of a policy without logs)"},
        {check_words(bucket, {"k"}, call_bytes(0, verb::block, 36525.0 * 86400e6 + 1)),
         "call 1: the duration is too long"},
        {check_words(bucket, {"k"}, call_bytes(0, verb::allow, 1, 0)), "call 1: times is 0"},
        {check_words(bucket, {"k"}, std::string(1, '\0')), "call 1: times is 0"},
        {check_words(bucket, {"k"}, call_bytes(0, verb::acquire, 1)),
         "call 1: not a verb of the policy"},
        {check_words(places, {"k", "s"}, call_bytes(0, verb::acquire, 1)),
         "policy: has a concurrent rule, which the script executes (expected other rules)"},
        {check_words(mixed, {"k", "s"}), "policy: has a concurrent rule"},
        {check_words(members, {"k", "s"}, call_bytes(0, verb::allow, 1)), "call 1: a member is"},
        {check_words(log_rule, {"k"}), "numkeys: too few keys"},
        {check_words(bucket, {"k"}, "", "soon"), "clock: not a time"},
        {check_words(bucket, {"k"}, "", "4503599627370497"), "clock: not a time"},
        {check_words(bucket, {"k"}, "", "@5"), "clock: not a time"},
        {{"COLIMIT.SEEN", "1", "k", "f", "7", "", "0", ""}, "colimit.seen: "},
    };
    for (const auto& [command, error] : all) {
        const auto got = s.run(command);
        BOOST_TEST(got.starts_with("-ERR "));
        BOOST_TEST(got.find(error) != std::string::npos, got << " lacks " << error);
        BOOST_TEST(s.keys.keys().empty(), got);
        BOOST_TEST(s.propagated.empty());
        BOOST_TEST(s.dirty == 0);
    }
}

/// The length of a command bounds its entries, not the calls that they are.
BOOST_AUTO_TEST_CASE(the_work_of_a_command_is_bounded) {
    const auto eight = [] {
        auto rules = std::vector<rule>{};
        for (auto i = 0; i < 8; ++i)
            rules.push_back(sliding_log(3, 1h).named("r" + std::to_string(i)));
        return policy{"p", std::span<const rule>{rules}};
    }();
    const auto twice = call_bytes(0, verb::charge, 1, 32'768) + call_bytes(0, verb::charge, 1);
    const auto often = [](std::uint16_t times) { return call_bytes(0, verb::peek, 1, times); };
    const struct {
        policy of;
        words keys;
        std::string calls;
        bool is_made;
    } all[] = {
        {bucket, {"k"}, twice.substr(0, twice.size() / 2) + twice, false},
        {bucket, {"k"}, twice, true},
        {log_rule, {"k", "log"}, often(65'536 / 17), true},
        {log_rule, {"k", "log"}, often(65'536 / 17 + 1), false},
        {eight, {"k", "log"}, often(65'536 / 129), true},
        {eight, {"k", "log"}, often(300) + often(300), false},
        {eight, {"k", "log"}, std::string{'\xff', '\xff'}, false},
        {members, {"k", "sketch"}, often(65'536 / 17 + 1) + std::string(2, '\0'), false},
    };
    for (const auto& one : all) {
        auto s = loaded{};
        const auto got = s.run(check_words(one.of, one.keys, one.calls));
        const auto refused =
            got.find("too many calls in one command (expected at most 65536") != std::string::npos;
        BOOST_TEST(refused == !one.is_made, got.substr(0, 200));
        BOOST_TEST((one.is_made || s.keys.keys().empty()));
    }
    auto equal = std::string{};
    for (auto i = 0; i < 100; ++i)
        equal += call_bytes(0, verb::allow, 1, 65'535);
    auto s = loaded{};
    BOOST_TEST(header_of(s, check_words(bucket, {"k"}, equal)) == "3 -");
}

/// Also from one shard to another.
BOOST_AUTO_TEST_CASE(calls_are_on_the_keys_of_a_policy_in_any_order) {
    const auto command = [](std::vector<std::uint16_t> order) {
        auto calls = std::string{};
        for (const auto key : order)
            calls += call_bytes(key, verb::charge, 1 + key);
        auto out = check_words(packed, {"new1", "old1", "new2", "old2"}, calls, "1700000000000000");
        auto& sizes = out.emplace_back();
        detail::append_number(sizes, std::uint16_t{2});
        detail::append_number(sizes, std::uint16_t{1});
        out.insert(out.end(), {"a", "b", "c"});
        return out;
    };
    auto in_order = loaded{};
    const auto expected = in_order.run(command({0, 1, 2}));
    for (auto order = std::vector<std::uint16_t>{0, 1, 2};
         std::ranges::next_permutation(order).found;) {
        auto s = loaded{};
        BOOST_TEST(s.run(command(order)) == expected);
        for (const auto* hash : {"new1", "new2", "old1", "old2"})
            BOOST_TEST(s.keys.text_of(hash) == in_order.keys.text_of(hash));
    }
}

BOOST_AUTO_TEST_CASE(foreign_values_stay) {
    for (const auto* propagation : {"effects", "command"}) {
        auto s = loaded{{"replicate", propagation}};
        s.has_backlog = true;
        plant_list(s, "k");
        const auto before = s.keys.text_of("k");
        for (const auto* command : {"COLIMIT.ALLOW", "CL.THROTTLE"})
            BOOST_TEST(s.run({command, "k", "1", "1", "60"}).starts_with("-WRONGTYPE "));
        for (const auto& p : {bucket, policy{"p", fixed_window(3, 1h)}, policy{"p", gcra(3, 1h)}})
            BOOST_TEST(header_of(s, check_words(p, {"k"})) == "1 c");
        BOOST_TEST(header_of(s, check_words(bucket, {"k", "l"})) == "2 c.");
        // Calls on a state of another type end that key.
        BOOST_TEST(header_of(s, check_words(log_rule, {"new", "k"})) == "0 e");
        BOOST_TEST(s.keys.text_of("k") == before);
    }
}

/// What needs no memory is done, the rest is refused.
BOOST_AUTO_TEST_CASE(a_full_server) {
    auto s = loaded{};
    BOOST_TEST(header_of(s, check_words(bucket, {"k"})) == "1 -");
    const auto charged = s.keys.text_of("k");
    s.is_full = true;
    s.flags = fake::is_over_maxmemory;
    BOOST_TEST(s.run({"COLIMIT.ALLOW", "k", "1", "1", "60"}).starts_with("-OOM "));
    BOOST_TEST(s.run({"CL.THROTTLE", "k", "1", "1", "60"}).starts_with("-OOM "));
    const auto refused = s.run(check_words(bucket, {"k", "l"}));
    BOOST_TEST(header(refused) == "2 ee"); // granted before it could not be written
    BOOST_TEST(refused.find("OOM command not allowed when used memory > 'maxmemory'.") !=
               std::string::npos);
    BOOST_TEST(s.keys.text_of("k") == charged);
    BOOST_TEST(s.keys.find("l") == nullptr);
    BOOST_TEST(s.dirty == 0);
    BOOST_TEST(header_of(s, check_words(bucket, {"k"}, call_bytes(0, verb::peek, 1))) == "1 -");
    BOOST_TEST(header_of(s, check_words(bucket, {"k"}, call_bytes(0, verb::reset, 0))) == "0 -");
    BOOST_TEST(s.keys.find("k") == nullptr);

    // It evicts, so it is over the limit and takes commands all the same.
    s.is_full = false;
    BOOST_TEST(header_of(s, check_words(bucket, {"k", "l"})) == "2 -");
}

BOOST_AUTO_TEST_CASE(a_replica_takes_commands_from_its_master_only) {
    auto s = loaded{};
    s.flags = fake::is_replica;
    const words commands[] = {{"COLIMIT.ALLOW", "k", "1", "1", "60"},
                              {"CL.THROTTLE", "k", "1", "1", "60"},
                              check_words(bucket, {"k"}),
                              check_words(bucket, {"k"}, "", "@1700000000000000")};
    for (const auto& c : commands)
        BOOST_TEST(s.run(c).starts_with("-READONLY "));
    s.flags = fake::is_replica | fake::from_master;
    // Its time is that of the master, and a TTL that has passed since then ends the key.
    BOOST_TEST(s.run(commands[3]).find("7 1700000000 0 1 -") != std::string::npos);
    s.flags = fake::is_loading;
    BOOST_TEST(s.run(commands[3]).find("7 1700000000 0 1 -") != std::string::npos);
    s.flags = 0;
    BOOST_TEST(s.run(commands[3]).starts_with("-ERR colimit.check: clock: not a time"));
}

/// The module does the same there as for a client alone.
BOOST_AUTO_TEST_CASE(transactions_and_scripts) {
    const auto clock = std::string{"1700000000000000"};
    const words commands[] = {check_words(bucket, {"k"}, "", clock),
                              check_words(log_rule, {"k", "log"}, "", clock),
                              {"COLIMIT.ALLOW", "k", "1", "1", "60"}};
    for (const auto flags :
         {fake::in_transaction, fake::from_script, fake::in_transaction | fake::from_script}) {
        for (const auto& c : commands) {
            auto alone = loaded{};
            auto within = loaded{};
            alone.has_backlog = within.has_backlog = true;
            within.flags = flags;
            for (auto i = 0; i < 3; ++i)
                BOOST_TEST(alone.run(c) == within.run(c));
            BOOST_TEST(alone.propagated.size() == within.propagated.size());
        }
    }
}

/// The library never names a sketch twice, but others may.
BOOST_AUTO_TEST_CASE(rules_that_share_a_sketch_are_propagated_in_order) {
    const auto two = policy{"p", distinct(3, 1h), distinct(3, 24h * 365).named("long")};
    auto master = loaded{};
    auto replica = loaded{};
    master.has_backlog = true;
    auto call = call_bytes(0, verb::allow, 1);
    detail::append_number(call, std::uint16_t{1});
    call += 'm';
    for (auto calls = 0; calls < 3; ++calls) { // the first sketch has ended, the other one has not
        BOOST_TEST(header_of(master, check_words(two, {"k", "s", "s"}, call)) == "1 -");
        replica.now_us = master.now_us;
        replica.keys.begin(master.now_ms(), true);
        for (const auto& c : master.propagated)
            replica.repeat(c);
        BOOST_TEST(replica.keys.text_of("s") == master.keys.text_of("s"));
        master.now_us += 7'200'000'000;
    }
}

BOOST_AUTO_TEST_CASE(what_is_propagated) {
    auto s = loaded{};
    s.has_backlog = true;
    (void)s.run({"COLIMIT.ALLOW", "k", "3", "1", "60"});
    BOOST_TEST_REQUIRE(s.propagated.size() == 1U);
    BOOST_TEST(s.propagated[0][0] == "SET");
    BOOST_TEST(s.propagated[0][2] == bytes_of(s, "k"));
    BOOST_TEST(s.propagated[0][3] == "PXAT");
    BOOST_TEST(s.signalled.contains("k"));
    (void)s.run({"COLIMIT.ALLOW", "k", "3", "1", "60", "4"}); // a denial
    BOOST_TEST(s.propagated.empty());
    BOOST_TEST(s.signalled.empty());
    BOOST_TEST(s.dirty == 0);
    // A command without a clock among its arguments propagates effects in any case.
    auto c = loaded{{"replicate", "command"}};
    c.has_backlog = true;
    (void)c.run({"COLIMIT.ALLOW", "k", "3", "1", "60"});
    BOOST_TEST_REQUIRE(c.propagated.size() == 1U);
    BOOST_TEST(c.propagated[0][0] == "SET");

    (void)c.run(check_words(bucket, {"l"}));
    BOOST_TEST_REQUIRE(c.propagated.size() == 1U);
    BOOST_TEST(c.propagated[0][0] == "colimit.check");
    BOOST_TEST(c.propagated[0][5].starts_with('@'));
    // With a clock of its caller the TTLs are relative, and in a cluster keys may be moving.
    (void)c.run(check_words(bucket, {"m"}, "", "1700000000000000"));
    BOOST_TEST(c.propagated.at(0)[0] == "SET");
    c.flags = fake::in_cluster;
    (void)c.run(check_words(bucket, {"n"}));
    BOOST_TEST(c.propagated.at(0)[0] == "SET");
    // A part was refused, so the command must not be repeated whole.
    c.flags = fake::is_over_maxmemory;
    c.is_full = true;
    (void)c.run(check_words(bucket, {"l", "o"},
                            call_bytes(0, verb::refund, 1) + call_bytes(1, verb::allow, 1)));
    BOOST_TEST_REQUIRE(c.propagated.size() == 1U);
    BOOST_TEST(c.propagated[0][0] != "colimit.check");
}

/// INFO is asked again only after something by which one may begin to listen.
BOOST_AUTO_TEST_CASE(effects_are_made_as_soon_as_one_may_listen) {
    const words allow = {"COLIMIT.ALLOW", "k", "100", "1", "60"};
    constexpr std::uint64_t role_changed = 0;
    auto s = loaded{};
    for (auto i = 0; i < 3; ++i) {
        (void)s.run(allow);
        BOOST_TEST(s.calls == 1);
        BOOST_TEST(s.dirty == 1); // for `save`
    }
    s.flags = fake::has_aof;
    (void)s.run(allow);
    BOOST_TEST(s.propagated.size() == 1U);
    s.flags = fake::in_cluster;
    (void)s.run(allow);
    BOOST_TEST(s.propagated.size() == 1U);
    s.flags = 0;
    s.accept_replica();
    for (auto i = 0; i < 3; ++i) {
        (void)s.run(allow);
        BOOST_TEST_REQUIRE(s.propagated.size() == 1U);
        BOOST_TEST(s.propagated[0][0] != "COLIMIT.ALLOW");
        BOOST_TEST(s.calls == 2);
    }
    // A replica has a backlog, with which others may continue when it has become a master.
    auto replica = loaded{};
    (void)replica.run(allow);
    replica.has_backlog = true;
    replica.fire(role_changed, 0);
    (void)replica.run(allow);
    BOOST_TEST_REQUIRE(replica.propagated.size() == 1U);
    BOOST_TEST(replica.propagated[0][0] != "COLIMIT.ALLOW");
    // While it loads, nothing is remembered.
    auto loading = loaded{};
    loading.flags = fake::is_loading;
    (void)loading.run(allow);
    BOOST_TEST(loading.calls == 0);
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_tell_of_forks_gets_all_effects) {
    auto s = server{{"RedisModule_SubscribeToServerEvent"}};
    BOOST_TEST_REQUIRE(s.load());
    (void)s.run({"COLIMIT.ALLOW", "k", "100", "1", "60"});
    s.has_backlog = true;
    (void)s.run({"COLIMIT.ALLOW", "k", "100", "1", "60"});
    BOOST_TEST_REQUIRE(s.propagated.size() == 1U);
    BOOST_TEST(s.propagated[0][0] != "COLIMIT.ALLOW");
    BOOST_TEST(s.calls == 0);
}

/// Both directions are in the table of differences from redis-cell.
BOOST_AUTO_TEST_CASE(tokens_that_were_used_stay_as_many_if_the_rate_changes) {
    const auto throttle = [](server& s, const std::string& period) {
        return s.run({"CL.THROTTLE", "k", "9", "10", period});
    };
    auto slower = loaded{};
    for (auto i = 0; i < 10; ++i)
        (void)throttle(slower, "60");
    BOOST_TEST(throttle(slower, "600") == "*5\r\n:1\r\n:10\r\n:0\r\n:60\r\n:600\r\n");
    auto faster = loaded{};
    (void)throttle(faster, "600");
    BOOST_TEST(throttle(faster, "60") == "*5\r\n:0\r\n:10\r\n:8\r\n:-1\r\n:12\r\n");
}

/// As by the script, which reads all values first.
BOOST_AUTO_TEST_CASE(a_key_that_is_named_twice_is_charged_once) {
    const auto clock = std::string{"1700000000000000"};
    for (const auto& p : {bucket, policy{"p", gcra(3, 1h), fixed_window(3, 1h)}}) {
        auto once = loaded{};
        auto twice = loaded{};
        (void)once.run(check_words(p, {"k"}, "", clock));
        // The second one finds a key that was not there.
        BOOST_TEST(header_of(twice, check_words(p, {"k", "k"}, "", clock)) == "2 .c");
        BOOST_TEST(bytes_of(once, "k") == bytes_of(twice, "k"));
        (void)once.run(check_words(p, {"l", "k", "m"}, "", clock));
        BOOST_TEST(header_of(twice, check_words(p, {"k", "l", "k", "m", "k"}, "", clock)) == "5 -");
        BOOST_TEST(bytes_of(once, "k") == bytes_of(twice, "k"));
    }
}

/// The state of a key is found, erased, and then the log of another key is there: any string may be
/// replaced.
BOOST_AUTO_TEST_CASE(a_name_that_is_a_key_and_a_log) {
    const auto p = policy{"p", sliding_log(3, 1h), gcra(3, 1h)};
    auto s = loaded{};
    (void)s.run(check_words(p, {"k", "log"}));
    BOOST_TEST(
        header_of(s, check_words(p, {"k", "l", "k", "log", "k", "log2"},
                                 call_bytes(0, verb::reset, 0) + call_bytes(1, verb::allow, 1) +
                                     call_bytes(2, verb::allow, 1))) == "2 -");
    for (const auto& [name, value] : s.keys.keys())
        BOOST_TEST(value->expires_ms != fake::value::no_expiry, name);
}

BOOST_AUTO_TEST_CASE(keys_are_found_by_servers_without_key_specifications) {
    auto s = loaded{};
    BOOST_TEST(s.keys_of(check_words(bucket, {"a", "b"})) == (std::vector{2, 3}),
               boost::test_tools::per_element());
    BOOST_TEST(s.keys_of({"COLIMIT.SEEN", "9", "a"}) == std::vector{2},
               boost::test_tools::per_element());
    for (const auto& none : {words{"COLIMIT.CHECK"}, words{"COLIMIT.CHECK", "x", "a"},
                             words{"COLIMIT.CHECK", "0", "a"}, words{"COLIMIT.CHECK", "-1", "a"}})
        BOOST_TEST(s.keys_of(none).empty());
}

BOOST_AUTO_TEST_SUITE_END()
