// SPDX-License-Identifier: BSL-1.0
//
// Batches are made with the limiter, and how many of them are in use at once is a matter of chance.
// So the first use of one, however late, takes no memory either.

#include <allocation/counted_allocations.hpp>
#include <support/script_queue_bench.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

BOOST_AUTO_TEST_SUITE(allocation)

namespace {

using namespace std::chrono_literals;
using namespace colimit;

/// Allocations from the first call on, until every batch has left once.
[[nodiscard]] std::int64_t allocations_of_first_uses(const policy& p) {
    auto bench = test::script_queue_bench{{.prefix = "colimit"}};
    auto calls = std::array<test::fake_operation, 5>{};
    auto out = std::string{};
    out.reserve(64 * 1024);
    auto at_first = std::int64_t{0};
    for (auto& call : calls) {
        BOOST_REQUIRE(!bench.submit(call, "a key of more than fifteen bytes", p));
        bench.queue.write(out, bench.position, 0);
        if (&call == &calls.front())
            at_first = test::allocations();
    }
    return test::allocations() - at_first;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_first_use_of_a_batch_allocates_nothing) {
    const auto bucket = gcra(100, 1s);
    BOOST_TEST(allocations_of_first_uses(policy{"a-policy-with-a-long-name", bucket}) == 0);
    BOOST_TEST(allocations_of_first_uses(policy{"a-policy-with-a-long-name", bucket}.with_storage(
                   storage::shared_hash)) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
