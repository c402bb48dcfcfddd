// SPDX-License-Identifier: BSL-1.0
//
// Fixed windows as transactions: the bytes they become, what is made of the replies, and what is
// given back.

#include <redis/multi/multi_queue.hpp>
#include <redis/protocol/key.hpp>
#include <support/fake_operation.hpp>
#include <support/script_double.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(multi_windows)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using core::verb;
using test::command;
using test::fake_operation;

const auto five = policy{"p", fixed_window(5, 1s).from_first().named("r")};
const auto aligned = policy{"p", fixed_window(5, 10s).named("r")};

/// Of this process; the server's is ten hours ahead and 100 us uncertain: 37,000 s.
constexpr std::int64_t here = 1'000'000'000;
constexpr std::int64_t there = here + 36'000'000'000;

/// A queue with a connection that the test controls.
struct fixture {
    fixture()
        : queue({.prefix = "t", .first_nonce = 7, .grace = 100'000, .clock = [this] {
                     return now;
                 }}) {
        set_time(there);
    }
    ~fixture() { queue.fail_all(errc::closed); }
    fixture(const fixture&) = delete;
    fixture& operator=(const fixture&) = delete;

    /// A new connection, to a server with this time.
    void set_time(std::int64_t time) {
        queue.begin_connection(
            {.origin = "run.3.", .time = time - 50, .asked = now - 100, .answered = now});
    }

    fake_operation& ask(const policy& p, detail::call_request q = {}) {
        auto& op = ops.emplace_back(q);
        BOOST_REQUIRE(!queue.submit(op, "k", detail::access::data(p)));
        return op;
    }

    std::vector<command> write() {
        auto out = std::string{};
        queue.write(out, position, 0);
        position += out.size();
        return test::commands_of(out);
    }
    /// The commands of the next write, which is one call, between MULTI and EXEC.
    std::vector<command> write_call() {
        const auto all = write();
        BOOST_REQUIRE(all.size() > 4);
        BOOST_TEST((all[2] == command{"MULTI"} && all.back() == command{"EXEC"}));
        return {all.begin() + 3, all.end() - 1};
    }

    bool reply(std::string_view bytes) {
        auto is_valid = true;
        auto reader = redis::resp::decoder{};
        while (!bytes.empty() && is_valid) {
            if (reader.feed(bytes) != redis::resp::progress::complete)
                throw std::runtime_error{"not whole replies"};
            is_valid = queue.read_reply(reader, bytes).has_value();
            bytes.remove_prefix(reader.consumed());
            reader.next();
        }
        return is_valid;
    }

    /// Makes a call and replies to its EXEC with these elements, one per command.
    fake_operation& decide(const policy& p, const std::vector<std::string>& elements,
                           detail::call_request q = {}) {
        auto& op = ask(p, q);
        (void)write_call();
        BOOST_TEST(reply(head() + executed(elements)));
        return op;
    }
    /// The replies to ECHO and TIME of the next batch.
    std::string head() {
        const auto digits = std::to_string(nonce++);
        return "$" + std::to_string(digits.size()) + "\r\n" + digits +
               "\r\n*2\r\n$5\r\n37000\r\n$1\r\n0\r\n";
    }
    /// The replies to a call, from MULTI to EXEC.
    [[nodiscard]] static std::string executed(const std::vector<std::string>& elements) {
        auto bytes = std::string{"+OK\r\n"};
        for (std::size_t i = 0; i < elements.size(); ++i)
            bytes += "+QUEUED\r\n";
        bytes += "*" + std::to_string(elements.size()) + "\r\n";
        for (const auto& e : elements)
            bytes += e + "\r\n";
        return bytes;
    }

    std::int64_t now = here;
    int nonce = 7;
    redis::multi_queue queue;
    std::deque<fake_operation> ops;
    std::uint64_t position = 0;
};

[[nodiscard]] std::string name_in(std::string_view family, std::string_view rule = "r") {
    auto out = std::string{};
    const auto at = redis::append_key(out, "t", "p", "k");
    return out.insert(at, std::string{family} + std::string{rule} + ":");
}

const auto name = name_in("w:");
const auto aside = name_in("a:");

