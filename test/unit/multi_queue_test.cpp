// SPDX-License-Identifier: BSL-1.0
//
// Calls as transactions: the bytes they become, what is made of the replies, and what follows.

#include <redis/multi/multi_queue.hpp>
#include <redis/protocol/key.hpp>
#include <support/fake_operation.hpp>
#include <support/script_double.hpp>
#include <support/substitution.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(multi_queues)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using core::verb;
using test::command;
using test::fake_operation;

const auto five = policy{"p", sliding_log(5, 1s)};

constexpr std::int64_t hour = 3'600'000'000;
/// Of this process; the server's is ten hours ahead and 100 us uncertain.
constexpr std::int64_t here = 1'000'000'000;
constexpr std::int64_t there = here + 10 * hour;

/// A queue with a connection that the test controls.
struct fixture {
    explicit fixture(std::size_t batch_size = 96, std::size_t in_flight = 3,
                     bool keeps_read_only = false)
        : queue({.prefix = "t",
                 .batch_size = batch_size,
                 .batches_in_flight = in_flight,
                 .max_in_flight = 8,
                 .first_nonce = 7,
                 .keeps_read_only = keeps_read_only,
                 .grace = 100'000,
                 .clock = [this] { return now; }}) {
        queue.begin_connection(
            {.origin = "run.3.", .time = there - 50, .asked = here - 100, .answered = here});
    }
    ~fixture() { queue.fail_all(errc::closed); }
    fixture(const fixture&) = delete;
    fixture& operator=(const fixture&) = delete;

    fake_operation& ask(std::string_view key, detail::call_request q = {}, const policy& p = five) {
        auto& op = ops.emplace_back(q);
        BOOST_REQUIRE(!queue.submit(op, key, detail::access::data(p)));
        return op;
    }

    std::string write_bytes() {
        auto out = std::string{};
        queue.write(out, position, 0);
        position += out.size();
        return out;
    }
    std::vector<command> write() { return test::commands_of(write_bytes()); }

    std::optional<redis::recovery> reply(std::string_view bytes) {
        auto last = std::optional{redis::recovery::keep};
        auto reader = redis::resp::decoder{};
        while (!bytes.empty() && last) {
            if (reader.feed(bytes) != redis::resp::progress::complete)
                throw std::runtime_error{"not whole replies"};
            last = queue.read_reply(reader, bytes);
            bytes.remove_prefix(reader.consumed());
            reader.next();
        }
        return last;
    }

    /// ECHO and TIME of the first row.
    std::optional<redis::recovery> reply_head(std::string_view nonce = "7") {
        return reply("$" + std::to_string(nonce.size()) + "\r\n" + std::string{nonce} + "\r\n" +
                     "*2\r\n$5\r\n37000\r\n$1\r\n0\r\n");
    }

    /// The replies to an allow of cost 1, of one rule: what was counted, itself included.
    std::optional<redis::recovery> reply_counted(int count, std::string_view newest = "*0\r\n",
                                                 std::string_view blocker = "*0\r\n") {
        return reply(queued(8) + "*7\r\n:0\r\n" + std::string{newest} + std::string{blocker} +
                     ":1\r\n:" + std::to_string(count) + "\r\n:-1\r\n:1\r\n");
    }

    /// MULTI, and the commands in it.
    [[nodiscard]] static std::string queued(int replies) {
        auto out = std::string{"+OK\r\n"};
        for (int i = 1; i < replies; ++i)
            out += "+QUEUED\r\n";
        return out;
    }

    std::int64_t now = here;
    redis::multi_queue queue;
    std::deque<fake_operation> ops;
    std::uint64_t position = 0;
};

struct narrow : fixture {
    narrow() : fixture(2, 1) {}
};

[[nodiscard]] std::string text(std::int64_t number) {
    return std::to_string(number);
}

const std::string name = [] {
    auto out = std::string{};
    const auto at = redis::append_key(out, "t", "p", "k");
    return out.insert(at, "t");
}();

} // namespace

