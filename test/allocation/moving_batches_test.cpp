// SPDX-License-Identifier: BSL-1.0
//
// Batches that move between the queues of a cluster's nodes take no memory with them: the queue
// that they leave gets a spare one for each, so it makes no new ones, and the other does not hoard
// them.

#include <allocation/counted_allocations.hpp>
#include <redis/script/script_queue.hpp>
#include <support/fake_operation.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(moving_batches)

namespace {

using namespace std::chrono_literals;
using namespace colimit;

struct other_queue final : redis::batch_router {
    [[nodiscard]] redis::batch_destination
    redirect(const redis::script_queue& /*from*/,
             const redis::rejected_batch& /*what*/) noexcept override {
        return {.queue = to};
    }
    void on_served(const redis::script_queue& /*by*/, std::size_t /*group*/,
                   bool /*was_parked*/) noexcept override {}
    redis::script_queue* to = nullptr;
};

} // namespace

/// Calls are made at one queue, and end at the other.
BOOST_AUTO_TEST_CASE(batches_that_move_to_another_queue_are_replaced_by_its_spare_ones) {
    constexpr std::string_view moved = "-MOVED 3999 127.0.0.1:6381\r\n";
    const auto rules = policy{"p", gcra(100, 1s)};
    const auto settings = redis::queue_settings{.prefix = "t", .is_cluster = true};
    auto ops = std::array<test::fake_operation, 6>{};
    auto from = redis::script_queue{settings};
    auto to = redis::script_queue{settings};
    auto router = other_queue{};
    from.route_by(router);
    router.to = &to;
    auto keys = std::vector<std::string>{};
    for (std::size_t i = 0; i < ops.size(); ++i)
        keys.push_back("k" + std::to_string(i)); // each in a batch of its own
    auto out = std::string{};
    auto position = std::uint64_t{0};
    auto reader = redis::resp::decoder{};
    const auto move_all = [&] {
        for (std::size_t i = 0; i < ops.size(); ++i)
            BOOST_REQUIRE(!from.submit(ops[i], keys[i], detail::access::data(rules)));
        out.clear();
        from.write(out, position, 0);
        position += out.size();
        auto batches = 0;
        for (; from.expects_reply(); ++batches) {
            BOOST_REQUIRE((reader.feed(moved) == redis::resp::progress::complete));
            (void)from.read_reply(reader, moved);
            reader.next();
        }
        BOOST_TEST(from.size() == 0U);
        BOOST_TEST(to.size() == ops.size());
        to.fail_all(errc::closed);
        while (to.done.pop_front() != nullptr) {
        }
        BOOST_TEST(to.size() == 0U);
        return batches;
    };
    BOOST_TEST(move_all() > 3);
    const auto before = test::allocations();
    for (auto i = 0; i < 1'000; ++i)
        (void)move_all();
    const auto made = test::allocations() - before;
    BOOST_TEST(made == 0);
}

BOOST_AUTO_TEST_SUITE_END()
