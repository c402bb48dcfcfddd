// SPDX-License-Identifier: BSL-1.0
//
// Codes sent as text messages cost money: limits per minute, per hour and per day to one number,
// checked at once, and a second click within five seconds is the same click.
//
//     sms_code [ADDRESS]
//
// A denied call charges none of the rules, so too many clicks do not use up the day. The denial
// that lasts longest is reported: a second click is a duplicate as long as no rule denies it for
// longer.

#include <colimit.hpp>
#include <support/run.hpp>

#include <string>
#include <string_view>

namespace asio = boost::asio;
using namespace std::chrono_literals;

const auto code_by_sms = colimit::policy{"sms-code", colimit::sliding_log(2, 1min).named("minute"),
                                         colimit::sliding_log(3, 1h).named("hour"),
                                         colimit::calendar(4, colimit::calendar_unit::day, 8h)}
                             .prevent_duplicate(5s);

/// Returns the number in one form, however it was typed: otherwise each blank would be a new number
/// with limits of its own. A service takes the form that its library for telephone numbers makes.
std::string one_form(std::string_view number) {
    std::string form;
    for (const char c : number)
        if ((c >= '0' && c <= '9') || (c == '+' && form.empty()))
            form += c;
    return form.starts_with("00") ? '+' + form.substr(2) : form;
}

asio::awaitable<void> send_code(colimit::limiter& limiter, std::string_view number,
                                colimit::time_point now) {
    const auto key = one_form(number);
    const auto d = co_await limiter.allow(key, code_by_sms, {.now = now});
    if (d)
        std::cout << number << ": sent, " << d.rules[2].remaining() << " more today\n";
    else if (d.reason == colimit::denial_reason::duplicate)
        std::cout << number << ": was sent just now; again in " << d.retry_after_seconds()
                  << " s at the earliest\n";
    else
        std::cout << number << ": not now: rule " << code_by_sms[d.limiting_rule].name() << ", in "
                  << d.retry_after_seconds() << " s\n";
}

asio::awaitable<void> show(colimit::limiter& limiter) {
    // A supplied clock, so that the program need not wait for a day: 6:13 in China.
    const auto morning = colimit::time_point{std::chrono::seconds{1'700'000'000}};
    const std::string_view number = "+86 138 0000 0000";
    co_await send_code(limiter, number, morning);
    co_await send_code(limiter, "0086-13800000000", morning + 1s); // a double click
    co_await send_code(limiter, number, morning + 20s);            // the first one has not arrived
    co_await send_code(limiter, number, morning + 30s);            // two per minute
    co_await send_code(limiter, number, morning + 1min); // exactly a minute after the first
    co_await send_code(limiter, number, morning + 2min); // three per hour
    co_await send_code(limiter, number, morning + 1h);
    co_await send_code(limiter, number, morning + 2h); // four per day
    const auto key = one_form(number);
    co_await limiter.reset(key, code_by_sms, {.now = morning});
}

int main(int argc, char** argv) {
    return example::run(argc, argv, show);
}
