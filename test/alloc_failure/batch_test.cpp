// SPDX-License-Identifier: BSL-1.0
//
// Batches whose bytes find no memory.

#include <alloc_failure/failing_new.hpp>
#include <redis/multi/multi_queue.hpp>
#include <support/script_queue_bench.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/error.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <new>
#include <string>

BOOST_AUTO_TEST_SUITE(failing_batches)

namespace {

using namespace std::chrono_literals;
using namespace colimit;

const auto bucket = policy{"p", gcra(10, 1s)};
const auto packed = policy{"p", gcra(10, 1s)}.with_storage(storage::shared_hash);
const auto members = policy{"p", distinct(10, 1h)};

/// Twenty calls, of which one is given up before they leave.
struct conversation : test::script_queue_bench {
    explicit conversation(const policy& rules) {
        for (auto n = 0; n < 20; ++n) {
            auto& call =
                calls.emplace_back(detail::call_request{.member = "m", .has_member = true});
            BOOST_REQUIRE(!submit(call, "a key " + std::to_string(n), rules));
        }
    }
    ~conversation() { queue.fail_all(errc::closed); }
    conversation(const conversation&) = delete;
    conversation& operator=(const conversation&) = delete;

    std::string write_without_one() {
        queue.withdraw(calls[7], boost::asio::error::operation_aborted);
        return write();
    }

    std::deque<test::fake_operation> calls;
};

/// Returns whether writing the calls needs an i-th allocation. When that fails, they are written
/// later.
[[nodiscard]] bool fails_first(const policy& rules, std::int64_t i) {
    auto failing = conversation{rules};
    auto out = std::string{};
    try {
        const auto shortage = test::shortage{i, 1};
        failing.queue.write(out, 0, 0);
        return false;
    } catch (const std::bad_alloc&) {
        BOOST_TEST(!failing.queue.expects_reply());
        BOOST_TEST(!failing.queue.is_sent(failing.calls.front()));
    }
    auto rich = conversation{rules};
    BOOST_TEST(failing.write_without_one() == rich.write_without_one());
    return true;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_batch_that_could_not_be_written_is_written_later) {
    for (const auto* rules : {&bucket, &packed, &members}) {
        auto i = std::int64_t{1};
        while (fails_first(*rules, i))
            ++i;
        BOOST_TEST(i > 2);
    }
}

/// A batch whose first call found no memory is not counted, whatever it had before.
BOOST_AUTO_TEST_CASE(a_first_call_with_an_id_without_memory_changes_nothing) {
    auto bench = test::script_queue_bench{};
    auto plain = std::deque<test::fake_operation>(3);
    for (auto& call : plain)
        BOOST_REQUIRE(!bench.submit(call, "k", bucket));
    (void)bench.write();
    bench.queue.lose_connection(bench.position); // now the batch can be used again
    auto call = test::fake_operation{detail::call_request{.has_id = true, .id = "1"}};
    auto failures = 0;
    for (auto refused = true; refused; failures += refused ? 1 : 0) {
        const auto shortage = test::shortage{failures + 1, 1};
        refused = bench.submit(call, "k", bucket) == boost::system::errc::not_enough_memory;
        if (refused) {
            BOOST_TEST(bench.write().empty());
            BOOST_TEST(bench.queue.size() == 0U);
        }
    }
    BOOST_TEST(failures > 0);
    BOOST_TEST(!bench.write().empty());
    BOOST_TEST(bench.queue.size() == 1U);
    bench.queue.fail_all(errc::closed);
}

/// With MULTI a call that found no memory leaves an empty batch, which is no cleanup.
BOOST_AUTO_TEST_CASE(a_call_without_memory_does_not_stop_the_calls_after_it) {
    const auto log = policy{"p", sliding_log(10, 1h)};
    auto queue =
        redis::multi_queue{{.prefix = "t", .batch_size = 1, .batches_in_flight = 1, .clock = [] {
                                return std::int64_t{0};
                            }}};
    queue.begin_connection({.origin = "run.1.", .time = 1, .asked = 1, .answered = 1});
    auto calls = std::deque<test::fake_operation>(2);
    const auto long_key = std::string(250, 'k'); // more than the usual key, so memory has to grow
    {
        const auto shortage = test::shortage{1, 100};
        const auto ec = queue.submit(calls[0], long_key, detail::access::data(log));
        BOOST_TEST((ec == boost::system::errc::not_enough_memory));
    }
    auto out = std::string{};
    queue.write(out, 0, 0);
    BOOST_TEST(out.empty());
    BOOST_REQUIRE(!queue.submit(calls[1], "k", detail::access::data(log)));
    BOOST_TEST(queue.wants_to_write());
    queue.write(out, 0, 0);
    BOOST_TEST(queue.expects_reply());
    queue.fail_all(errc::closed);
}

BOOST_AUTO_TEST_SUITE_END()
