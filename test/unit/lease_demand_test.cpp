// SPDX-License-Identifier: BSL-1.0
//
// How many tokens a call asks a lease for: against a list of all calls that is obviously correct.

#include "lease_table_bench.hpp"

#include <support/rng.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(lease_demand)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using test::fake_operation;

std::int64_t clock_now = 0;
[[nodiscard]] std::int64_t read_clock() noexcept {
    return clock_now;
}

/// A power of two, so that the doubles of the table are exact.
constexpr std::int64_t length = 65'536;
const auto leased = policy{"p", gcra(1'000, 1s)}.with_leases(std::chrono::microseconds{length});

/// All calls of a key.
class all_calls {
  public:
    /// Returns how many further calls a new one makes if so many tokens are left in the store.
    std::int64_t add(std::int64_t now, std::int64_t cost, std::int64_t room) {
        if (calls_.empty() || now - period_ >= 2 * length) { // the key was idle
            calls_.clear();
            period_ = now;
        } else if (now - period_ >= length) {
            period_ += length;
        }
        calls_.emplace_back(now, cost);
        auto current = std::int64_t{0};
        auto before = std::int64_t{0};
        for (const auto& [when, tokens] : calls_) {
            current += when >= period_ ? tokens : 0;
            before += when < period_ && when >= period_ - length ? tokens : 0;
        }
        const auto expected = current * length + before * (length - (now - period_));
        return std::min({test::calls_of_lease(static_cast<double>(expected) / length, cost),
                         std::int64_t{16'384}, room / 4 / cost});
    }

  private:
    std::vector<std::pair<std::int64_t, std::int64_t>> calls_;
    std::int64_t period_ = 0;
};

/// Makes a call that the store allows, without any of the further calls. Returns their number.
std::int64_t make_call(detail::lease_table& table, std::int64_t cost, std::int64_t remaining) {
    const auto data = detail::access::data(leased);
    auto op = fake_operation{{.cost = cost, .at_least = cost}};
    op.kind = detail::call_kind::one;
    op.key_digest = data->digest("k");
    BOOST_TEST_REQUIRE(!table.try_decide(op, *data));
    op.fallback.policy = data;
    table.ask(op, *data);
    op.result.outcome = outcome::allowed;
    op.result.remaining = remaining;
    detail::access::append(op.result.rules) = {.limit = 900, .balance = remaining};
    op.sent_at = clock_now;
    table.note(op, clock_now);
    return op.lease.further_calls;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_lease_is_for_most_calls_of_the_last_time_and_a_quarter_of_what_is_left) {
    auto random = test::rng{1};
    auto asked = 0;
    for (auto key = 0; key < 200; ++key) {
        auto table = detail::lease_table{8, read_clock};
        auto calls = all_calls{};
        auto room = std::int64_t{0};
        const auto start = clock_now = 1'000'000;
        for (auto i = 0; i < 50; ++i) {
            if (random.percent(20)) // the beginning of a period, or just before it
                clock_now += (length - (clock_now - start) % length) * random.between(1, 3) -
                             random.between(0, 1);
            else if (random.percent(50))
                clock_now += random.magnitude(length / 4);
            const auto cost = random.pick({1, 1, 2, 3, 5, 60'000});
            const auto expected = calls.add(clock_now, cost, room);
            room = random.pick({0, 3, 4, 5, 23, 24, 25, 400, 1'000'000'000});
            BOOST_TEST_REQUIRE(make_call(table, cost, room) == expected);
            asked += expected > 0 ? 1 : 0;
        }
    }
    BOOST_TEST(asked > 2'000);
}

/// The demand was counted when the call began.
BOOST_AUTO_TEST_CASE(a_call_that_is_sent_long_after_it_began_counts_no_period_before) {
    auto table = detail::lease_table{8, read_clock};
    const auto data = detail::access::data(leased);
    clock_now = 1'000'000;
    (void)make_call(table, 100, 1'000);
    clock_now += length;
    auto op = fake_operation{{.cost = 10, .at_least = 10}};
    op.kind = detail::call_kind::one;
    (void)make_call(table, 200, 1'000);
    op.key_digest = data->digest("k");
    BOOST_TEST(!table.try_decide(op, *data));
    clock_now += 3 * length;
    table.ask(op, *data);
    BOOST_TEST(op.lease.further_calls == test::calls_of_lease(210, 10));
}

BOOST_AUTO_TEST_SUITE_END()
