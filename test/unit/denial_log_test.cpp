// SPDX-License-Identifier: BSL-1.0
//
// Denials: reported once per incident, never more often than once per second with the same message,
// and never lost.

#include <boost/test/unit_test.hpp>

#include <limiter/denial_log.hpp>

#include <cstdint>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(denial_logs)

using namespace colimit;
using detail::denial_log;

namespace {

constexpr auto second = denial_log::interval;

[[nodiscard]] detail::problem_record denial(std::string_view text) {
    auto made = detail::problem_record{.code = errc::auth_failed,
                                       .phase = phase::script,
                                       .text = {},
                                       .first = {},
                                       .last = {},
                                       .count = 1};
    (void)made.text.append(text);
    return made;
}

/// The words of the denial that is to be reported.
[[nodiscard]] std::string taken(denial_log& log, std::int64_t now) {
    const auto* found = log.take(now);
    return found == nullptr ? "none" : std::string{found->text.view()};
}

} // namespace

BOOST_AUTO_TEST_CASE(a_denial_is_reported_once_however_often_and_long_it_is_repeated) {
    auto log = denial_log{};
    BOOST_TEST(!log.due_at());
    BOOST_TEST(taken(log, 0) == "none");
    for (std::int64_t now = 0; now < 10 * second; now += second / 10) {
        log.note(denial("no SET"), 1, now);
        BOOST_TEST(log.due_at().has_value() == (now == 0));
        BOOST_TEST(taken(log, now) == (now == 0 ? "no SET" : "none"));
        log.permit(3);
    }
}

BOOST_AUTO_TEST_CASE(after_a_call_that_was_permitted_it_is_reported_again) {
    auto log = denial_log{};
    log.note(denial("no SET"), 1, 0);
    BOOST_TEST(taken(log, 0) == "no SET");
    log.permit(1);
    log.note(denial("no SET"), 1, second);
    BOOST_TEST(taken(log, second) == "no SET");
}

BOOST_AUTO_TEST_CASE(an_incident_that_begins_within_the_interval_is_reported_when_it_is_over) {
    auto log = denial_log{};
    log.note(denial("no SET"), 1, 0);
    BOOST_TEST(taken(log, 0) == "no SET");
    for (auto now = second / 10; now < second; now += second / 10) {
        log.permit(1);
        log.note(denial("no SET"), 1, now);
        BOOST_TEST(log.due_at().value() == second);
        BOOST_TEST(taken(log, now) == "none");
    }
    log.permit(1);
    const auto* late = log.take(second);
    BOOST_REQUIRE(late != nullptr);
    BOOST_TEST(late->count == 1U);
    BOOST_TEST(!log.due_at());
}

BOOST_AUTO_TEST_CASE(denials_in_other_words_are_apart) {
    auto log = denial_log{};
    log.note(denial("no SET"), 1, 0);
    log.note(denial("no key"), 2, 0);
    BOOST_TEST(taken(log, 0) == "no SET");
    BOOST_TEST(taken(log, 0) == "no key");
    for (auto now = second; now < 5 * second; now += second) {
        log.note(denial("no SET"), 1, now);
        log.note(denial("no key"), 2, now);
        BOOST_TEST(taken(log, now) == "none");
    }
    log.permit(2);
    log.note(denial("no SET"), 1, 5 * second);
    log.note(denial("no key"), 2, 5 * second);
    BOOST_TEST(taken(log, 5 * second) == "no key");
    BOOST_TEST(taken(log, 5 * second) == "none");
}

BOOST_AUTO_TEST_CASE(words_that_always_differ_are_reported_at_a_bounded_rate) {
    auto log = denial_log{};
    auto reported = 0;
    for (std::int64_t now = 0; now < 10 * second; now += second / 100) {
        log.note(denial("no key " + std::to_string(now)), 1, now);
        while (log.take(now) != nullptr)
            ++reported;
    }
    BOOST_TEST(reported == 10 * static_cast<int>(denial_log::most));
}

BOOST_AUTO_TEST_SUITE_END()
