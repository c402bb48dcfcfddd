// SPDX-License-Identifier: BSL-1.0
//
// The queues of a cluster's nodes: where batches go that a node has rejected or that wait for
// another node, in which order, and what remains in the queue that they leave. The router is the
// test's: it says what it is told to say.

#include <redis/protocol/key.hpp>
#include <support/module_replies.hpp>
#include <support/script_queue_bench.hpp>
#include <support/unit_test.hpp>
#include <support/usual_tags.hpp>

#include <boost/asio/error.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(cluster_queues)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using redis::recovery;
using test::fake_operation;
using test::noscript;
using test::script_double;
using test::script_queue_bench;

const auto rules = policy{"p", gcra(100, 1s)};
const auto others = policy{"q", gcra(100, 1s)};

constexpr std::string_view moved = "-MOVED 3999 127.0.0.1:6381\r\n";
constexpr std::string_view ask = "-ASK 3999 127.0.0.1:6381\r\n";
constexpr std::string_view try_again =
    "-TRYAGAIN Multiple keys request during rehashing of slot\r\n";
constexpr std::string_view ok = "+OK\r\n";

/// Returns the i-th key of a group.
[[nodiscard]] std::string key_of(std::size_t group, std::size_t i) {
    for (std::size_t n = 0;; ++n) {
        auto key = "k" + std::to_string(n);
        if (test::tag_of(key) == group && i-- == 0)
            return key;
    }
}

/// Returns what a name of a key ends with.
[[nodiscard]] std::string end_of(const std::string& name) {
    return name.substr(name.rfind(':') + 1);
}

class fake_router final : public redis::batch_router {
  public:
    struct rejection {
        const redis::script_queue* from;
        std::string error;
        std::size_t group;
        std::size_t redirections;
        bool may_be_divided;
        bool is_denied;
    };
    struct service {
        const redis::script_queue* by;
        std::size_t group;
        bool was_parked;
    };

    [[nodiscard]] redis::batch_destination
    redirect(const redis::script_queue& from, const redis::rejected_batch& what) noexcept override {
        rejections.push_back({&from, std::string{what.error}, what.group, what.redirections,
                              what.may_be_divided, what.is_denied});
        return to;
    }
    void on_served(const redis::script_queue& by, std::size_t group,
                   bool was_parked) noexcept override {
        served.push_back({&by, group, was_parked});
    }

    redis::batch_destination to;
    std::vector<rejection> rejections;
    std::vector<service> served;
};

/// Moves the batches of a group from one queue to another one. Returns the groups of all batches.
std::vector<std::size_t> hand_over(script_queue_bench& from, std::size_t group,
                                   script_queue_bench& to) {
    auto groups = std::vector<std::size_t>{};
    from.queue.hand_over([&](std::size_t of, bool /*is_parked*/) {
        groups.push_back(of);
        return of == group ? &to.queue : &from.queue;
    });
    from.queue.move_deadlines(to.queue);
    return groups;
}

/// Queues of two nodes, and operations that outlive them.
struct two_nodes {
    explicit two_nodes(std::size_t batch_size = 96) : batch_size_(batch_size) {
        for (auto* node : {&a, &b})
            node->queue.route_by(router);
    }
    two_nodes(const two_nodes&) = delete;
    two_nodes& operator=(const two_nodes&) = delete;
    ~two_nodes() {
        for (auto* node : {&a, &b}) {
            node->queue.fail_all(errc::closed);
            (void)node->take_done();
        }
    }

    fake_operation& submit(script_queue_bench& to, std::string_view key,
                           std::int64_t deadline = 1'000'000, const policy& p = rules) {
        auto& op = ops.emplace_back(detail::call_request{}, deadline);
        BOOST_REQUIRE(!to.submit(op, key, p));
        return op;
    }

    /// Makes a call that `a` sends, and that the server redirects to `b`.
    fake_operation& send_moved(std::int64_t deadline = 1'000'000) {
        return send({.queue = &b.queue}, moved, deadline);
    }
    fake_operation& send_asking() {
        return send({.queue = &b.queue, .asking = true, .redirections = 1}, ask, 1'000'000);
    }

    /// Sends the batches that wait, and replies to each as the script does.
    void serve(script_queue_bench& node) {
        for (auto sent = node.write_calls(); !sent.empty(); sent = node.write_calls())
            for (const auto& call : sent)
                BOOST_TEST((node.reply(server.answer(call).bytes()) == recovery::keep));
    }