BOOST_FIXTURE_TEST_CASE(a_call_counts_from_the_earliest_time_and_is_recorded_at_the_latest,
                        fixture) {
    ask("k", {.cost = 2, .at_least = 1});
    const auto least = there - 50 - 1;
    const auto most = there + 50 + 1;
    const auto words = write();
    BOOST_TEST(
        (words == std::vector<command>{{"ECHO", "7"},
                                       {"TIME"},
                                       {"MULTI"},
                                       {"ZREMRANGEBYSCORE", name, "-inf", text(least - 1'100'000)},
                                       {"ZREVRANGE", name, "0", "0", "WITHSCORES"},
                                       {"ZREVRANGE", name, "4", "4", "WITHSCORES"},
                                       {"ZADD", name, text(most), "run.3.0", text(most), "run.3.1"},
                                       {"ZCOUNT", name, "(" + text(least - 1'000'000), "+inf"},
                                       {"PTTL", name},
                                       {"PEXPIRE", name, "2000"},
                                       {"EXEC"}}));
}

BOOST_FIXTURE_TEST_CASE(calls_of_one_turn_leave_in_one_write_and_no_two_events_share_a_name,
                        fixture) {
    ask("k");
    ask("k", {.cost = 3, .at_least = 3});
    ask("other", {.verb = verb::charge});
    auto members = std::vector<std::string>{};
    for (const auto& words : write())
        if (words[0] == "ZADD")
            for (std::size_t i = 3; i < words.size(); i += 2)
                members.push_back(words[i]);
    BOOST_TEST((members ==
                std::vector<std::string>{"run.3.0", "run.3.1", "run.3.2", "run.3.3", "run.3.4"}));
}

BOOST_FIXTURE_TEST_CASE(a_row_that_is_full_says_so_until_it_is_written, narrow) {
    ask("a");
    BOOST_TEST(!queue.is_full());
    ask("b");
    BOOST_TEST(queue.is_full());
    (void)write_bytes();
    BOOST_TEST(!queue.is_full());
}

BOOST_FIXTURE_TEST_CASE(the_other_verbs_change_and_then_read, fixture) {
    ask("k", {.verb = verb::peek, .now = 5'000'000});
    ask("k", {.verb = verb::refund, .cost = 2, .at_least = 2, .now = 5'000'000});
    ask("k", {.verb = verb::reset, .cost = 0, .at_least = 0, .now = 5'000'000});
    const auto words = write();
    const auto newest = command{"ZREVRANGE", name, "0", "0", "WITHSCORES"};
    const auto count = command{"ZCOUNT", name, "(4000000", "+inf"};
    BOOST_TEST((words == std::vector<command>{{"ECHO", "7"},
                                              {"TIME"},
                                              {"MULTI"},
                                              newest,
                                              {"ZREVRANGE", name, "4", "4", "WITHSCORES"},
                                              count,
                                              {"EXEC"},
                                              {"MULTI"},
                                              {"ZREMRANGEBYSCORE", name, "-inf", "3900000"},
                                              {"ZREMRANGEBYRANK", name, "-2", "-1"},
                                              newest,
                                              {"ZREVRANGE", name, "5", "5", "WITHSCORES"},
                                              count,
                                              {"EXEC"},
                                              {"MULTI"},
                                              {"ZREMRANGEBYRANK", name, "0", "-1"},
                                              {"EXEC"}}));
}

