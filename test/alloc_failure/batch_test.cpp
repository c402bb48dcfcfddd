// SPDX-License-Identifier: BSL-1.0
//
// Batches whose bytes find no memory.

#include <boost/test/unit_test.hpp>

#include <alloc_failure/failing_new.hpp>
#include <support/script_queue_bench.hpp>

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

BOOST_AUTO_TEST_SUITE_END()
