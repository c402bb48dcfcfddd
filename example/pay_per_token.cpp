// SPDX-License-Identifier: BSL-1.0
//
// Work whose cost is known only afterwards, such as a call of a language model: charge an estimate,
// then settle the real cost.
//
//     pay_per_token [ADDRESS]
//
// `allow` charges the estimate; `refund` returns the unused rest, and `charge` takes use beyond it,
// even if the balance becomes negative: then nothing is allowed until the debt is repaid.

#include <colimit.hpp>
#include <support/run.hpp>

#include <cstdint>
#include <string_view>

namespace asio = boost::asio;
using namespace std::chrono_literals;

const colimit::policy tokens{"tokens", colimit::token_bucket(10'000, 60'000, 1min)};

asio::awaitable<void> complete(colimit::limiter& limiter, std::string_view user,
                               std::int64_t estimate, std::int64_t used) {
    const auto d = co_await limiter.allow(user, tokens, {.cost = estimate});
    if (!d) {
        std::cout << user << ": " << estimate << " tokens denied\n";
        co_return;
    }
    // ... the work ...
    const auto settled = used <= estimate
                             ? co_await limiter.refund(user, tokens, {.cost = estimate - used})
                             : co_await limiter.charge(user, tokens, {.cost = used - estimate});
    const auto balance = settled.rules[0].balance / 1'000; // it is being refilled meanwhile
    std::cout << user << ": estimated " << estimate << ", used " << used << ", about " << balance
              << " thousand left\n";
}

asio::awaitable<void> show(colimit::limiter& limiter) {
    co_await complete(limiter, "ann", 4'000, 1'500);  // refunds 2,500
    co_await complete(limiter, "ann", 4'000, 9'900);  // charges 5,900 more
    co_await complete(limiter, "ann", 4'000, 4'000);  // in debt: denied
    co_await complete(limiter, "ann", 20'000, 1'000); // above the capacity: never
    co_await limiter.reset("ann", tokens);
}

int main(int argc, char** argv) {
    return example::run(argc, argv, show);
}
