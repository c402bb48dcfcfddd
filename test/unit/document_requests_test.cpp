// SPDX-License-Identifier: BSL-1.0
//
// The conversation about a published document with a server that the test plays.

#include <redis/document/document_requests.hpp>
#include <support/requests_bench.hpp>
#include <support/unit_test.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(conversations_about_documents)

namespace {

using namespace colimit;
using redis::recovery;
using test::command;
using commands = std::vector<command>;

struct problems final : redis::error_sink {
    void note(const redis::error_report& what) noexcept override {
        codes.push_back(what.code);
        texts.emplace_back(what.text);
    }
    std::vector<errc> codes;
    std::vector<std::string> texts;
};

struct conversation {
    conversation() { requests.report_to(errors); }

    [[nodiscard]] commands asked() { return test::asked_by(requests); }
    std::optional<recovery> hear(std::string_view bytes) { return test::tell(requests, bytes); }

    problems errors;
    redis::document_requests requests{"x:policies"};
};

const auto for_version = commands{{"HMGET", "x:policies", "version"}};
const auto for_document = commands{{"HMGET", "x:policies", "version", "document"}};

} // namespace

BOOST_AUTO_TEST_CASE(the_version_and_then_the_document_are_asked_for) {
    auto c = conversation{};
    BOOST_TEST(!c.requests.wants_to_write());
    c.requests.ask_version();
    BOOST_TEST((c.asked() == for_version));
    BOOST_TEST(c.requests.expects_reply());
    BOOST_TEST((c.hear("*1\r\n$1\r\n8\r\n") == recovery::keep));
    BOOST_TEST(!c.requests.expects_reply());
    BOOST_TEST(!c.requests.has_ended()); // the first one does not make the next pause short
    auto answer = c.requests.take_answer();
    BOOST_TEST_REQUIRE(answer.has_value());
    BOOST_TEST((answer->version == "8"));
    BOOST_TEST(!answer->has_document);
    BOOST_TEST(!c.requests.take_answer().has_value());

    c.requests.ask_document();
    c.requests.ask_version(); // which the document brings, too
    BOOST_TEST((c.asked() == for_document));
    BOOST_TEST(!c.requests.has_ended());
    BOOST_TEST((c.hear("*2\r\n$1\r\n9\r\n$2\r\n{}\r\n") == recovery::keep));
    BOOST_TEST(c.requests.has_ended());
    answer = c.requests.take_answer();
    BOOST_TEST_REQUIRE(answer.has_value());
    BOOST_TEST(answer->has_document);
    BOOST_TEST((answer->version == "9"));
    BOOST_TEST((answer->document == "{}"));
    BOOST_TEST(answer->error.empty());
    BOOST_TEST(c.errors.texts.empty());
}

BOOST_AUTO_TEST_CASE(one_question_is_asked_at_a_time) {
    auto c = conversation{};
    c.requests.ask_version();
    (void)c.asked();
    c.requests.ask_version();
    BOOST_TEST(!c.requests.wants_to_write());
    (void)c.hear("*1\r\n_\r\n");
    BOOST_TEST((c.asked() == for_version));
}

BOOST_AUTO_TEST_CASE(a_field_that_is_missing_is_distinguished_from_an_empty_one) {
    auto c = conversation{};
    c.requests.ask_document();
    (void)c.asked();
    BOOST_TEST((c.hear("*2\r\n$-1\r\n$0\r\n\r\n") == recovery::keep));
    const auto answer = c.requests.take_answer();
    BOOST_TEST_REQUIRE(answer.has_value());
    BOOST_TEST(!answer->version.has_value());
    BOOST_TEST((answer->document == ""));
}

BOOST_AUTO_TEST_CASE(an_error_reply_is_reported_and_is_an_answer) {
    auto c = conversation{};
    c.requests.ask_version();
    (void)c.asked();
    BOOST_TEST((c.hear("-NOPERM no\r\n") == recovery::keep));
    const auto answer = c.requests.take_answer();
    BOOST_TEST_REQUIRE(answer.has_value());
    BOOST_TEST(answer->error == "NOPERM no");
    BOOST_TEST((c.errors.texts == std::vector<std::string>{"NOPERM no"}));
    BOOST_TEST((c.errors.codes == std::vector{errc::auth_failed}));
    c.requests.ask_version();
    (void)c.asked();
    BOOST_TEST((c.hear("-LOADING wait\r\n") == recovery::server_busy));
    c.requests.ask_version();
    (void)c.asked();
    BOOST_TEST((c.hear("-NOAUTH who\r\n") == recovery::reconnect_late));
}

BOOST_AUTO_TEST_CASE(another_reply_ends_the_connection) {
    for (const std::string_view wrong :
         {"+OK\r\n", ":1\r\n", "*2\r\n$1\r\n1\r\n$1\r\n2\r\n", "*0\r\n", "$-1\r\n"}) {
        auto c = conversation{};
        c.requests.ask_version();
        (void)c.asked();
        BOOST_TEST(!c.hear(wrong).has_value(), wrong);
    }
    auto c = conversation{};
    BOOST_TEST(!c.hear("*1\r\n$1\r\n8\r\n").has_value()); // it was not asked for
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_a_connection_that_was_lost) {
    auto c = conversation{};
    c.requests.ask_version();
    (void)c.asked();
    (void)c.hear("*1\r\n$1\r\n8\r\n");
    c.requests.ask_document();
    (void)c.asked();
    c.requests.ask_version();
    c.requests.lose_connection(100);
    BOOST_TEST(!c.requests.take_answer().has_value());
    BOOST_TEST(!c.requests.expects_reply());
    BOOST_TEST(!c.requests.wants_to_write());
}

BOOST_AUTO_TEST_SUITE_END()
