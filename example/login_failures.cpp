// SPDX-License-Identifier: BSL-1.0
//
// Password guessing: only failures count, so checking and counting are two calls.
//
//     login_failures [ADDRESS]
//
// Before the password is checked, `peek` returns whether this account has failed too often, and
// charges nothing. After a failure `charge` counts it, and after a success `reset` deletes the
// count. One policy has two limits: a few failures require a captcha, more of them lock the
// account. The captcha is a shadow rule: it is counted and reported, but never denies.

#include <colimit.hpp>
#include <support/run.hpp>

#include <string_view>

namespace asio = boost::asio;
using namespace std::chrono_literals;

const colimit::policy failures{"login-failures",
                               colimit::sliding_log(3, 10min).named("captcha").shadow(),
                               colimit::sliding_log(6, 1h).named("lock")};

asio::awaitable<void> log_in(colimit::limiter& limiter, std::string_view user,
                             std::string_view password) {
    const auto key = colimit::key::user(user).route("/login");
    const auto before = co_await limiter.peek(key, failures);
    if (!before) {
        std::cout << user << ": locked for " << before.retry_after.count() / 1'000'000 << " s\n";
        co_return;
    }
    if (before.rules[0].remaining() == 0)
        std::cout << user << ": (with a captcha) ";
    if (password == "correct horse") {
        co_await limiter.reset(key, failures);
        std::cout << user << ": welcome\n";
        co_return;
    }
    const auto after = co_await limiter.charge(key, failures);
    std::cout << user << ": wrong password, " << after.rules[1].remaining() << " tries left\n";
}

asio::awaitable<void> show(colimit::limiter& limiter) {
    for (int i = 0; i < 4; ++i)
        co_await log_in(limiter, "alice", "a guess");
    co_await log_in(limiter, "alice", "correct horse"); // deletes the failures
    for (int i = 0; i < 7; ++i)
        co_await log_in(limiter, "alice", "a guess");
    co_await limiter.reset(colimit::key::user("alice").route("/login"), failures);
}

int main(int argc, char** argv) {
    return example::run(argc, argv, show);
}
