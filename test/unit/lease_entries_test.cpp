// SPDX-License-Identifier: BSL-1.0
//
// Which keys have an entry in the table of leases, and that an entry begins without what another
// key or another version of the policy has left there.

#include "lease_table_bench.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

BOOST_AUTO_TEST_SUITE(lease_entries)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using hash::digest;
using test::fake_operation;
using test::lease_table_bench;

const auto leased = policy{"p", gcra(1'000, 1s)}.with_leases(100ms);
const auto changed = policy{"p", gcra(1'001, 1s)}.with_leases(100ms);

/// A key of the row `low` % rows.
[[nodiscard]] digest key(std::uint64_t low, std::uint64_t high = 2) {
    return {.low = low, .high = high};
}

struct fixture : lease_table_bench {
    using lease_table_bench::lease_table_bench;

    /// Has this key lease tokens.
    void lease(const digest& k) {
        for (auto i = 0; i < 9; ++i)
            make(leased, k);
        make(leased, k, 9);
        BOOST_TEST_REQUIRE(spends(k));
    }
    bool spends(const digest& k) {
        auto op = fake_operation{};
        return start(op, leased, k);
    }
    /// Makes calls at once, so that the next one asks for a lease.
    void call(const digest& k) {
        for (auto i = 0; i < 3; ++i)
            make(leased, k);
    }
    /// Returns whether the demand of a key is known.
    bool remembers(const digest& k) { return make(leased, k) > 0; }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(keys_that_share_half_of_their_digest_share_no_lease, fixture) {
    lease(key(1, 2));
    BOOST_TEST(!spends(key(1, 4)));
    BOOST_TEST(!spends(key(3, 2)));
    BOOST_TEST(spends(key(1, 2)));
}

BOOST_FIXTURE_TEST_CASE(a_digest_of_zeros_has_an_entry_like_others, fixture) {
    lease(key(0, 0));
    for (std::uint64_t i = 1; i <= 20; ++i)
        make(leased, key(i));
    BOOST_TEST(spends(key(0, 0)));
}

BOOST_FIXTURE_TEST_CASE(the_ninth_key_of_a_row_replaces_the_one_that_was_idle_for_the_longest_time,
                        fixture) {
    for (const auto oldest : {0U, 3U, 7U}) {
        table.clear();
        for (std::uint64_t i = 0; i < 8; ++i) {
            now = start_time + (i == oldest ? 0 : 10 + static_cast<std::int64_t>(i));
            call(key(i));
        }
        now = start_time + 50;
        call(key(8));
        for (std::uint64_t i = 0; i < 8; ++i)
            if (i != oldest)
                BOOST_TEST(remembers(key(i)), i);
        BOOST_TEST(remembers(key(8)));
        BOOST_TEST(!remembers(key(oldest)));
    }
}

BOOST_AUTO_TEST_CASE(rows_have_eight_entries_however_large_the_table_is) {
    for (const auto& [most, rows] : {std::pair{8U, 1U}, std::pair{16U, 2U}, std::pair{40U, 4U}}) {
        auto f = fixture{most};
        for (std::uint64_t i = 0; i <= 8; ++i, ++f.now)
            f.call(key(i * rows)); // all of the first row
        BOOST_TEST(!f.remembers(key(0)), most);
        BOOST_TEST(f.remembers(key(8 * rows)));
        if (rows == 1)
            continue;
        for (std::uint64_t i = 0; i < 8; ++i, ++f.now)
            f.call(key(i * rows + rows - 1));
        BOOST_TEST(f.remembers(key(rows - 1)), most);
    }
}

BOOST_FIXTURE_TEST_CASE(an_entry_has_nothing_of_the_key_that_it_replaces, fixture) {
    for (auto i = 0; i < 10; ++i)
        make(leased, key(0));
    auto asks = fake_operation{};
    BOOST_TEST(!start(asks, leased, key(0))); // and has no reply yet
    BOOST_TEST(asks.lease.is_asking);
    for (std::uint64_t i = 1; i < 8; ++i) {
        now += 1;
        make(leased, key(i));
    }
    auto first = fake_operation{{.cost = 10, .at_least = 10}};
    auto second = fake_operation{};
    BOOST_TEST(!start(first, leased, key(8)));
    BOOST_TEST(!start(second, leased, key(8))); // nothing is known of what remains
    BOOST_TEST(second.lease.further_calls == 0U);
    allow(first, 0);
    auto third = fake_operation{};
    BOOST_TEST(!start(third, leased, key(8)));
    // The calls of the other key were not counted.
    BOOST_TEST(third.lease.further_calls == test::calls_of_lease(12));
    allow(asks, 5);
    BOOST_TEST(held() == 0U);
    BOOST_TEST(counted().lease_tokens_lapsed == 5U);
}

/// A verb that changes the key in between finds no entry to be marked.
BOOST_FIXTURE_TEST_CASE(a_reply_for_an_entry_that_was_replaced_meanwhile_is_not_held, fixture) {
    call(key(0));
    auto asks = fake_operation{};
    BOOST_TEST(!start(asks, leased, key(0)));
    BOOST_TEST(asks.lease.is_asking);
    for (std::uint64_t i = 1; i <= 8; ++i) {
        now += 1;
        make(leased, key(i));
    }
    reset(leased, key(0));
    now += 1;
    make(leased, key(0));
    allow(asks, 1);
    BOOST_TEST(held() == 0U);
}

BOOST_FIXTURE_TEST_CASE(another_version_of_the_policy_begins_anew, fixture) {
    for (auto i = 0; i < 10; ++i)
        make(leased, key(0));
    auto asks = fake_operation{};
    BOOST_TEST(!start(asks, leased, key(0)));
    auto first = fake_operation{{.cost = 10, .at_least = 10}};
    auto second = fake_operation{};
    BOOST_TEST(!start(first, changed, key(0)));
    allow(asks, 5); // of the old version
    BOOST_TEST(held() == 0U);
    BOOST_TEST(!start(second, changed, key(0)));
    BOOST_TEST(second.lease.further_calls == 0U);
    BOOST_TEST(!table.try_settle(asks, false));
    allow(first, 0);
    BOOST_TEST(make(changed, key(0)) == test::calls_of_lease(12));
}

BOOST_FIXTURE_TEST_CASE(after_a_drop_the_next_call_may_ask_again, fixture) {
    call(key(0));
    auto asks = fake_operation{};
    BOOST_TEST(!start(asks, leased, key(0)));
    BOOST_TEST(asks.lease.is_asking);
    reset(leased, key(0));
    auto again = fake_operation{};
    BOOST_TEST(!start(again, leased, key(0)));
    BOOST_TEST(again.lease.is_asking);
    allow(asks, 3);
    auto third = fake_operation{};
    BOOST_TEST(!start(third, leased, key(0)));
    BOOST_TEST(!third.lease.is_asking); // `again` still does
    allow(again, 4);
    BOOST_TEST(held() == 4U);
}

BOOST_FIXTURE_TEST_CASE(clearing_counts_what_was_held_once, fixture) {
    lease(key(0));
    const auto left = held();
    const auto lapsed = counted().lease_tokens_lapsed;
    table.clear();
    BOOST_TEST(counted().lease_tokens_lapsed == lapsed + left);
    BOOST_TEST(table.is_empty());
    make(leased, key(0));
    BOOST_TEST(!remembers(key(1)));
    BOOST_TEST(!table.is_empty());
}

BOOST_AUTO_TEST_SUITE_END()