    [[nodiscard]] redis::queue_settings settings(std::uint64_t nonce) const {
        return {.prefix = "t",
                .batch_size = batch_size_,
                .batches_in_flight = 4,
                .first_nonce = nonce,
                .server_module = module_use::if_available,
                .is_cluster = true};
    }

    std::deque<fake_operation> ops;
    fake_router router;
    script_double server{rules};

  private:
    fake_operation& send(redis::batch_destination to, std::string_view error,
                         std::int64_t deadline) {
        auto& op = submit(a, "k", deadline);
        (void)a.write();
        router.to = to;
        BOOST_TEST((a.reply(error) == recovery::keep));
        return op;
    }

    std::size_t batch_size_;

  public:
    script_queue_bench a{settings(1'000)};
    script_queue_bench b{settings(2'000)};
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_batch_that_was_moved_is_sent_by_the_other_queue, two_nodes) {
    auto& op = submit(a, key_of(7, 0), 500);
    (void)a.write();
    router.to = {.queue = &b.queue, .redirections = 1};
    BOOST_TEST((a.reply(moved) == recovery::keep));
    BOOST_REQUIRE(router.rejections.size() == 1U);
    BOOST_TEST(router.rejections[0].from == &a.queue);
    BOOST_TEST(router.rejections[0].error == "MOVED 3999 127.0.0.1:6381");
    BOOST_TEST(router.rejections[0].group == 7U);
    BOOST_TEST(router.rejections[0].redirections == 0U);
    BOOST_TEST(!router.rejections[0].may_be_divided);
    BOOST_TEST(op.is_held);
    BOOST_TEST(!a.queue.expects_reply());
    BOOST_TEST(!a.queue.wants_to_write());
    BOOST_TEST(!a.queue.next_deadline().has_value());
    BOOST_TEST(a.queue.size() == 0U);
    BOOST_TEST((b.queue.next_deadline() == 500));
    BOOST_TEST(b.queue.size() == 1U);
    const auto sent = test::commands_of(b.write());
    BOOST_REQUIRE(sent.size() == 1U);
    BOOST_TEST(sent[0].at(0) == "EVALSHA");
    BOOST_TEST((b.reply(moved) == recovery::keep)); // the number of redirections went with it
    BOOST_TEST(router.rejections.at(1).redirections == 1U);
    serve(b);
    BOOST_TEST(op.is_allowed());
    BOOST_TEST(b.queue.size() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_batch_that_moves_ends_at_its_deadline_in_the_other_queue, two_nodes) {
    auto& op = send_moved(500);
    BOOST_TEST(!a.queue.expire(500, errc::unavailable));
    BOOST_TEST(b.queue.expire(500, errc::unavailable));
    BOOST_TEST(op.ended(errc::unavailable)); // no node has executed it
    BOOST_TEST(b.write() == "");
    BOOST_TEST(b.queue.size() == 0U);
}

BOOST_FIXTURE_TEST_CASE(asking_comes_directly_before_the_batch_that_was_sent_with_ask, two_nodes) {
    auto& next = submit(b, "k2", 1'000'000, others);
    auto& op = send_asking();
    const auto sent = test::commands_of(b.write());
    BOOST_REQUIRE(sent.size() == 3U);
    BOOST_TEST(sent[0] == test::command{"ASKING"}, boost::test_tools::per_element());
    BOOST_TEST(sent[1].at(0) == "EVALSHA");
    BOOST_TEST(sent[2].at(0) == "EVALSHA");
    BOOST_TEST((b.reply(ok) == recovery::keep));
    BOOST_TEST(op.is_held);
    BOOST_TEST((b.reply(server.answer(sent[1])) == recovery::keep));
    BOOST_TEST(op.is_allowed());
    auto other_server = script_double{others};
    BOOST_TEST((b.reply(other_server.answer(sent[2])) == recovery::keep));
    BOOST_TEST(next.is_allowed());
}

BOOST_FIXTURE_TEST_CASE(a_node_that_is_asked_and_has_no_script_gets_it_before_asking, two_nodes) {
    auto& op = send_asking();
    (void)b.write();
    BOOST_TEST((b.reply(ok) == recovery::keep));
    BOOST_TEST((b.reply(noscript) == recovery::resend_with_script));
    const auto sent = test::commands_of(b.write());
    BOOST_REQUIRE(sent.size() == 3U);
    BOOST_TEST(sent[0].at(0) == "SCRIPT");
    BOOST_TEST(sent[0].at(1) == "LOAD");
    BOOST_TEST(sent[1].at(0) == "ASKING");
    BOOST_TEST(sent[2].at(0) == "EVAL");
    BOOST_TEST((b.reply(test::load_reply) == recovery::keep));
    BOOST_TEST(b.queue.counted.scripts_loaded == 1U);
    BOOST_TEST((b.reply(ok) == recovery::keep));
    BOOST_TEST(b.queue.counted.scripts_loaded == 1U); // ASKING has loaded nothing
    BOOST_TEST(op.is_held);
    BOOST_TEST((b.reply(server.answer(sent[2])) == recovery::keep));
    BOOST_TEST(op.is_allowed());
}

/// ASKING concerns the next command only, so nothing may come between it and the batch.
BOOST_FIXTURE_TEST_CASE(the_question_for_the_server_module_comes_before_asking, two_nodes) {
    b.queue.begin_connection({.server_module = redis::module_state::absent, .origin = {}});
    submit(b, "k2");
    serve(b);
    auto& op = send_asking();
    auto out = std::string{};
    b.queue.write(out, b.position, redis::module_route::first_pause);
    const auto sent = test::commands_of(out);
    BOOST_REQUIRE(sent.size() == 3U);
    BOOST_TEST(sent[0] == (test::command{"COLIMIT.CHECK", "0"}), boost::test_tools::per_element());
    BOOST_TEST(sent[1] == test::command{"ASKING"}, boost::test_tools::per_element());
    BOOST_TEST(sent[2].at(0) == "EVALSHA");
    BOOST_TEST((b.reply(test::unknown_command) == recovery::keep));
    BOOST_TEST((b.reply(ok) == recovery::keep));
    BOOST_TEST(op.is_held);
    BOOST_TEST((b.reply(server.answer(sent[2])) == recovery::keep));
    BOOST_TEST(op.is_allowed());
}

/// The reply to the script says whether that matters.
BOOST_FIXTURE_TEST_CASE(an_error_reply_to_asking_ends_nothing, two_nodes) {
    auto& op = send_asking();
    const auto sent = test::commands_of(b.write());
    BOOST_TEST((b.reply("-ERR This instance has cluster support disabled\r\n") == recovery::keep));
    BOOST_TEST(op.is_held);
    BOOST_TEST((b.reply(server.answer(sent.at(1))) == recovery::keep));
    BOOST_TEST(op.is_allowed());
}

/// The router hears of it with the redirection that follows from it.
BOOST_FIXTURE_TEST_CASE(an_asking_that_is_denied_is_reported_and_known_to_the_router, two_nodes) {
    struct : redis::error_sink {
        void note(const redis::error_report& what) noexcept override { codes.push_back(what.code); }
        std::vector<errc> codes;
    } errors;
    b.queue.report_to(errors);
    (void)send_asking();
    (void)b.write();
    (void)b.reply("-NOPERM User u has no permissions to run the 'asking' command\r\n");
    BOOST_TEST((errors.codes == std::vector{errc::auth_failed}));
    router.to = {.error = errc::auth_failed};
    (void)b.reply(moved);
    BOOST_TEST(!router.rejections.at(0).is_denied);
    BOOST_TEST(router.rejections.at(1).is_denied);
    BOOST_TEST(ops.front().ended(errc::auth_failed));
}

/// A script has removed a key of a slot that is being moved, and used it again, after it may have
/// written others.
BOOST_FIXTURE_TEST_CASE(calls_whose_script_met_a_key_elsewhere_may_have_been_charged, two_nodes) {
    for (const auto* text :
         {"-ERR Script attempted to access a non local key in a cluster node\r\n",
          "-ERR Attempted to access a non local key in a cluster node\r\n"}) {
        auto& op = submit(a, key_of(1, 0));
        (void)a.write();
        BOOST_TEST((a.reply(text) == recovery::keep));
        BOOST_TEST(op.ended(errc::outcome_unknown));
    }
    // The script may have gone on with the other keys.
    auto& op = submit(a, key_of(1, 0));
    const auto sent = a.write_calls();
    const auto answer = test::script_reply{
        .values = {"ERR Script attempted to access a non local key in a cluster node"},
        .nonce = sent.at(0).nonce,
        .statuses = "e"};
    BOOST_TEST((a.reply(answer.bytes()) == recovery::keep));
    BOOST_TEST(op.ended(errc::outcome_unknown));
    BOOST_TEST(router.rejections.empty());
}

BOOST_FIXTURE_TEST_CASE(a_batch_is_not_asking_when_it_is_redirected_again, two_nodes) {
    send_asking();
    (void)b.write();
    (void)b.reply(ok);
    router.to = {.queue = &a.queue, .redirections = 2};
    BOOST_TEST((b.reply(moved) == recovery::keep));
    const auto sent = test::commands_of(a.write());
    BOOST_REQUIRE(sent.size() == 1U);
    BOOST_TEST(sent[0].at(0) == "EVALSHA");
}

BOOST_FIXTURE_TEST_CASE(a_batch_that_is_to_be_tried_again_is_divided_by_key, two_nodes) {
    const auto x = key_of(3, 0);
    const auto y = key_of(3, 1);
    auto expected = std::array{&submit(a, x), &submit(a, y), &submit(a, x), &submit(a, x)};
    auto& gone = submit(a, key_of(3, 2));
    auto& behind = submit(a, key_of(5, 0));
    BOOST_TEST(a.write_calls().size() == 2U);
    a.queue.withdraw(gone, boost::asio::error::operation_aborted);
    router.to = {.queue = &a.queue, .divided = true};
    BOOST_TEST((a.reply(try_again) == recovery::keep));
    BOOST_TEST(router.rejections.at(0).may_be_divided);
    BOOST_TEST(a.queue.size() == 5U); // without the one that was withdrawn
    const auto sent = a.write_calls();
    BOOST_REQUIRE(sent.size() == 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        BOOST_TEST(sent[i].keys.size() == 1U);
        BOOST_TEST(end_of(sent[i].keys[0]) == (i == 0 ? x : y));
    }
    BOOST_TEST(sent[0].calls.size() == 3U);
    BOOST_TEST(sent[1].calls.size() == 1U);
    BOOST_TEST(sent[0].nonce != sent[1].nonce);
    // The batch of the other group was in flight before them.
    a.queue.withdraw(behind, errc::deadline_exceeded);
    BOOST_TEST((a.reply("-ERR\r\n") == recovery::keep));
    for (const auto& call : sent)
        BOOST_TEST((a.reply(server.answer(call).bytes()) == recovery::keep));
    const auto remaining = std::array{99, 99, 98, 97};
    for (std::size_t i = 0; i < expected.size(); ++i) {
        BOOST_TEST(expected[i]->is_allowed());
        BOOST_TEST(expected[i]->result.remaining == remaining[i]);
    }
    BOOST_TEST(a.queue.size() == 0U);
    BOOST_TEST(!a.queue.next_deadline().has_value());
}

/// All of them are fields of the same two hashes, so each part would be refused like the whole.
BOOST_FIXTURE_TEST_CASE(a_batch_of_packed_states_is_not_divided, two_nodes) {
    const auto packed = policy{"p", gcra(100, 1s)}.with_storage(storage::shared_hash);
    for (std::size_t i = 0; i < 2; ++i)
        submit(a, key_of(3, i), 1'000'000, packed);
    BOOST_TEST(a.write_calls().size() == 1U);
    (void)a.reply(try_again);
    BOOST_REQUIRE(router.rejections.size() == 1U);
    BOOST_TEST(!router.rejections[0].may_be_divided);
}

BOOST_FIXTURE_TEST_CASE(the_parts_of_a_batch_may_go_to_another_queue, two_nodes) {
    for (std::size_t i = 0; i < 3; ++i)
        submit(a, key_of(3, i), 100 + static_cast<std::int64_t>(i));
    (void)a.write();
    router.to = {.queue = &b.queue, .asking = true, .divided = true, .redirections = 1};
    BOOST_TEST((a.reply(try_again) == recovery::keep));
    BOOST_TEST(a.queue.size() == 0U);
    BOOST_TEST(!a.queue.next_deadline().has_value());
    BOOST_TEST(b.queue.size() == 3U);
    BOOST_TEST((b.queue.next_deadline() == 100));
    const auto sent = test::commands_of(b.write());
    BOOST_REQUIRE(sent.size() == 6U);
    for (std::size_t i = 0; i < 3; ++i) {
        BOOST_TEST(sent[2 * i].at(0) == "ASKING");
        BOOST_TEST(end_of(sent[2 * i + 1].at(3)) == key_of(3, i));
    }
}

BOOST_FIXTURE_TEST_CASE(a_batch_without_callers_leaves_nothing_when_it_is_divided, two_nodes) {
    for (std::size_t i = 0; i < 2; ++i)
        submit(a, key_of(3, i));
    (void)a.write();
    for (auto& op : ops)
        a.queue.withdraw(op, boost::asio::error::operation_aborted);
    router.to = {.queue = &a.queue, .divided = true};
    BOOST_TEST((a.reply(try_again) == recovery::keep));
    BOOST_TEST(a.queue.size() == 0U);
    BOOST_TEST(a.write() == "");
}

BOOST_FIXTURE_TEST_CASE(a_batch_that_the_router_does_not_take_ends_with_the_error, two_nodes) {
    auto& op = submit(a, "k");
    (void)a.write();
    BOOST_TEST((a.reply(moved) == recovery::keep));
    BOOST_TEST(router.rejections.size() == 1U);
    BOOST_TEST(op.ended(errc::wrong_node));
    BOOST_TEST(a.queue.size() == 0U);
    BOOST_TEST(a.write() == "");
}

BOOST_FIXTURE_TEST_CASE(other_errors_are_no_matter_of_the_router, two_nodes) {
    auto& op = submit(a, "k");
    (void)a.write();
    router.to = {.queue = &b.queue};
    BOOST_TEST((a.reply("-OOM command not allowed\r\n") == recovery::keep));
    BOOST_TEST(router.rejections.empty());
    BOOST_TEST(op.ended(errc::server_error));
}

BOOST_FIXTURE_TEST_CASE(a_batch_may_be_redirected_to_its_own_queue, two_nodes) {
    auto& first = submit(a, key_of(1, 0), 100);
    auto& second = submit(a, key_of(2, 0), 200);
    (void)a.write();
    auto& third = submit(a, key_of(3, 0), 300);
    router.to = {.queue = &a.queue, .redirections = 1};
    BOOST_TEST((a.reply(moved) == recovery::keep));
    BOOST_TEST((a.reply(moved) == recovery::keep));
    BOOST_TEST(a.queue.size() == 3U);
    BOOST_TEST((a.queue.next_deadline() == 100));
    const auto sent = a.write_calls();
    BOOST_REQUIRE(sent.size() == 3U);
    for (std::size_t i = 0; i < 3; ++i)
        BOOST_TEST(end_of(sent[i].keys.at(0)) == key_of(i + 1, 0));
    for (const auto& call : sent)
        BOOST_TEST((a.reply(server.answer(call).bytes()) == recovery::keep));
    for (const auto* op : {&first, &second, &third})
        BOOST_TEST(op->is_allowed());
    BOOST_TEST(a.queue.size() == 0U);
}

BOOST_FIXTURE_TEST_CASE(only_the_batches_of_one_group_are_handed_over, two_nodes) {
    submit(a, key_of(1, 0), 100);
    submit(a, key_of(2, 0), 200);
    submit(a, key_of(1, 0), 300, others);
    BOOST_TEST((hand_over(a, 1, b) == std::vector<std::size_t>{1, 2, 1}));
    BOOST_TEST(a.queue.has_waiting());
    BOOST_TEST(b.queue.has_waiting());
    BOOST_TEST(hand_over(a, 3, b).size() == 1U);
    BOOST_TEST(a.queue.size() == 1U);
    BOOST_TEST(b.queue.size() == 2U);
    BOOST_TEST((a.queue.next_deadline() == 200));
    BOOST_TEST((b.queue.next_deadline() == 100));
    const auto kept = a.write_calls();
    BOOST_REQUIRE(kept.size() == 1U);
    BOOST_TEST(end_of(kept[0].keys.at(0)) == key_of(2, 0));
    BOOST_TEST(!a.queue.has_waiting());
    const auto sent = b.write_calls();
    BOOST_REQUIRE(sent.size() == 2U);
    BOOST_TEST(sent[0].plan == detail::access::data(rules)->wire);
    BOOST_TEST(sent[1].plan == detail::access::data(others)->wire);
}

BOOST_FIXTURE_TEST_CASE(a_batch_that_was_handed_over_takes_no_calls_of_its_old_queue, two_nodes) {
    submit(a, key_of(1, 0));
    hand_over(a, 1, b);
    submit(a, key_of(1, 0));
    submit(a, key_of(1, 1));
    BOOST_TEST(a.queue.size() == 2U);
    BOOST_TEST(b.queue.size() == 1U);
    const auto moved_on = b.write_calls();
    BOOST_REQUIRE(moved_on.size() == 1U);
    BOOST_TEST(moved_on[0].keys.size() == 1U);
    BOOST_TEST(a.write_calls().at(0).keys.size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(batches_that_return_come_before_those_that_were_never_sent, two_nodes) {
    for (std::size_t i = 0; i < 2; ++i) // of a group each, and so in two batches
        submit(a, key_of(1 + i, 0));
    (void)a.write();
    submit(b, key_of(3, 0));
    submit(b, key_of(4, 0));
    router.to = {.queue = &b.queue};
    (void)a.reply(moved);
    (void)a.reply(moved);
    submit(b, key_of(5, 0));
    const auto sent = b.write_calls();
    BOOST_REQUIRE(sent.size() == 4U); // as many as may be in flight
    for (std::size_t i = 0; i < 4; ++i)
        BOOST_TEST(end_of(sent[i].keys.at(0)) == key_of(i + 1, 0));
}

BOOST_FIXTURE_TEST_CASE(batches_that_return_keep_their_place_when_they_are_handed_over, two_nodes) {
    submit(a, key_of(1, 0));
    (void)a.write();
    router.to = {.queue = &a.queue};
    (void)a.reply(moved);
    submit(a, key_of(1, 1));
    submit(b, key_of(1, 2));
    hand_over(a, 1, b);
    const auto sent = b.write_calls();
    BOOST_REQUIRE(sent.size() == 3U);
    BOOST_TEST(end_of(sent[0].keys.at(0)) == key_of(1, 0)); // was in flight
    BOOST_TEST(end_of(sent[1].keys.at(0)) == key_of(1, 2)); // waited here
    BOOST_TEST(end_of(sent[2].keys.at(0)) == key_of(1, 1));
}

/// They may be rejected again, and others are to be served meanwhile.
BOOST_FIXTURE_TEST_CASE(parked_batches_come_after_all_others_and_have_a_share_of_their_own,
                        two_nodes) {
    constexpr std::size_t bound = 4; // of batches in flight, and half of that for those parked
    for (std::size_t i = 0; i < 3; ++i)
        submit(a, key_of(1 + i, 0));
    (void)a.write();
    router.to = {.queue = &a.queue, .parked = true};
    for (std::size_t i = 0; i < 3; ++i)
        (void)a.reply(try_again);
    for (std::size_t i = 0; i < 6; ++i)
        submit(a, key_of(10 + i, 0));
    const auto names = [](const std::vector<test::script_call>& calls) {
        auto ends = std::vector<std::string>{};
        for (const auto& c : calls)
            ends.push_back(end_of(c.keys.at(0)));
        return ends;
    };
    const auto first = a.write_calls();
    BOOST_REQUIRE(first.size() == bound + bound / 2);
    for (std::size_t i = 0; i < bound; ++i)
        BOOST_TEST(names(first)[i] == key_of(10 + i, 0));
    for (std::size_t i = 0; i < bound / 2; ++i)
        BOOST_TEST(names(first)[bound + i] == key_of(1 + i, 0));
    BOOST_TEST(!a.queue.wants_to_write());
    // A reply makes room for another of its kind.
    (void)a.reply(server.answer(first[0]).bytes());
    BOOST_TEST((names(a.write_calls()) == std::vector{key_of(14, 0)}));
    for (std::size_t i = 1; i < bound; ++i)
        (void)a.reply(server.answer(first[i]).bytes());
    BOOST_TEST((names(a.write_calls()) == std::vector{key_of(15, 0)}));
    BOOST_TEST(!router.served.back().was_parked);
    (void)a.reply(try_again); // again
    BOOST_TEST((names(a.write_calls()) == std::vector{key_of(3, 0)}));
    (void)a.reply(server.answer(first[bound + 1]).bytes());
    BOOST_TEST(router.served.back().was_parked);
    BOOST_TEST(router.served.back().group == 2U);
    BOOST_TEST((names(a.write_calls()) == std::vector{key_of(1, 0)}));
}

BOOST_FIXTURE_TEST_CASE(parked_batches_move_expire_end_and_survive_a_lost_connection, two_nodes) {
    auto& first = submit(a, key_of(1, 0), 100);
    auto& second = submit(a, key_of(2, 0), 200);
    auto& third = submit(a, key_of(3, 0), 300);
    (void)a.write();
    router.to = {.queue = &b.queue, .parked = true};
    for (std::size_t i = 0; i < 3; ++i)
        (void)a.reply(try_again);
    BOOST_TEST(b.queue.has_waiting());
    BOOST_TEST(b.queue.expire(100, errc::unavailable));
    BOOST_TEST(first.ended(errc::unavailable));
    // Those that were not sent wait for the next connection.
    BOOST_TEST(b.write_calls().size() == 2U);
    b.queue.lose_connection(0);
    BOOST_TEST(b.queue.size() == 2U);
    // Where no node is likely to serve them they end.
    b.queue.hand_over([&](std::size_t group, bool is_parked) {
        BOOST_TEST(is_parked);
        return group == 2 ? nullptr : &a.queue;
    });
    b.queue.move_deadlines(a.queue);
    BOOST_TEST(second.ended(errc::unavailable));
    BOOST_TEST(!b.queue.has_waiting());
    const auto sent = a.write_calls();
    BOOST_REQUIRE(sent.size() == 1U);
    BOOST_TEST((a.reply(server.answer(sent[0]).bytes()) == recovery::keep));
    BOOST_TEST(third.is_allowed());
    // Withdrawn ones leave nothing.
    auto& gone = submit(a, key_of(4, 0));
    (void)a.write();
    router.to = {.queue = &a.queue, .parked = true};
    (void)a.reply(try_again);
    a.queue.withdraw(gone, errc::closed);
    (void)a.write();
    BOOST_TEST(a.queue.size() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_batch_that_no_node_serves_ends_with_the_error_of_the_router, two_nodes) {
    auto& op = submit(a, "k");
    (void)a.write();
    router.to = {.error = errc::unavailable};
    BOOST_TEST((a.reply(moved) == recovery::keep));
    BOOST_TEST(op.ended(errc::unavailable));
    BOOST_TEST(a.queue.size() == 0U);
}

BOOST_FIXTURE_TEST_CASE(deadlines_of_two_queues_are_merged_in_their_order, two_nodes) {
    for (const std::int64_t deadline : {10, 30, 50, 50, 70})
        submit(a, key_of(1, 0), deadline);
    for (const std::int64_t deadline : {20, 30, 60})
        submit(b, key_of(1, 0), deadline);
    hand_over(a, 1, b);
    BOOST_TEST(b.queue.expire(30, errc::unavailable));
    const auto first = b.take_done();
    const auto number_of = [&](const detail::operation* op) {
        for (std::size_t i = 0; i < ops.size(); ++i)
            if (&ops[i] == op)
                return i;
        return ops.size();
    };
    auto order = std::vector<std::size_t>{};
    for (const auto* op : first)
        order.push_back(number_of(op));
    BOOST_TEST((order == std::vector<std::size_t>{0, 5, 6, 1}));
    BOOST_TEST((b.queue.next_deadline() == 50));
    BOOST_TEST(b.queue.expire(1'000, errc::unavailable));
    order.clear();
    for (const auto* op : b.take_done())
        order.push_back(number_of(op));
    BOOST_TEST((order == std::vector<std::size_t>{2, 3, 7, 4}));
    BOOST_TEST(b.write() == ""); // which also retires a batch without callers
    BOOST_TEST(b.queue.size() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_call_that_was_withdrawn_in_flight_is_not_sent_to_the_other_node,
                        two_nodes) {
    auto& gone = submit(a, key_of(1, 0));
    auto& kept = submit(a, key_of(1, 1));
    (void)a.write();
    a.queue.withdraw(gone, boost::asio::error::operation_aborted);
    router.to = {.queue = &b.queue};
    (void)a.reply(moved);
    const auto sent = b.write_calls();
    BOOST_REQUIRE(sent.size() == 1U);
    BOOST_REQUIRE(sent[0].keys.size() == 1U);
    BOOST_TEST(end_of(sent[0].keys[0]) == key_of(1, 1));
    BOOST_TEST((b.reply(server.answer(sent[0]).bytes()) == recovery::keep));
    BOOST_TEST(kept.is_allowed());
}

BOOST_FIXTURE_TEST_CASE(a_batch_that_all_have_left_is_sent_nowhere, two_nodes) {
    auto& gone = submit(a, "k");
    (void)a.write();
    a.queue.withdraw(gone, boost::asio::error::operation_aborted);
    router.to = {.queue = &b.queue};
    (void)a.reply(moved);
    BOOST_TEST(router.rejections.size() == 1U); // which learns of the new map
    BOOST_TEST(b.write() == "");
    BOOST_TEST(b.queue.size() == 0U);
    BOOST_TEST(a.queue.size() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_call_can_be_withdrawn_from_the_queue_to_which_it_was_moved, two_nodes) {
    auto& op = send_moved();
    BOOST_TEST(op.batch->queue == &b.queue);
    BOOST_TEST(!redis::call_queue::is_sent(op));
    b.queue.withdraw(op, errc::deadline_exceeded);
    BOOST_TEST(b.take_done().size() == 1U);
    BOOST_TEST(b.write() == "");
}

BOOST_FIXTURE_TEST_CASE(a_lost_connection_ends_no_batch_that_has_moved_on, two_nodes) {
    auto& op = send_moved();
    a.queue.lose_connection(a.position);
    BOOST_TEST(op.is_held);
    serve(b);
    BOOST_TEST(op.is_allowed());
}

BOOST_FIXTURE_TEST_CASE(joint_checks_are_redirected_as_a_whole, two_nodes) {
    const auto keys = std::array{key_of(1, 0), key_of(1, 1)};
    auto checks = std::array{check_item{.key = keys[0], .policy = rules},
                             check_item{.key = keys[1], .policy = rules}};
    auto& op = ops.emplace_back(detail::call_request{}, 500);
    op.checks = checks;
    const auto refusal = a.queue.submit_checks(op);
    BOOST_REQUIRE_MESSAGE(!refusal, refusal.message());
    const auto before = a.write_calls();
    router.to = {.queue = &b.queue};
    BOOST_TEST((a.reply(moved) == recovery::keep));
    BOOST_TEST(router.rejections.at(0).group == 1U);
    BOOST_TEST(!router.rejections.at(0).may_be_divided);
    BOOST_TEST(a.queue.size() == 0U);
    BOOST_TEST(b.queue.size() == 2U);
    BOOST_TEST((b.queue.next_deadline() == 500));
    const auto sent = b.write_calls();
    BOOST_REQUIRE(sent.size() == 1U);
    BOOST_TEST(sent[0].keys == before.at(0).keys, boost::test_tools::per_element());
    BOOST_TEST(sent[0].plan == before[0].plan);
    auto answer = test::script_reply{.nonce = sent[0].nonce, .granted = 2};
    answer.values.resize(2);
    BOOST_TEST((b.reply(answer.bytes()) == recovery::keep));
    BOOST_TEST(op.is_allowed());
    BOOST_TEST(checks[1].result.remaining == 99);
}

BOOST_AUTO_TEST_CASE(every_call_ends_once_wherever_its_batches_move) {
    for (std::size_t step = 1; step < 8; ++step) {
        auto f = two_nodes{2};
        for (std::size_t i = 0; i < 40; ++i)
            f.submit(i % 2 == 0 ? f.a : f.b, key_of(i % 5, i % 3));
        auto turn = std::size_t{0};
        auto rejected = std::size_t{0};
        while (f.a.queue.size() + f.b.queue.size() != 0)
            for (auto* node : {&f.a, &f.b})
                for (const auto& call : node->write_calls()) {
                    if (++turn % step == 0 && rejected++ < 100) {
                        const auto divided = turn % 3 == 0 && call.keys.size() > 1;
                        f.router.to = {.queue = turn % 2 == 0 ? &f.a.queue : &f.b.queue,
                                       .divided = divided};
                        BOOST_TEST((node->reply(moved) == recovery::keep));
                    } else {
                        BOOST_TEST((node->reply(f.server.answer(call).bytes()) == recovery::keep));
                    }
                }
        BOOST_TEST(f.a.take_done().size() + f.b.take_done().size() == f.ops.size());
        for (const auto& op : f.ops)
            BOOST_TEST(op.is_allowed());
        BOOST_TEST(!f.a.queue.next_deadline().has_value());
        BOOST_TEST(!f.b.queue.next_deadline().has_value());
    }
}

BOOST_AUTO_TEST_SUITE_END()
