// SPDX-License-Identifier: BSL-1.0
//
// The conversation with a node that is asked for the map, and that the test plays.

#include <redis/cluster/map_requests.hpp>
#include <support/requests_bench.hpp>
#include <support/unit_test.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(conversations_with_nodes)

namespace {

using namespace colimit;
using redis::recovery;
using test::command;

struct conversation {
    conversation() { requests.begin_connection({}); }

    [[nodiscard]] std::vector<command> asked() { return test::asked_by(requests); }
    std::optional<recovery> hear(std::string_view bytes) { return test::tell(requests, bytes); }
    /// Asks, and hears both replies.
    redis::map_requests::answer answer_to(std::string_view info, std::string_view slots) {
        requests.ask("me");
        (void)asked();
        BOOST_TEST((hear(info) == recovery::keep));
        BOOST_TEST(!requests.has_ended());
        BOOST_TEST((hear(slots) == recovery::keep));
        BOOST_TEST(requests.has_ended());
        return requests.take_answer().value();
    }

    redis::map_requests requests;
};

const auto both = std::vector<command>{{"CLUSTER", "INFO"}, {"CLUSTER", "SLOTS"}};

constexpr std::string_view info = "$47\r\ncluster_state:ok\r\ncluster_current_epoch:6\r\nend:\r\n";
/// All slots are those of the node itself, whose host is not known.
constexpr std::string_view slots =
    "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$0\r\n\r\n:7001\r\n$2\r\nid\r\n";
constexpr std::string_view denied = "-NOPERM this user has no permissions to run the command\r\n";

} // namespace

BOOST_FIXTURE_TEST_CASE(both_commands_are_one_write_and_their_replies_one_answer, conversation) {
    BOOST_TEST(asked().empty()); // not before it is to ask
    requests.ask("me");
    BOOST_TEST((asked() == both));
    BOOST_TEST(asked().empty());
    BOOST_TEST(requests.expects_reply());
    BOOST_TEST(requests.oldest_sent_at() == 7);
    BOOST_TEST((hear(info) == recovery::keep));
    BOOST_TEST(requests.expects_reply());
    BOOST_TEST(!requests.take_answer().has_value());
    BOOST_TEST((hear(slots) == recovery::keep));
    BOOST_TEST(!requests.expects_reply());
    BOOST_TEST(!requests.wants_to_write());
    const auto answer = requests.take_answer().value();
    BOOST_TEST((answer.info == redis::cluster_info{.is_ok = true, .epoch = 6}));
    BOOST_REQUIRE(answer.slots.map.has_value());
    BOOST_TEST((*answer.slots.map->owner(16'383) == redis::host_port{"me", 7001}));
    BOOST_TEST(!requests.take_answer().has_value()); // only once
    BOOST_TEST(!requests.has_ended());
}

BOOST_FIXTURE_TEST_CASE(a_node_that_denies_cluster_info_has_a_map_without_facts, conversation) {
    const auto answer = answer_to(denied, slots);
    BOOST_TEST(!answer.info.has_value());
    BOOST_TEST(answer.slots.map.has_value());
}

BOOST_FIXTURE_TEST_CASE(a_node_that_denies_cluster_slots_has_no_map, conversation) {
    const auto answer = answer_to(info, denied);
    BOOST_TEST(answer.info.has_value());
    BOOST_TEST(!answer.slots.map.has_value());
    BOOST_TEST(!answer.slots.problem.empty());
}

BOOST_FIXTURE_TEST_CASE(facts_are_not_kept_for_the_next_question, conversation) {
    (void)answer_to(info, slots);
    BOOST_TEST(!answer_to(denied, slots).info.has_value());
}

BOOST_FIXTURE_TEST_CASE(the_host_is_that_of_the_node_that_is_asked, conversation) {
    requests.ask("first");
    requests.ask("second");
    (void)asked();
    (void)hear(info);
    (void)hear(slots);
    BOOST_TEST(requests.take_answer().value().slots.map->owner(0)->host == "second");
}

BOOST_FIXTURE_TEST_CASE(a_connection_that_is_lost_between_the_replies_leaves_no_answer,
                        conversation) {
    requests.ask("me");
    (void)asked();
    (void)hear(info);
    requests.lose_connection(0);
    BOOST_TEST(!requests.expects_reply());
    BOOST_TEST(!requests.has_ended());
    BOOST_TEST(!requests.wants_to_write()); // another node is asked, perhaps
    BOOST_TEST(!hear(slots).has_value());
    requests.ask("me");
    BOOST_TEST((asked() == both));
    (void)hear(denied);
    (void)hear(slots);
    BOOST_TEST(!requests.take_answer().value().info.has_value());
}

BOOST_FIXTURE_TEST_CASE(a_question_that_was_not_sent_yet_is_sent_on_the_next_connection,
                        conversation) {
    requests.ask("me");
    requests.lose_connection(0);
    BOOST_TEST((asked() == both));
}

/// The finder would take it for the answer of the node that it asks next.
BOOST_FIXTURE_TEST_CASE(an_answer_that_was_not_taken_is_lost_with_its_connection, conversation) {
    requests.ask("me");
    (void)asked();
    (void)hear(info);
    (void)hear(slots);
    BOOST_TEST(!hear(slots).has_value());
    requests.lose_connection(0);
    BOOST_TEST(!requests.has_ended());
    BOOST_TEST(!requests.take_answer().has_value());
}

BOOST_FIXTURE_TEST_CASE(a_reply_to_nothing_is_not_one, conversation) {
    BOOST_TEST(!hear(slots).has_value());
    BOOST_TEST(!hear("-ERR\r\n").has_value());
    (void)answer_to(info, slots);
    BOOST_TEST(!hear(info).has_value());
    BOOST_TEST(!requests.has_ended());
}

BOOST_AUTO_TEST_SUITE_END()
