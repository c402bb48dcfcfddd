// SPDX-License-Identifier: BSL-1.0
//
// A plan with a quota: three exports a calendar month, in the customer's time zone, and limits of a
// user, a company and all clients checked at once.
//
//     monthly_quota [ADDRESS]
//
// `allow_all` charges all of its checks or none of them, atomically, in one round trip.

#include <colimit.hpp>
#include <support/run.hpp>

#include <array>
#include <string_view>

namespace asio = boost::asio;
using namespace std::chrono_literals;

const colimit::policy plan{"export", colimit::calendar(3, colimit::calendar_unit::month, 8h)};
const colimit::policy company{"export-company", colimit::fixed_window(4, 1h)};
const colimit::policy all_clients{"export-all", colimit::gcra(100, 1s)};

asio::awaitable<void> start_export(colimit::limiter& limiter, std::string_view user,
                                   colimit::time_point now) {
    const auto mine = colimit::key::user(user);
    const auto all = colimit::key::global();
    auto checks = std::array{
        colimit::check_item{.key = mine, .policy = plan, .options = {.now = now}},
        colimit::check_item{.key = "acme", .policy = company, .options = {.now = now}},
        colimit::check_item{.key = all, .policy = all_clients, .options = {.now = now}},
    };
    const auto d = co_await limiter.allow_all(checks);
    if (d) {
        std::cout << user << ": started, " << checks[0].result.remaining << " left this month\n";
        co_return;
    }
    for (const auto& c : checks)
        if (!c.result)
            std::cout << user << ": denied by " << c.policy.name() << ", again in "
                      << c.result.retry_after_seconds() << " s\n";
}

asio::awaitable<void> show(colimit::limiter& limiter) {
    const auto now = colimit::time_point{std::chrono::seconds{1'700'000'000}};
    for (int i = 0; i < 4; ++i)
        co_await start_export(limiter, "ann", now); // the fourth is one too many for this month
    co_await start_export(limiter, "bob", now);
    co_await start_export(limiter, "bob", now); // the month has quota left, the company's hour none
    co_await limiter.reset(colimit::key::user("ann"), plan, {.now = now});
    co_await limiter.reset(colimit::key::user("bob"), plan, {.now = now});
    co_await limiter.reset("acme", company, {.now = now});
    co_await limiter.reset(colimit::key::global(), all_clients, {.now = now});
}

int main(int argc, char** argv) {
    return example::run(argc, argv, show);
}
