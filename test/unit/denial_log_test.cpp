// SPDX-License-Identifier: BSL-1.0
//
// Denials: reported once per incident, never more often than once per second with the same message,
// and never lost.

#include <limiter/denial_log.hpp>
#include <support/unit_test.hpp>

#include <cstddef>
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
    (void)detail::append_whole(made.text, text);
    return made;
}

/// The words of the denial that is to be reported.
[[nodiscard]] std::string taken(denial_log& log, std::int64_t now) {
    const auto* found = log.take(now);
    return found == nullptr ? "none" : found->as_problem().text;
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

BOOST_AUTO_TEST_CASE(a_call_under_another_policy_does_not_continue_an_incident_that_is_over) {
    auto log = denial_log{};
    log.note(denial("no SET"), 1, 0);
    BOOST_TEST(taken(log, 0) == "no SET");
    log.permit(1);
    log.permit(2);
    log.note(denial("no SET"), 1, second);
    BOOST_TEST(taken(log, second) == "no SET");
}

BOOST_AUTO_TEST_CASE(the_next_denial_is_due_when_the_first_of_them_is) {
    auto log = denial_log{};
    log.note(denial("no SET"), 1, 0);
    BOOST_TEST(taken(log, 0) == "no SET");
    log.note(denial("no key"), 1, second / 2);
    BOOST_TEST(taken(log, second / 2) == "no key");
    log.permit(1);
    log.note(denial("no SET"), 1, second * 3 / 4);
    log.note(denial("no key"), 1, second * 3 / 4);
    BOOST_TEST(log.due_at().value() == second);
    BOOST_TEST(taken(log, second) == "no SET");
    BOOST_TEST(log.due_at().value() == second + second / 2);
}

namespace {

/// A log of as many denials as it holds, "a", "b", ..., of which each is reported a bit after the
/// one before.
[[nodiscard]] denial_log full_log() {
    auto log = denial_log{};
    for (std::size_t i = 0; i < denial_log::most; ++i) {
        const auto words = std::string(1, static_cast<char>('a' + i));
        log.note(denial(words), 1, static_cast<std::int64_t>(i));
        BOOST_TEST(taken(log, static_cast<std::int64_t>(i)) == words);
    }
    return log;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_further_denial_is_known_as_soon_as_one_was_reported_an_interval_ago) {
    auto log = full_log();
    log.note(denial("x"), 1, second - 1);
    BOOST_TEST(!log.due_at());
    log.note(denial("x"), 1, second);
    BOOST_TEST(taken(log, second) == "x");
}

BOOST_AUTO_TEST_CASE(a_denial_that_is_to_be_reported_is_not_forgotten_for_another) {
    auto log = full_log();
    log.permit(1);
    for (const std::string_view words : {"a", "b", "c", "d"})
        log.note(denial(words), 1, 2 * second);
    log.note(denial("x"), 1, 2 * second);
    for (const std::string_view words : {"a", "b", "c", "d", "none"})
        BOOST_TEST(taken(log, 2 * second) == words);
}

BOOST_AUTO_TEST_CASE(another_one_is_forgotten_where_the_oldest_is_to_be_reported) {
    auto log = full_log();
    log.permit(1);
    log.note(denial("a"), 1, 2 * second);
    log.note(denial("x"), 1, 2 * second);
    BOOST_TEST(taken(log, 2 * second) == "a");
    BOOST_TEST(taken(log, 2 * second) == "x");
    BOOST_TEST(taken(log, 2 * second) == "none");
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
