// SPDX-License-Identifier: BSL-1.0
//
// The conversation with a Sentinel that the test plays.

#include <redis/sentinel/sentinel_requests.hpp>
#include <support/requests_bench.hpp>
#include <support/unit_test.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(conversations_with_sentinels)

namespace {

using namespace colimit;
using redis::recovery;
using test::command;

struct problems final : redis::error_sink {
    void note(const redis::error_report& what) noexcept override {
        texts.push_back(std::string{what.text} + (what.is_own ? " " : "") +
                        std::string{what.detail});
    }
    std::vector<std::string> texts;
};

const auto both = std::vector<command>{{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mine"},
                                       {"SENTINEL", "MASTER", "mine"}};

struct conversation {
    conversation() {
        requests.report_to(heard);
        requests.begin_connection({});
    }

    [[nodiscard]] std::vector<command> asked() { return test::asked_by(requests); }
    std::optional<recovery> hear(std::string_view bytes) { return test::tell(requests, bytes); }
    void begin() {
        BOOST_TEST(
            (asked() == std::vector<command>{{"SUBSCRIBE", "+switch-master"}, both[0], both[1]}));
        hear(confirmation);
    }
    void reconnect() {
        requests.lose_connection(100);
        requests.begin_connection({});
    }
    /// Both replies that name this master.
    void name(std::string_view port, std::string_view epoch) {
        BOOST_TEST((hear(address(port)) == recovery::keep));
        BOOST_TEST((hear("%2\r\n$4\r\nname\r\n$4\r\nmine\r\n$12\r\nconfig-epoch\r\n$1\r\n" +
                         std::string{epoch} + "\r\n") == recovery::keep));
    }
    [[nodiscard]] static std::string address(std::string_view port) {
        return "*2\r\n$9\r\n127.0.0.1\r\n$4\r\n" + std::string{port} + "\r\n";
    }

    static constexpr std::string_view confirmation =
        ">3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n";

    problems heard;
    redis::sentinel_requests requests{"mine"};
};

[[nodiscard]] std::string published(std::string_view payload,
                                    std::string_view kind = "$7\r\nmessage",
                                    std::string_view channel = "$14\r\n+switch-master") {
    return ">3\r\n" + std::string{kind} + "\r\n" + std::string{channel} + "\r\n$" +
           std::to_string(payload.size()) + "\r\n" + std::string{payload} + "\r\n";
}

constexpr std::string_view no_such_master = "-ERR No such master with that name\r\n";

/// The replies of a Sentinel that does not know the master, to the question and to the next one,
/// which asks for the names that it knows.
void ignore_the_master(conversation& c) {
    c.hear("_\r\n");
    c.hear(no_such_master);
    (void)c.asked();
    c.hear("_\r\n");
    c.hear("$0\r\n\r\n");
    c.hear(no_such_master);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_connection_subscribes_and_asks_and_asks_again_when_told_to) {
    auto c = conversation{};
    BOOST_TEST(
        (c.asked() == std::vector<command>{{"SUBSCRIBE", "+switch-master"}, both[0], both[1]}));
    BOOST_TEST(c.requests.expects_reply());
    BOOST_TEST(c.requests.oldest_sent_at() == 7);
    c.hear(conversation::confirmation);
    c.name("7001", "3");
    const auto said = c.requests.take_statement().value();
    BOOST_TEST((said.master == redis::host_port{"127.0.0.1", 7'001}));
    BOOST_TEST(said.epoch == 3);
    BOOST_TEST(!c.requests.take_statement());
    BOOST_TEST(c.asked().empty());
    c.requests.ask();
    BOOST_TEST((c.asked() == both));
    c.requests.ask(); // while the replies are outstanding
    BOOST_TEST(c.asked().empty());
    c.name("7001", "3");
    BOOST_TEST((c.asked() == both));
    BOOST_TEST(c.heard.texts.empty());
}

BOOST_AUTO_TEST_CASE(a_host_is_the_same_in_capital_letters) {
    auto c = conversation{};
    c.begin();
    c.hear("*2\r\n$11\r\nRedis-1.EXA\r\n$4\r\n7001\r\n");
    c.hear("*2\r\n$12\r\nconfig-epoch\r\n$1\r\n3\r\n");
    BOOST_TEST(
        (c.requests.take_statement().value().master == redis::host_port{"redis-1.exa", 7'001}));
}

BOOST_AUTO_TEST_CASE(a_published_failover_of_this_master_is_followed_by_a_question) {
    auto c = conversation{};
    c.begin();
    c.name("7001", "3");
    c.hear(published("other 127.0.0.1 7001 127.0.0.1 7002"));
    c.hear(published("mine2 127.0.0.1 7001 127.0.0.1 7002"));
    c.hear(published("mine"));
    c.hear(published("mine x", "$11\r\nunsubscribe"));
    c.hear(published("mine x", "$7\r\nmessage", "$6\r\n+sdown"));
    c.hear(">2\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n");
    BOOST_TEST(c.asked().empty());
    c.hear(published("mine 127.0.0.1 7001 127.0.0.1 7002"));
    BOOST_TEST((c.asked() == both));
}

BOOST_AUTO_TEST_CASE(a_user_who_may_not_subscribe_still_asks) {
    auto c = conversation{};
    (void)c.asked();
    BOOST_TEST((c.hear("-NOPERM this user has no permissions to access one of the channels\r\n") ==
                recovery::keep));
    c.name("7001", "3");
    BOOST_TEST(c.requests.take_statement().has_value());
    BOOST_TEST(c.heard.texts.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_sentinel_that_does_not_know_the_master_is_asked_for_the_names_it_knows) {
    auto c = conversation{};
    c.begin();
    c.hear("_\r\n");
    c.hear(no_such_master);
    BOOST_TEST(!c.requests.take_statement().has_value()); // the reason is not known yet
    BOOST_TEST((c.asked() == std::vector<command>{both[0], {"INFO", "sentinel"}, both[1]}));
    c.hear("*-1\r\n");
    const auto info = std::string{"# Sentinel\r\nsentinel_masters:2\r\n"
                                  "master0:name=one,status=ok,address=127.0.0.1:7001,slaves=2\r\n"
                                  "master1:name=two,status=ok,address=127.0.0.1:7002,slaves=2\r\n"};
    c.hear("$" + std::to_string(info.size()) + "\r\n" + info + "\r\n");
    c.hear(no_such_master);
    BOOST_TEST(c.heard.texts ==
                   (std::vector<std::string>{"it knows no master mine; it knows one, two"}),
               boost::test_tools::per_element());
    BOOST_TEST(!c.requests.take_statement().value().master);
    BOOST_TEST(c.asked().empty()); // until the next poll
    c.requests.ask();
    (void)c.asked();
    c.hear(conversation::address("7001")); // it knows the master now
    c.hear("*0\r\n");
    c.hear("%0\r\n");
    c.requests.ask();
    BOOST_TEST((c.asked() == both));
}

BOOST_AUTO_TEST_CASE(each_question_begins_afresh) {
    auto c = conversation{};
    c.begin();
    c.name("7001", "3");
    (void)c.requests.take_statement();
    c.requests.ask();
    BOOST_TEST((c.asked() == both));
    ignore_the_master(c); // it was removed
    const auto unknown = c.requests.take_statement().value();
    BOOST_TEST(!unknown.master);
    BOOST_TEST(unknown.epoch == 0);
    c.reconnect();
    c.begin(); // without the question for the names

    c.name("0000", "3"); // not a valid port
    c.requests.ask();
    (void)c.asked();
    BOOST_TEST(!c.requests.take_statement());
    ignore_the_master(c);
    BOOST_TEST(c.requests.take_statement().has_value());
    c.reconnect();
    c.begin();
    c.name("7001", "x");
    const auto said = c.requests.take_statement().value();
    BOOST_TEST((said.master == redis::host_port{"127.0.0.1", 7'001}));
    BOOST_TEST(said.epoch == 0);
}

BOOST_AUTO_TEST_CASE(only_the_second_answer_of_a_connection_shows_that_the_sentinel_serves) {
    auto c = conversation{};
    for (auto connections = 0; connections < 2; ++connections) {
        c.begin();
        c.name("7001", "3");
        BOOST_TEST(!c.requests.has_ended());
        (void)c.requests.take_statement();
        c.requests.ask();
        (void)c.asked();
        c.name("7001", "3");
        BOOST_TEST(c.requests.has_ended());
        (void)c.requests.take_statement();
        BOOST_TEST(!c.requests.has_ended());
        c.reconnect();
    }
}

BOOST_AUTO_TEST_CASE(an_address_that_is_not_valid_is_reported_and_not_used) {
    for (const auto* const reply :
         {"*2\r\n$0\r\n\r\n$4\r\n7001\r\n", "*2\r\n$2\r\n.h\r\n$4\r\n7001\r\n",
          "*2\r\n$3\r\na b\r\n$4\r\n7001\r\n", "*2\r\n$1\r\nh\r\n$1\r\n0\r\n",
          "*2\r\n$1\r\nh\r\n$5\r\n65536\r\n", "*2\r\n$1\r\nh\r\n$2\r\n7x\r\n"}) {
        auto c = conversation{};
        c.begin();
        BOOST_TEST((c.hear(reply) == recovery::keep));
        c.hear(no_such_master);
        BOOST_TEST(!c.requests.take_statement().has_value());
        BOOST_TEST(c.heard.texts.size() == 1U);
    }
}

BOOST_AUTO_TEST_CASE(replies_that_do_not_fit_end_the_connection) {
    for (const auto* const reply :
         {"+OK\r\n", "*1\r\n$1\r\nh\r\n", ":1\r\n", "*3\r\n$1\r\nh\r\n$4\r\n7001\r\n$1\r\nx\r\n"}) {
        auto c = conversation{};
        c.begin();
        BOOST_TEST(!c.hear(reply));
    }
    auto c = conversation{};
    (void)c.asked();
    BOOST_TEST(!c.hear("+OK\r\n")); // to SUBSCRIBE
    auto other = conversation{};
    other.begin();
    other.name("7001", "1");
    BOOST_TEST(!other.hear("+OK\r\n")); // to nothing
}

BOOST_AUTO_TEST_CASE(a_user_who_may_not_ask_is_refused) {
    auto c = conversation{};
    c.begin();
    BOOST_TEST((c.hear("-NOPERM this user has no permissions to run the 'sentinel' command\r\n") ==
                recovery::reconnect_late));
    BOOST_TEST(c.heard.texts.size() == 1U);
    auto address_only = conversation{};
    address_only.begin();
    address_only.hear(conversation::address("7001"));
    BOOST_TEST((address_only.hear("-NOPERM no permissions for 'sentinel|master'\r\n") ==
                recovery::reconnect_late));
    BOOST_TEST(address_only.heard.texts.size() == 1U);
    BOOST_TEST(!address_only.requests.take_statement());
}

BOOST_AUTO_TEST_CASE(nothing_of_a_lost_connection_is_left) {
    auto c = conversation{};
    c.begin();
    c.hear(conversation::address("7001"));
    c.reconnect();
    BOOST_TEST(!c.requests.expects_reply());
    c.begin();
    c.name("7001", "4");
    c.reconnect();
    BOOST_TEST(!c.requests.take_statement());
    c.begin();
    c.name("7002", "4");
    BOOST_TEST(
        (c.requests.take_statement().value().master == redis::host_port{"127.0.0.1", 7'002}));
}

BOOST_AUTO_TEST_SUITE_END()
