// SPDX-License-Identifier: BSL-1.0
//
// A call for several keys, without memory for a log, a sketch or the copies of shared states: all
// are charged or none.

#include <alloc_failure/failing_new.hpp>
#include <support/all_or_nothing.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(allocations_fail_for_several_keys)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using test::shortage;

constexpr std::int64_t now = 1'700'000'000'000'000;

/// Keys of which each has a log or a sketch, or gets one.
struct failing_call {
    explicit failing_call(std::size_t states) : store(states) {
        for (int i = 0; i < 60; ++i)
            names.push_back("key" + std::to_string(i));
        for (std::size_t i = 0; i < names.size(); ++i) {
            checks.push_back({.key = names[i], .policy = i % 3 == 0 ? members : log});
            if (i % 3 == 0)
                checks.back().options.member = names[i / 2];
        }
        for (std::size_t i = 0; i < names.size(); i += 4) {
            auto q = detail::make_request(detail::verb::allow, checks[i].options);
            q.now = now;
            (void)test::ask(store, q, names[i], checks[i].policy);
        }
    }

    policy log{"log", sliding_log(2, 1h)};
    policy members{"members", distinct(20, 1h), sliding_log(2, 1h)};
    memory::store store;
    std::vector<std::string> names;
    std::vector<check_item> checks;
};

} // namespace

BOOST_AUTO_TEST_CASE(without_memory_all_are_charged_or_none) {
    auto struck = 0;
    auto denied = 0;
    for (const std::size_t states : {20U, 150U, 1'000U}) {
        for (const std::int64_t length : {1, 3, 1'000}) {
            auto is_over = false;
            for (std::int64_t first = 1; !is_over; ++first) {
                auto c = failing_call{states};
                const auto before = test::peek_all(c.store, c.checks, now);
                auto failed = false;
                {
                    const auto failing = shortage{first, length};
                    try {
                        (void)c.store.allow_all(c.checks, now);
                    } catch (const std::bad_alloc&) {
                        failed = true;
                    }
                    is_over = !shortage::has_struck();
                }
                struck += is_over ? 0 : 1;
                if (!failed && test::was_granted(c.checks, before))
                    continue;
                denied += failed ? 0 : 1;
                test::check_unchanged(c.store, c.checks, before, now);
            }
        }
    }
    BOOST_TEST(struck > 100);
    BOOST_TEST(denied > 0);
}

BOOST_AUTO_TEST_SUITE_END()
