// SPDX-License-Identifier: BSL-1.0
//
// A table of leases with a clock that the test controls, and keys by their digests.

#pragma once

#include <limiter/lease_table.hpp>
#include <support/fake_operation.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace colimit::test {

/// Returns how many further calls of this cost a lease is for, if so many tokens are expected to be
/// asked for while it can be spent, so many are held, none has lapsed, and the store has enough.
[[nodiscard]] inline std::int64_t calls_of_lease(double expected, std::int64_t cost = 1,
                                                 std::int64_t held = 0) {
    const auto each = static_cast<double>(cost);
    const auto tokens = expected - 0.75 * std::sqrt(expected * each);
    const auto calls = (tokens - static_cast<double>(held)) / each;
    return calls < 2 ? 0 : static_cast<std::int64_t>(calls) - 1;
}

struct lease_table_bench {
    static constexpr std::int64_t start_time = 1'000'000;
    static inline std::int64_t now = start_time;
    static std::int64_t read_clock() noexcept { return now; }

    explicit lease_table_bench(std::size_t most = 8) : table(most, read_clock) { now = start_time; }

    /// Starts a call. Returns whether a lease decides it; if not, it asks for one perhaps.
    bool start(fake_operation& op, const policy& p, const hash::digest& key) {
        op.kind = detail::call_kind::one;
        const auto data = detail::access::data(p);
        op.key_digest = key;
        if (table.try_decide(op, *data))
            return true;
        op.fallback.policy = data;
        if (op.lease.is_known)
            table.ask(op, *data);
        return false;
    }
    /// Ends a call that was sent now: the store allows it and so many of its further calls, and
    /// has so many tokens left.
    void allow(fake_operation& op, std::int64_t granted, std::int64_t remaining = 800) {
        op.result = {};
        op.result.outcome = outcome::allowed;
        op.result.remaining = remaining;
        for (std::size_t i = 0; i < op.fallback.policy->compiled.size; ++i)
            detail::access::append(op.result.rules) = {.limit = 900, .balance = remaining};
        op.lease.granted = granted;
        op.sent_at = now;
        table.note(op, now);
    }
    /// Makes a call that the store allows. Returns how many further calls it asked for.
    std::uint32_t make(const policy& p, const hash::digest& key, std::int64_t granted = 0) {
        auto op = fake_operation{};
        BOOST_TEST_REQUIRE(!start(op, p, key));
        const auto asked = op.lease.further_calls;
        allow(op, asked == 0 ? 0 : granted);
        return asked;
    }
    /// Makes a call of this cost that takes a lease of as many tokens.
    void take(std::int64_t tokens, const policy& p, const hash::digest& key) {
        auto op = fake_operation{{.cost = tokens, .at_least = tokens}};
        BOOST_TEST_REQUIRE(!start(op, p, key));
        BOOST_TEST_REQUIRE(op.lease.is_asking);
        allow(op, 1, 100'000);
    }
    /// Begins a call of `reset`.
    void reset(const policy& p, const hash::digest& key) {
        table.begin_other(detail::verb::reset, key, *detail::access::data(p));
    }
    [[nodiscard]] std::uint64_t held() const {
        const auto s = counted();
        return s.lease_tokens_taken - s.lease_tokens_spent - s.lease_tokens_lapsed;
    }
    [[nodiscard]] statistics counted() const {
        auto s = statistics{};
        table.add_statistics(s);
        return s;
    }

    detail::lease_table table;
};

} // namespace colimit::test
