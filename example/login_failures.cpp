// SPDX-License-Identifier: BSL-1.0
//
// Password guessing: count every attempt before the password is checked, and forget the attempts
// after a success, so that only failures remain.
//
//     login_failures [ADDRESS]
//
// `allow` counts and checks in one step. A program that checks first (`peek`) and counts failures
// afterwards (`charge`) lets guesses that arrive at the same time pass: all of them are checked
// before the first one is counted.
//
// One policy has two limits. Three failures in a minute require a captcha: `sliding_log(3, 1min)`
// counts them in any minute, not in each minute of the clock. It is a shadow rule, which is counted
// and reported, but never denies. Six failures in an hour lock the account. (To deny after three
// failures in a minute, omit `shadow`.)

#include <colimit.hpp>
#include <support/run.hpp>

#include <string>
#include <string_view>

namespace asio = boost::asio;
using namespace std::chrono_literals;

const colimit::policy failures{"login-failures",
                               colimit::sliding_log(3, 1min).named("captcha").shadow(),
                               colimit::sliding_log(6, 1h).named("lock")};

auto passwords_checked = 0;

bool is_right(std::string_view password) {
    ++passwords_checked;
    return password == "correct horse";
}

asio::awaitable<std::string> log_in(colimit::limiter& limiter, std::string_view user,
                                    std::string_view password) {
    const auto key = colimit::key::user(user).route("/login");
    const auto d = co_await limiter.allow(key, failures);
    if (!d)
        co_return "locked for " + std::to_string(d.retry_after_seconds()) + " s";
    // The fourth attempt since the last success: more than the shadow rule would allow.
    const std::string captcha = d.rules[0].balance < 0 ? "(with a captcha) " : "";
    if (is_right(password)) {
        co_await limiter.reset(key, failures);
        co_return captcha + "welcome";
    }
    co_return captcha + "wrong password, " + std::to_string(d.rules[1].remaining()) + " tries left";
}

asio::awaitable<void> show(colimit::limiter& limiter) {
    for (const auto* password : {"123456", "qwerty", "letmein", "dragon", "correct horse"}) {
        const auto answer = co_await log_in(limiter, "alice", password);
        std::cout << "alice: " << answer << '\n';
    }
    for (int i = 0; i < 7; ++i) { // the success has deleted the failures
        const auto answer = co_await log_in(limiter, "alice", "a guess");
        std::cout << "alice: " << answer << '\n';
    }

    // Many guesses at the same time: as many are checked as if they came one after another.
    passwords_checked = 0;
    co_await example::in_parallel(
        40, [&](int) -> asio::awaitable<void> { co_await log_in(limiter, "bob", "a guess"); });
    std::cout << "bob: " << passwords_checked << " of 40 passwords were checked\n";

    co_await limiter.reset(colimit::key::user("alice").route("/login"), failures);
    co_await limiter.reset(colimit::key::user("bob").route("/login"), failures);
}

int main(int argc, char** argv) {
    return example::run(argc, argv, show);
}