/// A command that changes the window until this millisecond, and nothing afterwards.
[[nodiscard]] std::vector<command> until(const std::string& end, const std::string& what,
                                         const std::string& argument) {
    return {{"MULTI"},
            {"ZADD", aside, "0", "colimit"},
            {"PEXPIREAT", aside, end},
            {"RENAMENX", name, aside},
            {"ZADD", name, "0", "colimit"},
            {what, name, argument},
            {"ZREM", name, "colimit"},
            {"ZREM", aside, "colimit"},
            {"RENAMENX", aside, name},
            {"EXEC"}};
}

/// What a window gives back that ends in so many milliseconds after 37,000 s, at the latest.
[[nodiscard]] std::vector<command> give_back(const std::string& tokens, std::int64_t left) {
    return until(std::to_string(there / 1'000 - 1 + left), "DECRBY", tokens);
}

const std::string nil = "$-1";

} // namespace

BOOST_AUTO_TEST_CASE(a_window_has_a_key_with_a_name_that_can_be_read) {
    BOOST_TEST(name.ends_with(":p:w:r:k:k"), name);
    BOOST_TEST(aside.ends_with(":p:a:r:k:k"), aside);
}

BOOST_FIXTURE_TEST_CASE(a_window_from_the_first_charge_starts_for_a_period_and_is_added_to,
                        fixture) {
    ask(five, {.cost = 3, .at_least = 3});
    BOOST_TEST((write_call() == std::vector<command>{{"SET", name, "0", "PX", "1000", "NX"},
                                                     {"INCRBY", name, "3"},
                                                     {"PTTL", name}}));
}

BOOST_FIXTURE_TEST_CASE(an_aligned_window_ends_before_the_first_millisecond_of_the_next, fixture) {
    set_time(there + 5'000'000);
    ask(aligned);
    BOOST_TEST((write_call() == std::vector<command>{{"SET", name, "0", "PXAT", "37009999", "NX"},
                                                     {"SET", name, "5", "PX", "1", "NX"},
                                                     {"INCRBY", name, "1"},
                                                     {"PTTL", name}}));
}

BOOST_FIXTURE_TEST_CASE(near_the_end_of_a_window_the_server_chooses_the_end, fixture) {
    set_time(there - 100'000); // the grace before 37,000 s
    ask(aligned);
    BOOST_TEST((write_call() == std::vector<command>{{"SET", name, "0", "PXAT", "36999999", "NX"},
                                                     {"SET", name, "0", "PXAT", "37009999", "NX"},
                                                     {"SET", name, "5", "PX", "1", "NX"},
                                                     {"INCRBY", name, "1"},
                                                     {"PTTL", name}}));
    set_time(there - 100'200);
    ask(aligned);
    BOOST_TEST(write_call().size() == 4U);
    ask(policy{"p", fixed_window(5, 20ms).named("r")}); // the grace is five windows
    const auto words = write_call();
    BOOST_TEST((words.at(0) == command{"SET", name, "0", "PXAT", "36999899", "NX"}));
    BOOST_TEST((words.at(1) == command{"SET", name, "0", "PXAT", "36999919", "NX"}));
    BOOST_TEST((words.at(2) == command{"SET", name, "0", "PXAT", "36999999", "NX"}));
    BOOST_TEST((words.at(3) == command{"SET", name, "5", "PX", "1", "NX"}));
}

BOOST_FIXTURE_TEST_CASE(the_other_verbs_of_windows, fixture) {
    const auto reads = std::vector<command>{{"GET", name}, {"PTTL", name}};
    ask(five, {.verb = verb::peek});
    BOOST_TEST((write_call() == reads));
    ask(five, {.cost = 0, .at_least = 0});
    BOOST_TEST((write_call() == reads));
    ask(five, {.cost = 6, .at_least = 6}); // never
    BOOST_TEST((write_call() == reads));
    ask(five, {.cost = 6, .at_least = 2});
    BOOST_TEST((write_call().at(1) == command{"INCRBY", name, "5"}));
    ask(five, {.verb = verb::charge, .cost = 6});
    BOOST_TEST((write_call().at(1) == command{"INCRBY", name, "6"}));
    ask(five, {.verb = verb::reset, .cost = 0});
    BOOST_TEST((write_call() == std::vector<command>{{"GETDEL", name}}));
}

BOOST_FIXTURE_TEST_CASE(a_shadow_does_not_limit_what_is_added, fixture) {
    const auto two = policy{"p", fixed_window(1, 1s).from_first().named("q").shadow(),
                            fixed_window(5, 1s).from_first().named("r")};
    ask(two, {.cost = 2, .at_least = 1});
    BOOST_TEST((write_call().at(4) == command{"INCRBY", name, "2"}));
}

BOOST_FIXTURE_TEST_CASE(a_call_is_allowed_up_to_the_limit_and_returns_at_the_end, fixture) {
    const auto& yes = decide(five, {nil, ":5", ":400"});
    BOOST_TEST(yes.is_allowed());
    BOOST_TEST(yes.result.remaining == 0);
    BOOST_TEST((yes.result.reset_after == 401ms)); // the rest of the last millisecond
    BOOST_TEST(!queue.wants_to_write());
    const auto& no = decide(five, {nil, ":6", ":400"});
    BOOST_TEST((no.result.outcome == outcome::denied));
    BOOST_TEST(no.result.remaining == 0);
    BOOST_TEST((no.result.retry_after == 401ms));
    BOOST_TEST((no.result.reset_after == 401ms));
    BOOST_TEST((write() == give_back("1", 400)));
}

BOOST_FIXTURE_TEST_CASE(the_rest_of_a_partial_grant_is_given_back_in_one_transaction, fixture) {
    const auto& some = decide(five, {nil, ":8", ":400"}, {.cost = 5, .at_least = 1});
    BOOST_TEST(some.result.granted == 2);
    BOOST_TEST(some.result.remaining == 0);
    BOOST_TEST((write() == give_back("3", 400)));
    BOOST_TEST(queue.expects_reply());
    BOOST_TEST(reply("+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n"
                     "+QUEUED\r\n+QUEUED\r\n*8\r\n:1\r\n:1\r\n:0\r\n-WRONGTYPE Operation\r\n:5\r\n"
                     "-WRONGTYPE Operation\r\n:1\r\n-ERR no such key\r\n"));
    BOOST_TEST(!queue.expects_reply());
}

BOOST_FIXTURE_TEST_CASE(the_first_write_makes_room_for_all_that_a_later_one_gives_back, fixture) {
    constexpr auto calls = 64;
    auto out = std::string{};
    const auto write_calls = [&] {
        for (auto i = 0; i < calls; ++i)
            ask(five);
        out.clear();
        queue.write(out, position, 0);
        position += out.size();
    };
    write_calls();
    const auto first = out.size();
    const auto room = out.capacity();
    auto denied = head();
    for (auto i = 0; i < calls; ++i)
        denied += executed({nil, ":6", ":400"});
    BOOST_TEST(reply(denied));
    write_calls();
    BOOST_TEST(out.size() > 2 * first);
    BOOST_TEST(out.capacity() == room);
}

BOOST_FIXTURE_TEST_CASE(a_lost_connection_loses_what_would_be_given_back, fixture) {
    (void)decide(five, {nil, ":6", ":400"});
    BOOST_TEST(queue.wants_to_write());
    queue.lose_connection(position);
    BOOST_TEST(!queue.wants_to_write());
}

BOOST_FIXTURE_TEST_CASE(what_is_read_decides_a_peek_and_changes_nothing, fixture) {
    const auto q = detail::call_request{.verb = verb::peek};
    const auto& some = decide(five, {"$1\r\n2", ":400"}, q);
    BOOST_TEST(some.is_allowed());
    BOOST_TEST(some.result.remaining == 3);
    BOOST_TEST((some.result.reset_after == 401ms));
    const auto& none = decide(five, {nil, ":-2"}, q);
    BOOST_TEST(none.result.remaining == 5);
    BOOST_TEST(none.result.reset_after.count() == 0);
    const auto& null = decide(five, {"_", ":-2"}, q); // RESP3
    BOOST_TEST(null.result.remaining == 5);
    const auto& below = decide(five, {"$2\r\n-3", ":400"}, q); // another program's
    BOOST_TEST(below.result.remaining == 5);
    const auto& eternal = decide(five, {"$1\r\n5", ":-1"}, q);
    BOOST_TEST((eternal.result.retry_after == 1001ms));
    BOOST_TEST(!queue.wants_to_write());
}

BOOST_FIXTURE_TEST_CASE(a_charge_stays_above_the_limit_and_is_reported, fixture) {
    const auto& op =
        decide(five, {nil, ":9", ":400"}, {.verb = verb::charge, .cost = 6, .at_least = 0});
    BOOST_TEST(op.result.rules[0].balance == -4);
    BOOST_TEST(!queue.wants_to_write());
    const auto& full = decide(five, {nil, "-ERR increment or decrement would overflow", ":400"});
    BOOST_TEST((full.result.outcome == outcome::denied));
    BOOST_TEST(!queue.wants_to_write()); // nothing was added
}

BOOST_FIXTURE_TEST_CASE(a_number_without_ttl_gets_that_of_the_window, fixture) {
    BOOST_TEST(decide(five, {nil, ":2", ":-1"}).is_allowed());
    BOOST_TEST((write() == std::vector<command>{{"PEXPIRE", name, "1000"}}));
    BOOST_TEST(reply(":1\r\n"));
    nonce = 9;
    set_time(there + 1'000'000);
    BOOST_TEST(decide(aligned, {nil, nil, ":2", ":-1"}).is_allowed());
    BOOST_TEST((write() == until("37009999", "PEXPIREAT", "37009999")));
}

/// However late the commands that correct it: no later window ends in the middle of a period.
BOOST_FIXTURE_TEST_CASE(an_aligned_window_that_lasts_too_long_is_shortened_to_an_aligned_one,
                        fixture) {
    set_time(there + 1'000'000);
    BOOST_TEST(decide(aligned, {nil, nil, ":2", ":90000"}).is_allowed());
    BOOST_TEST((write() == until("37009999", "PEXPIREAT", "37009999")));
}

BOOST_FIXTURE_TEST_CASE(a_window_that_lasts_longer_than_its_period_is_shortened, fixture) {
    const auto& op = decide(five, {nil, ":6", ":1001"}); // the server's clock was set back
    BOOST_TEST((op.result.retry_after == 1001ms));
    auto expected = give_back("1", 1'000);
    expected.insert(expected.begin(), {"PEXPIRE", name, "1000"});
    BOOST_TEST((write() == expected));
}

BOOST_FIXTURE_TEST_CASE(a_value_that_is_not_a_number_is_a_conflict_and_is_not_touched, fixture) {
    const auto wrong = std::string{"-WRONGTYPE Operation against a key"};
    const auto text = std::string{"-ERR value is not an integer or out of range"};
    BOOST_TEST(decide(five, {nil, wrong, ":-1"}).ended(errc::key_conflict));
    BOOST_TEST(decide(five, {nil, text, ":-1"}).ended(errc::key_conflict));
    const auto q = detail::call_request{.verb = verb::peek};
    BOOST_TEST(decide(five, {wrong, ":-1"}, q).ended(errc::key_conflict));
    for (const auto* odd : {"$2\r\n1x", "$0\r\n", "$20\r\n99999999999999999999"})
        BOOST_TEST(decide(five, {odd, ":-1"}, q).ended(errc::key_conflict));
    BOOST_TEST(decide(five, {wrong}, {.verb = verb::reset, .cost = 0}).ended(errc::key_conflict));
    BOOST_TEST(!queue.wants_to_write());
}

BOOST_FIXTURE_TEST_CASE(a_reply_of_another_form_ends_the_trust_in_the_connection, fixture) {
    const auto head = std::string{"$1\r\n7\r\n*2\r\n$5\r\n37000\r\n$1\r\n0\r\n+OK\r\n"
                                  "+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n"};
    for (const auto* odd : {"*2\r\n$-1\r\n:1\r\n", "*3\r\n$-1\r\n+OK\r\n:1\r\n",
                            "*3\r\n$-1\r\n:1\r\n+OK\r\n", "*4\r\n$-1\r\n:1\r\n:1\r\n:1\r\n"}) {
        auto f = fixture{};
        f.ask(five);
        (void)f.write();
        BOOST_TEST(!f.reply(head + odd));
    }
    ask(five, {.verb = verb::peek});
    (void)write();
    BOOST_TEST(!reply("$1\r\n7\r\n*2\r\n$5\r\n37000\r\n$1\r\n0\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n"
                      "*2\r\n:2\r\n:400\r\n"));
}

BOOST_FIXTURE_TEST_CASE(all_rules_are_in_one_transaction_and_all_give_back, fixture) {
    const auto mixed = policy{"p", sliding_log(9, 1s), fixed_window(5, 1s).from_first().named("r"),
                              fixed_window(50, 1min).from_first().named("s")};
    const auto other = name_in("w:", "s");
    ask(mixed);
    const auto words = write_call();
    BOOST_REQUIRE(words.size() == 13U);
    BOOST_TEST((words[3].at(0) == "ZADD"));
    BOOST_TEST((words[8] == command{"INCRBY", name, "1"}));
    BOOST_TEST((words[11] == command{"INCRBY", other, "1"}));
    queue.lose_connection(position);
    nonce = 8;
    const auto& op = decide(
        mixed, {":0", "*0", "*0", ":1", ":3", ":-1", ":1", nil, ":6", ":400", nil, ":7", ":9000"});
    BOOST_TEST((op.result.outcome == outcome::denied));
    BOOST_TEST(op.result.limiting_rule == 1);
    BOOST_TEST(op.result.rules[0].remaining() == 7);
    BOOST_TEST(op.result.rules[2].remaining() == 44);
    const auto after = write();
    BOOST_REQUIRE(after.size() == 21U);
    BOOST_TEST((after[0].at(0) == "ZREM"));
    BOOST_TEST((after[6] == command{"DECRBY", name, "1"}));
    BOOST_TEST((after[16] == command{"DECRBY", other, "1"}));
}

BOOST_FIXTURE_TEST_CASE(if_one_rule_cannot_be_read_the_others_give_back, fixture) {
    const auto two = policy{"p", fixed_window(9, 1s).from_first().named("q"),
                            fixed_window(5, 1s).from_first().named("r")};
    const auto q = detail::call_request{.verb = verb::charge, .cost = 3, .at_least = 0};
    const auto& op =
        decide(two, {nil, "-WRONGTYPE Operation against a key", ":-1", nil, ":4", ":400"}, q);
    BOOST_TEST(op.ended(errc::key_conflict));
    BOOST_TEST((write() == give_back("3", 400)));
}

BOOST_FIXTURE_TEST_CASE(if_a_window_cannot_be_read_the_log_keeps_its_ttl, fixture) {
    const auto mixed = policy{"p", sliding_log(9, 1s), fixed_window(5, 1s).from_first().named("r")};
    const auto& op = decide(mixed, {":0", "*0", "*0", ":1", ":3", ":-1", ":1", nil,
                                    "-WRONGTYPE Operation against a key", ":-1"});
    BOOST_TEST(op.ended(errc::key_conflict));
    const auto after = write();
    BOOST_REQUIRE(after.size() == 1U);
    BOOST_TEST((after[0].at(0) == "ZREM"));
}

BOOST_FIXTURE_TEST_CASE(of_several_errors_the_first_one_counts, fixture) {
    const auto two = policy{"p", fixed_window(9, 1s).from_first().named("q"),
                            fixed_window(5, 1s).from_first().named("r")};
    const auto& op = decide(two, {nil, "-WRONGTYPE Operation against a key", ":-1", nil,
                                  "-NOPERM no permission for a key", ":-1"});
    BOOST_TEST(op.ended(errc::key_conflict));
}

BOOST_FIXTURE_TEST_CASE(a_shadow_counts_what_others_grant_and_denied_calls_stay_in_the_log_only,
                        fixture) {
    const auto shadow = policy{"p", fixed_window(1, 1s).from_first().named("r").shadow(),
                               fixed_window(5, 1s).from_first().named("s")};
    const auto& yes = decide(shadow, {nil, ":4", ":400", nil, ":4", ":400"}, {.cost = 2});
    BOOST_TEST(yes.is_allowed());
    BOOST_TEST(yes.result.remaining == 1);
    BOOST_TEST(!queue.wants_to_write());
    const auto counting =
        policy{"p", sliding_log(5, 1s).count_denied(), fixed_window(5, 1s).from_first().named("r")};
    const auto& no = decide(
        counting, {":0", "*0", "*0", ":1", "*0", ":2", ":0", ":-1", ":1", nil, ":6", ":400"});
    BOOST_TEST((no.result.outcome == outcome::denied));
    BOOST_TEST(no.result.rules[0].balance == 3);
    BOOST_TEST((no.result.rules[1].reset_after == 401ms));
    BOOST_TEST((write() == give_back("1", 400)));
}

BOOST_AUTO_TEST_SUITE_END()
