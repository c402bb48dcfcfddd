// SPDX-License-Identifier: BSL-1.0
//
// Which problem an event names as its cause: one that explains it and is not older than what the
// server did since, else the error of the call itself, or nothing.

#include <limiter/limiter_core.hpp>
#include <limiter/redis_reports.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(event_causes)

namespace {

using namespace colimit;

/// Problems are noted at the time of the steady clock: this is later than all of them.
constexpr std::int64_t later = INT64_MAX / 2;

struct fixture {
    fixture() {
        settings.on_event = [this](const event& e) { events.push_back(e); };
        reports.emplace(*core, settings, "");
    }

    void note(errc code, std::string_view text) {
        reports->problems().note({.code = code, .phase = phase::reply, .text = text});
    }

    /// A call that ended with this error was decided by the failure mode.
    [[nodiscard]] problem cause_of_fallback(errc why, std::int64_t began_at) {
        reports->on_fallback(
            {.why = why, .began_at = began_at, .now = began_at, .reached = phase::connect});
        return only_event(event_kind::fallback_started).cause.value();
    }

    [[nodiscard]] event only_event(event_kind kind) {
        context.restart();
        context.run();
        BOOST_REQUIRE(events.size() == 1U);
        BOOST_TEST(events[0].kind == kind);
        return events[0];
    }

    boost::asio::io_context context;
    config settings;
    std::shared_ptr<detail::limiter_core> core =
        std::make_shared<detail::limiter_core>(context.get_executor(), settings, true);
    std::optional<detail::redis_reports> reports;
    std::vector<event> events;
};

} // namespace

BOOST_FIXTURE_TEST_CASE(the_cause_of_a_fallback_is_a_problem_that_explains_its_error, fixture) {
    note(errc::unavailable, "gone");
    const auto cause = cause_of_fallback(errc::outcome_unknown, 0);
    BOOST_TEST(cause.text == "gone");
    BOOST_TEST((cause.code == errc::unavailable));
}

BOOST_FIXTURE_TEST_CASE(a_problem_before_a_call_that_the_server_decided_is_no_cause_of_a_fallback,
                        fixture) {
    note(errc::unavailable, "gone");
    reports->on_decision(later);
    const auto cause = cause_of_fallback(errc::deadline_exceeded, later + 1);
    BOOST_TEST(cause.text == "");
    BOOST_TEST((cause.code == errc::deadline_exceeded));
    BOOST_TEST(cause.phase == phase::connect);
}

BOOST_FIXTURE_TEST_CASE(a_problem_after_a_call_has_begun_is_its_cause_whatever_was_decided_since,
                        fixture) {
    note(errc::unavailable, "gone");
    reports->on_decision(later);
    BOOST_TEST(cause_of_fallback(errc::outcome_unknown, 0).text == "gone");
}

BOOST_FIXTURE_TEST_CASE(an_error_of_the_server_is_not_caused_by_a_lost_connection, fixture) {
    note(errc::unavailable, "gone");
    const auto cause = cause_of_fallback(errc::server_error, 0);
    BOOST_TEST(cause.text == "");
    BOOST_TEST((cause.code == errc::server_error));
}

BOOST_FIXTURE_TEST_CASE(an_error_of_the_server_is_caused_by_its_words, fixture) {
    note(errc::server_error, "OOM");
    BOOST_TEST(cause_of_fallback(errc::server_error, 0).text == "OOM");
}

BOOST_FIXTURE_TEST_CASE(a_breaker_opens_because_of_a_problem_since_the_last_decision, fixture) {
    for (const auto code : {errc::unavailable, errc::server_error, errc::auth_failed}) {
        note(code, "why");
        reports->send_due({.now = 0, .scripts_loaded = 0, .is_breaker_open = true});
        BOOST_TEST(only_event(event_kind::breaker_opened).cause.value().text == "why");
        events.clear();
        reports->send_due({.now = 0, .scripts_loaded = 0, .is_breaker_open = false});
        BOOST_TEST(!only_event(event_kind::breaker_closed).cause);
        events.clear();
    }
}

BOOST_FIXTURE_TEST_CASE(no_problem_before_a_call_that_the_server_decided_opens_a_breaker, fixture) {
    note(errc::unavailable, "gone");
    reports->on_decision(later);
    reports->send_due({.now = 0, .scripts_loaded = 0, .is_breaker_open = true});
    BOOST_TEST(!only_event(event_kind::breaker_opened).cause);
}

BOOST_FIXTURE_TEST_CASE(a_problem_of_single_keys_opens_no_breaker, fixture) {
    note(errc::key_conflict, "a list");
    reports->send_due({.now = 0, .scripts_loaded = 0, .is_breaker_open = true});
    BOOST_TEST(!only_event(event_kind::breaker_opened).cause);
}

BOOST_AUTO_TEST_SUITE_END()
