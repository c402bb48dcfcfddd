// SPDX-License-Identifier: BSL-1.0
//
// Each allocation of a call of `acquire` and of its slot's release fails, alone or with the next
// few. The limiter lives on: so the slot gets free long before its lease ends, whatever has
// failed. (Renewals and releases allocate nothing: test/allocation.)

#include <alloc_failure/failing_new.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <utility>

BOOST_AUTO_TEST_SUITE(slots_without_memory)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::plenty;
using test::shortage;

const auto places = policy{"places", concurrent(1).lease(24h)};

struct scene {
    /// Starts a call, whose slot is then in `held`.
    void acquire(const std::string& key) {
        try {
            l.limiter.acquire(key, places, [this](error_code ec, slot got) {
                const auto test = plenty{};
                code = ec;
                held = std::move(got);
            });
        } catch (const std::bad_alloc&) {
            code = make_error_code(boost::system::errc::not_enough_memory);
        }
    }
    /// The condition is the test's own, and has memory.
    template<class Condition>
    void run_until(Condition holds) {
        const auto is_over = [&] {
            const auto test = plenty{};
            return holds();
        };
        while (!is_over()) {
            l.context.restart();
            (void)l.context.run_one_for(1ms);
        }
    }
    [[nodiscard]] std::int64_t holders(const std::string& key) {
        auto d = decision{};
        witness.run([&]() -> asio::awaitable<void> {
            d = co_await witness.limiter.peek(key, places, check_options{.cost = 0});
        });
        return d.rules[0].limit - d.rules[0].balance;
    }

    test::redis_server server{};
    test::live l{server.address()};
    test::live witness{server.address()};
    std::optional<error_code> code;
    slot held;
};

/// Plays with each allocation failing, until one is never made.
template<class Play>
void fail_each(Play play) {
    for (const auto length : {1, 12}) {
        auto first = std::int64_t{1};
        for (auto has_struck = true; has_struck; ++first)
            BOOST_TEST_CONTEXT("allocation " << first << ", and " << length - 1 << " more") {
                has_struck = play(first, length);
            }
        BOOST_TEST_MESSAGE(first - 2 << " allocations");
        BOOST_TEST(first > 3);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_slot_is_given_back_whichever_allocation_fails) {
    auto s = scene{};
    s.l.run([&]() -> asio::awaitable<void> { (void)co_await s.l.ready(); });
    fail_each([&](std::int64_t first, int length) {
        const auto key = std::to_string(length) + '/' + std::to_string(first);
        s.code.reset();
        auto has_struck = false;
        {
            const auto failing = shortage{first, length};
            s.acquire(key);
            s.run_until([&] { return s.code.has_value(); });
            s.held.release();
            (void)s.l.context.poll();
            has_struck = shortage::has_struck();
        }
        const auto code = *s.code;
        BOOST_TEST((!code || code == boost::system::errc::not_enough_memory ||
                    code == errc::outcome_unknown || code == errc::unavailable),
                   code.message());
        s.run_until([&] { return s.holders(key) == 0; });
        return has_struck;
    });
}

BOOST_AUTO_TEST_SUITE_END()
