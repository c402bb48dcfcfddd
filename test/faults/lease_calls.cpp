// SPDX-License-Identifier: BSL-1.0
//
// Handlers that count their completions.

#include <faults/lease_calls.hpp>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace colimit::test {
namespace {

using namespace std::chrono_literals;

/// Calls that are made at once.
struct round_of_calls {
    asio::steady_timer all_ended;
    int open = 0;
};

} // namespace

const policy& leased_policy() {
    static const auto made = policy{"p", gcra(1'000'000, 24h * 36'500)}.with_leases(1h);
    return made;
}

std::int64_t used_tokens(const decision& d) {
    return d.rules[0].limit - d.rules[0].balance;
}

lease_calls::lease_calls(limiter& by, int number) : limiter_(by) {
    const auto digits = std::to_string(10'000 + number); // always five
    keys_ = {"a" + digits, "b" + digits};
}

asio::awaitable<void> lease_calls::make(of_keys costs) {
    const auto executor = co_await asio::this_coro::executor;
    const auto round = std::make_shared<round_of_calls>(asio::steady_timer{executor, 2 * patience});
    for (std::size_t key = 0; key < costs.size(); ++key) {
        if (costs[key] == 0)
            continue;
        ++round->open;
        const auto& c = all_.emplace_back(key, std::make_shared<leased_call>()).call;
        c->cost = costs[key];
        last_[key] = c;
        const auto options = check_options{.cost = costs[key]};
        limiter_.allow(keys_[key], leased_policy(), options,
                       [c, round](error_code ec, const decision& d) {
                           ++c->completions;
                           c->ec = ec;
                           c->result = d;
                           if (--round->open == 0)
                               round->all_ended.cancel();
                       });
    }
    auto ignored = error_code{};
    co_await round->all_ended.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    if (round->open != 0)
        throw std::runtime_error{"a call does not complete"};
}

asio::awaitable<of_keys> lease_calls::charged(limiter& look) const {
    auto all = of_keys{};
    for (std::size_t key = 0; key < all.size(); ++key) {
        const auto options = check_options{.cost = 0};
        const auto d = co_await look.peek(keys_[key], leased_policy(), options);
        all[key] = used_tokens(d);
    }
    co_return all;
}

of_keys lease_calls::granted_by(decision_source s) const {
    auto all = of_keys{};
    for (const auto& m : all_)
        if (m.call->was_decided_by(s))
            all[m.key] += m.call->result.granted;
    return all;
}

bool lease_calls::are_sound() const {
    return std::ranges::all_of(all_, [](const made& m) {
        const auto& c = *m.call;
        return c.completions == 1 && (c.ec || (c.result.allowed() && c.result.granted == c.cost));
    });
}

} // namespace colimit::test
