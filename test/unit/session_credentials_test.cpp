// SPDX-License-Identifier: BSL-1.0
//
// The credentials that a session sends: fixed ones, and those of config::credentials.

#include <support/unit_test.hpp>
#include <unit/session_bench.hpp>

#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(session_credentials)

namespace {

using namespace colimit;
using redis::action;
using test::session_bench;

/// A session that asks for credentials, which are numbered, and may fail.
struct fixture {
    session_bench bench{{.credentials_source = [this] {
        ++asked;
        if (fail)
            fail();
        return credentials{.user = "ann", .password = "token" + std::to_string(asked)};
    }}};
    int asked = 0;
    std::function<void()> fail{};

    [[nodiscard]] action start() {
        bench.now = bench.session.wake_at().value_or(bench.now);
        return asked == 0 ? bench.session.start(bench.now) : bench.session.wake(bench.now);
    }
    [[nodiscard]] std::string commands() {
        BOOST_TEST((start() == action::connect));
        BOOST_TEST((bench.session.connected() == action::send));
        return bench.sent();
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(each_attempt_asks_for_its_own) {
    auto f = fixture{};
    BOOST_TEST(f.commands() == "HELLO 3 AUTH ann token1");
    f.bench.lose();
    BOOST_TEST(f.commands() == "HELLO 3 AUTH ann token2");
    f.bench.hear({"-NOPROTO unsupported protocol version\r\n"}, action::send);
    BOOST_TEST(f.bench.sent() == "AUTH ann token2; INFO server"); // the same attempt
}

BOOST_AUTO_TEST_CASE(a_server_that_is_loading_is_sent_the_same_again) {
    auto f = fixture{};
    (void)f.commands();
    f.bench.hear({test::loading});
    BOOST_TEST((f.start() == action::send));
    BOOST_TEST(f.bench.sent() == "HELLO 3 AUTH ann token1");
}

BOOST_AUTO_TEST_CASE(an_attempt_whose_source_throws_fails_and_the_next_one_asks_again) {
    auto f = fixture{};
    const auto& reported = f.bench.errors;
    f.fail = [] { throw std::runtime_error{"no token"}; };
    BOOST_TEST((f.start() == action::disconnect));
    BOOST_TEST(f.bench.session.is_refused());
    BOOST_TEST((f.bench.session.error() == errc::auth_failed));
    BOOST_TEST(f.bench.session.earliest_ready_at() >= f.bench.now + 500'000);
    BOOST_TEST(reported.text == "config::credentials failed: no token");
    f.fail = [] { throw 7; };
    BOOST_TEST((f.start() == action::disconnect));
    BOOST_TEST(reported.text ==
               "config::credentials failed: it threw something else than a std::exception");
    f.fail = nullptr;
    BOOST_TEST(f.commands() == "HELLO 3 AUTH ann token3");
    f.bench.serve();
    BOOST_TEST(!f.bench.session.is_refused());
}

BOOST_AUTO_TEST_CASE(a_source_may_close_the_session) {
    auto f = fixture{};
    f.fail = [&f] { f.bench.session.close(); };
    BOOST_TEST((f.start() == action::nothing));
    BOOST_TEST((f.bench.session.state() == redis::session_state::closed));
}

BOOST_AUTO_TEST_CASE(a_report_names_the_option_for_sentinels) {
    auto c = session_bench{
        {.role = redis::server_role::sentinel,
         .credentials_source = []() -> credentials { throw std::runtime_error{"no token"}; }}};
    BOOST_TEST((c.session.start(c.now) == action::disconnect));
    BOOST_TEST(c.errors.text == "config::advanced.sentinel_credentials failed: no token");
}

BOOST_AUTO_TEST_CASE(without_memory_the_attempt_fails_like_any_other) {
    auto f = fixture{};
    f.fail = [] { throw std::bad_alloc{}; };
    BOOST_CHECK_THROW((void)f.start(), std::bad_alloc);
}

BOOST_AUTO_TEST_CASE(the_password_that_reports_hide_is_that_of_the_attempt) {
    auto f = fixture{};
    (void)f.commands();
    BOOST_TEST(f.bench.session.password() == "token1");
}

BOOST_AUTO_TEST_SUITE_END()