BOOST_FIXTURE_TEST_CASE(a_refused_call_is_removed_in_the_next_write_and_its_wait_is_to_the_servers,
                        narrow) {
    auto& op = ask("k");
    (void)write();
    BOOST_TEST((reply_head() == redis::recovery::keep));
    const auto blocker = there - 400'000;
    BOOST_TEST((reply_counted(6, "*2\r\n$1\r\nx\r\n$11\r\n" + text(there) + "\r\n",
                              "*2\r\n$1\r\ny\r\n$11\r\n" + text(blocker) + "\r\n") ==
                redis::recovery::keep));
    BOOST_TEST((op.result.outcome == outcome::denied));
    BOOST_TEST(op.result.retry_after.count() == 1'000'000 - 400'000 + 51);
    BOOST_TEST(queue.wants_to_write());
    BOOST_TEST((write() == std::vector<command>{{"ZREM", name, "run.3.0"}}));
    BOOST_TEST(queue.expects_reply());
    BOOST_TEST((reply(":1\r\n") == redis::recovery::keep));
    BOOST_TEST(!queue.expects_reply());
}

BOOST_FIXTURE_TEST_CASE(resp3_and_exponents_say_the_same, fixture) {
    auto& op = ask("k");
    (void)write();
    (void)reply_head();
    BOOST_TEST((reply_counted(6, "*1\r\n*2\r\n$1\r\nx\r\n,3.7e+10\r\n",
                              "*1\r\n*2\r\n$1\r\ny\r\n,37000000000\r\n") == redis::recovery::keep));
    BOOST_TEST(op.result.retry_after.count() == 37'000'000'000 + 1'000'000 - (there - 51));
}

BOOST_FIXTURE_TEST_CASE(the_rest_of_a_partial_grant_is_removed_and_its_own_members_only, fixture) {
    auto& op = ask("k", {.cost = 5, .at_least = 1});
    (void)write();
    (void)reply_head();
    (void)reply_counted(8);
    BOOST_TEST(op.result.granted == 2);
    BOOST_TEST((write() == std::vector<command>{{"ZREM", name, "run.3.2", "run.3.3", "run.3.4"}}));
}

BOOST_FIXTURE_TEST_CASE(where_refused_calls_count_they_stay_and_the_oldest_go, fixture) {
    const auto counting = policy{"p", sliding_log(5, 1s).count_denied()};
    auto& op = ask("k", {}, counting);
    const auto words = write();
    BOOST_TEST((words.at(words.size() - 4) == command{"ZREMRANGEBYRANK", name, "0", "-27"}));
    (void)reply_head();
    (void)reply(queued(10) + "*9\r\n:0\r\n*0\r\n*0\r\n:1\r\n*0\r\n:6\r\n:0\r\n:-1\r\n:1\r\n");
    BOOST_TEST((op.result.outcome == outcome::denied));
    BOOST_TEST(op.result.rules[0].balance == -1);
    BOOST_TEST(!queue.wants_to_write());
}

BOOST_FIXTURE_TEST_CASE(where_refused_calls_count_the_oldest_go_after_a_charge, fixture) {
    ask("k", {.verb = verb::charge, .cost = 30}, policy{"p", sliding_log(5, 1s).count_denied()});
    const auto words = write();
    BOOST_TEST(words.at(4).front() == "ZADD");
    BOOST_TEST((words.at(5) == command{"ZREMRANGEBYRANK", name, "0", "-27"}));
}

BOOST_FIXTURE_TEST_CASE(an_aborted_transaction_was_not_run_and_the_error_before_it_says_why,
                        fixture) {
    auto& full = ask("k");
    auto& fine = ask("other");
    auto& demoted = ask("k");
    (void)write();
    (void)reply_head();
    const auto abort = [](std::string_view why) {
        return queued(4) + std::string{why} + queued(4).substr(5) +
               "-EXECABORT Transaction discarded because of previous errors.\r\n";
    };
    (void)reply(abort("-OOM command not allowed when used memory > 'maxmemory'.\r\n"));
    BOOST_TEST(full.ended(errc::server_error));
    BOOST_TEST((reply_counted(1) == redis::recovery::keep));
    BOOST_TEST(fine.is_allowed());
    BOOST_TEST((reply(abort("-READONLY You can't write against a read only replica.\r\n")) ==
                redis::recovery::leave_read_only));
    BOOST_TEST(demoted.ended(errc::unavailable));
    BOOST_TEST(!queue.expects_reply());
    BOOST_TEST(!queue.wants_to_write());
}

/// Behind Sentinel, the next connection is one to a master.
BOOST_AUTO_TEST_CASE(only_calls_that_a_read_only_server_refused_are_made_again_on_the_next) {
    auto f = fixture{96, 3, true};
    auto& fine = f.ask("a");
    auto& demoted = f.ask("b");
    auto& other = f.ask("c");
    (void)f.write();
    (void)f.reply_head();
    (void)f.reply_counted(1);
    BOOST_TEST(fine.is_allowed());
    const auto refused =
        f.queued(4) + "-READONLY You can't write against a read only replica.\r\n" +
        f.queued(4).substr(5) + "-EXECABORT Transaction discarded because of previous errors.\r\n";
    (void)f.reply(refused);
    BOOST_TEST(demoted.is_held);
    BOOST_TEST((f.reply(f.queued(8) +
                        "-EXECABORT Transaction discarded because of: -READONLY You can't\r\n") ==
                redis::recovery::leave_read_only));
    BOOST_TEST(!f.queue.expects_reply());
    f.queue.lose_connection(f.position);
    BOOST_TEST(f.queue.wants_to_write());
    const auto again = f.write();
    BOOST_TEST(std::ranges::count(again, command{"MULTI"}) == 2);
    (void)f.reply_head();
    (void)f.reply_counted(1);
    (void)f.reply_counted(1);
    BOOST_TEST(demoted.is_allowed());
    BOOST_TEST(other.is_allowed());
}

BOOST_FIXTURE_TEST_CASE(an_aborted_transaction_is_one_problem_and_permits_nothing, fixture) {
    struct : redis::error_sink {
        void note(const redis::error_report& what) noexcept override {
            codes.push_back(what.code);
            failed.push_back(what.policy);
        }
        void note_permitted(std::uint64_t policy) noexcept override { permitted.push_back(policy); }
        std::vector<errc> codes;
        std::vector<std::uint64_t> failed, permitted;
    } errors;
    queue.report_to(errors);
    ask("k");
    auto& fine = ask("other");
    (void)write();
    (void)reply_head();
    (void)reply(queued(4) + "-NOPERM no 'zcount'\r\n" + queued(4).substr(5) +
                "-EXECABORT Transaction discarded because of previous errors.\r\n");
    const auto policy = detail::access::data(five)->fingerprint;
    BOOST_TEST((errors.codes == std::vector{errc::auth_failed}));
    BOOST_TEST(errors.failed == std::vector{policy});
    BOOST_TEST(errors.permitted.empty());
    (void)reply_counted(1);
    BOOST_TEST(fine.is_allowed());
    BOOST_TEST(errors.codes.size() == 1U);
    BOOST_TEST(errors.permitted == std::vector{policy});
}

BOOST_FIXTURE_TEST_CASE(commands_that_ran_without_their_multi_leave_the_outcome_unknown, fixture) {
    auto& op = ask("k");
    auto& looks = ask("k", {.verb = verb::peek});
    (void)write();
    (void)reply_head();
    const auto refused = std::string{"-NOPERM this user has no permissions to run MULTI\r\n"};
    const auto alone = std::string{"-ERR EXEC without MULTI\r\n"};
    (void)reply(refused + ":0\r\n*0\r\n*0\r\n:1\r\n:1\r\n:-1\r\n:1\r\n" + alone);
    BOOST_TEST(op.ended(errc::outcome_unknown));
    (void)reply(refused + "*0\r\n*0\r\n:1\r\n" + alone);
    BOOST_TEST(looks.ended(errc::auth_failed));
}

BOOST_FIXTURE_TEST_CASE(a_foreign_key_is_a_conflict_and_gets_its_time_to_live_back, fixture) {
    const auto wrong = std::string{"-WRONGTYPE Operation against a key\r\n"};
    for (const auto ttl : {-1, 5'000}) {
        auto& op = ask("k");
        (void)write();
        (void)reply_head(ttl == -1 ? "7" : "9"); // the repair had one between
        (void)reply(queued(8) + "*7\r\n" + wrong + wrong + wrong + wrong + wrong + ":" + text(ttl) +
                    "\r\n:1\r\n");
        BOOST_TEST(op.ended(errc::key_conflict));
        BOOST_TEST((write() == std::vector<command>{ttl == -1 ? command{"PERSIST", name}
                                                              : command{"PEXPIRE", name, "5000"}}));
        (void)reply(":1\r\n");
    }
}

BOOST_FIXTURE_TEST_CASE(a_reply_to_another_question_ends_the_trust_in_the_connection, fixture) {
    for (const std::string_view odd :
         {"$1\r\n8\r\n", "$1\r\n7\r\n+PONG\r\n",
          "$1\r\n7\r\n*2\r\n$1\r\n1\r\n$1\r\n0\r\n+OK\r\n"
          "+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n"
          ":1\r\n",
          "$1\r\n7\r\n*2\r\n$1\r\n1\r\n$1\r\n0\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n"
          "*3\r\n*0\r\n*0\r\n+OK\r\n"}) {
        auto f = fixture{};
        f.ask("k", {.verb = verb::peek});
        (void)f.write();
        BOOST_TEST(!f.reply(odd).has_value());
    }
    BOOST_TEST(!reply(":1\r\n").has_value()); // without a request
}

BOOST_FIXTURE_TEST_CASE(events_from_a_clock_that_was_set_back_are_removed_once_seen, fixture) {
    ask("k");
    (void)write();
    (void)reply_head(); // TIME says 37,000 s
    (void)reply_counted(1, "*2\r\n$1\r\nx\r\n$11\r\n38000000000\r\n");
    BOOST_TEST(
        (write() == std::vector<command>{{"ZREMRANGEBYSCORE", name, "(37061000000", "+inf"}}));
}

BOOST_FIXTURE_TEST_CASE(each_write_narrows_what_is_known_of_the_servers_clock, fixture) {
    ask("k");
    (void)write();
    now += 10;
    (void)reply_head(); // 37,000 s, which is `there`
    (void)reply_counted(1);
    auto& op = ask("k");
    (void)write();
    now += 10;
    (void)reply_head("8");
    (void)reply_counted(1);
    const auto time = op.result.server_time.time_since_epoch().count();
    BOOST_TEST(time <= there + 10);
    BOOST_TEST(time >= there - 3);
}

BOOST_FIXTURE_TEST_CASE(a_lost_connection_leaves_what_was_sent_unknown_and_keeps_the_rest, narrow) {
    auto& sent = ask("k");
    auto& looks = ask("k", {.verb = verb::peek});
    auto& waits = ask("k");
    (void)write();
    queue.lose_connection(position);
    BOOST_TEST(sent.ended(errc::outcome_unknown));
    BOOST_TEST(looks.ended(errc::unavailable));
    BOOST_TEST(waits.is_held);

    // Of the next connection nothing had left when it was lost.
    position = 0;
    queue.begin_connection({.origin = "other.1.", .time = there, .asked = here, .answered = here});
    (void)write();
    queue.lose_connection(0);
    BOOST_TEST(waits.is_held);
    queue.begin_connection({.origin = "third.1.", .time = there, .asked = here, .answered = here});
    position = 0;
    const auto words = write();
    BOOST_TEST((words.at(1) == command{"TIME"}));
    BOOST_TEST((words.at(6).at(3).starts_with("third.1.")));
    (void)reply("$1\r\n8\r\n*2\r\n$5\r\n37000\r\n$1\r\n0\r\n");
    (void)reply_counted(1);
    BOOST_TEST(waits.is_allowed());
}

BOOST_FIXTURE_TEST_CASE(who_gave_up_before_it_left_makes_no_call_and_afterwards_is_cleaned_up_for,
                        fixture) {
    auto& early = ask("k");
    auto& late = ask("k");
    queue.withdraw(early, boost::asio::error::operation_aborted);
    BOOST_TEST(write().size() == 11U);
    queue.expire(2'000'000, errc::deadline_exceeded);
    BOOST_TEST(late.ended(errc::outcome_unknown));
    (void)reply_head();
    (void)reply_counted(6);
    BOOST_TEST((write().at(0).at(0) == "ZREM"));
    (void)reply(":1\r\n");
    BOOST_TEST(queue.size() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_substitute_has_the_deadline_of_the_call_that_it_replaces, fixture) {
    auto& op = ask("k");
    (void)write();
    test::check_deadline_of_substitute(queue, op);
}

BOOST_FIXTURE_TEST_CASE(rows_are_bounded_by_calls_by_members_and_by_what_flies, narrow) {
    for (int i = 0; i < 3; ++i)
        ask("k");
    BOOST_TEST(write().size() == 2U + 2 * 9);
    BOOST_TEST(!queue.wants_to_write());
    const auto wide = policy{"p", sliding_log(2'000, 1s)};
    ask("k", {.cost = 2'000, .at_least = 2'000}, wide);
    ask("k");
    for (int i = 0; i < 3; ++i)
        ask("k");
    auto op = fake_operation{};
    BOOST_TEST((queue.submit(op, "k", detail::access::data(five)) == errc::too_many_in_flight));
}

BOOST_AUTO_TEST_CASE(cancelled_calls_make_room_behind_one_that_waits) {
    auto f = fixture{2};
    for (const auto* key : {"a", "b", "c", "d", "e", "f", "g", "h"})
        f.ask(key);
    auto one_more = fake_operation{};
    BOOST_TEST(
        (f.queue.submit(one_more, "i", detail::access::data(five)) == errc::too_many_in_flight));
    for (std::size_t i = 2; i < 8; ++i)
        f.queue.withdraw(f.ops[i], boost::asio::error::operation_aborted);
    for (const auto* key : {"i", "j", "k", "l", "m", "n"})
        f.ask(key);
    BOOST_TEST(
        (f.queue.submit(one_more, "o", detail::access::data(five)) == errc::too_many_in_flight));
}

BOOST_AUTO_TEST_SUITE_END()
