// SPDX-License-Identifier: BSL-1.0
//
// The memory that the headers name for an entry of a table, a call and a policy.

#include <allocation/counted_allocations.hpp>
#include <colimit/limiter.hpp>
#include <colimit/local_limiter.hpp>
#include <limiter/deny_cache.hpp>
#include <limiter/lease_table.hpp>
#include <redis/script/script_queue.hpp>
#include <support/fake_operation.hpp>
#include <support/peak_memory.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>

#include <malloc.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(memory_figures)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

constexpr std::size_t entries = 262'144;
constexpr std::int64_t mib = std::int64_t{1024} * 1024;
constexpr std::int64_t noise = 4 * mib; ///< two huge pages, of which a table may touch parts

[[nodiscard]] std::int64_t read_clock() noexcept {
    return 1'000'000;
}

/// What is allocated. Memory that was freed before may be used again, so pages do not show it.
[[nodiscard]] std::int64_t allocated() {
    const auto all = ::mallinfo2();
    return static_cast<std::int64_t>(all.uordblks + all.hblkhd);
}

/// The growth of the pages in use, none of which is what other tests have freed.
[[nodiscard]] test::peak_memory measured_pages() {
    ::mallopt(M_MMAP_THRESHOLD, 128 * 1024); // as long as nothing large was freed, the same
    ::malloc_trim(0);
    return test::peak_memory{};
}

[[nodiscard]] hash::digest digest_of(std::size_t i, const policy& p) {
    return detail::access::data(p)->digest("key" + std::to_string(i));
}

/// So many bytes for each of `count`, at most and, with `least`, not much less: a figure of a
/// header that has become wrong.
void check(std::string_view what, std::int64_t bytes, std::size_t count, std::int64_t least,
           std::int64_t most) {
    const auto n = static_cast<std::int64_t>(count);
    BOOST_TEST_MESSAGE(what << ": " << bytes / n << " bytes");
    BOOST_TEST(bytes <= n * most + noise, what << ": " << bytes / n << " bytes");
    BOOST_TEST(bytes >= n * least - noise, what << ": " << bytes / n << " bytes");
}

/// Memory that `calls` of them take while they wait for a server that does not exist.
template<class Call>
void check_calls(std::string_view what, std::size_t calls, std::int64_t least, std::int64_t most,
                 Call call) {
    auto context = asio::io_context{1};
    auto settings = config{};
    settings.server = "unix:/nonexistent/redis";
    settings.timeout = 1h;
    settings.advanced.request_ttl = 24h;
    settings.on_failure = failure_mode::error;
    auto l = limiter{context.get_executor(), settings};
    const auto before = allocated();
    for (std::size_t i = 0; i < calls; ++i)
        call(l, i);
    check(what, allocated() - before, calls, least, most);
    l.close();
    context.run();
}

const auto rules = policy{"p", gcra(1, 1h).burst(1)};
constexpr auto ignore = [](error_code, const decision&) {};

/// A handler of this size that makes the next call with itself.
template<std::size_t Size, bool IsBound>
struct chained {
    using strand = asio::strand<asio::io_context::executor_type>;
    struct state {
        limiter& of;
        strand own;
        int left;
        std::int64_t before = 0;
        std::int64_t taken = 0;
    };
    static constexpr auto measured = 1'000;

    void operator()(error_code, const decision&) const {
        if (s->left == measured)
            s->before = test::allocations();
        if (s->left-- == 0)
            s->taken = test::allocations() - s->before;
        else if constexpr (IsBound)
            s->of.allow("k", rules, asio::bind_executor(s->own, chained{*this}));
        else
            s->of.allow("k", rules, chained{*this});
    }

    state* s;
    std::array<char, Size - sizeof(state*)> rest{};
};

/// Returns what 1,000 calls allocate.
template<std::size_t Size, bool IsBound = false>
[[nodiscard]] std::int64_t allocations_with(bool thread_safe = false) {
    using handler = chained<Size, IsBound>;
    static_assert(sizeof(handler) == Size);
    auto context = asio::io_context{1};
    auto settings = config{};
    settings.thread_safe = thread_safe;
    auto l = limiter{context.get_executor(), settings};
    auto s = typename handler::state{
        .of = l, .own = asio::make_strand(context), .left = 3 * handler::measured};
    handler{&s}({}, {});
    context.run();
    return s.taken;
}

} // namespace

BOOST_AUTO_TEST_CASE(handlers_of_up_to_512_bytes_cost_no_allocation) {
    for (const auto thread_safe : {false, true}) {
        BOOST_TEST((allocations_with<64>(thread_safe) == 0));
        BOOST_TEST((allocations_with<512>(thread_safe) == 0));
        BOOST_TEST((allocations_with<512, true>(thread_safe) == 0));
        BOOST_TEST((allocations_with<4'096>(thread_safe) <= 1'000));
        BOOST_TEST((allocations_with<4'096, true>(thread_safe) <= 2'000));
        BOOST_TEST((allocations_with<4'096>(thread_safe) > 0)); // it is what is measured
    }
}

BOOST_AUTO_TEST_CASE(a_cached_denial_takes_300_bytes) {
    const auto memory = measured_pages();
    auto cache = detail::deny_cache{entries, 3'600'000'000, read_clock};
    for (std::size_t i = 0; i < 4 * entries; ++i) {
        auto op = test::fake_operation{};
        op.key_digest = digest_of(i, rules);
        (void)cache.try_decide(op, *detail::access::data(rules));
        op.sent_at = read_clock();
        op.result.outcome = outcome::denied;
        op.result.retry_after = 1h;
        (void)detail::access::append(op.result.rules);
        cache.note(op, read_clock());
        if (i == 0)
            check("the first denial", memory.growth(), 1, 0, 5 * mib);
    }
    BOOST_TEST(cache.size() > entries * 9 / 10);
    check("a denial", memory.growth(), entries, 250, 310);
}

BOOST_AUTO_TEST_CASE(a_lease_takes_300_bytes) {
    const auto leased = policy{"p", gcra(1'000, 1s)}.with_leases(100ms);
    const auto memory = measured_pages();
    auto table = detail::lease_table{entries, read_clock};
    for (std::size_t i = 0; i < 4 * entries; ++i) {
        auto op = test::fake_operation{};
        op.kind = detail::call_kind::one;
        op.key_digest = digest_of(i, leased);
        (void)table.try_decide(op, *detail::access::data(leased));
        op.fallback.policy = detail::access::data(leased);
        if (op.lease.is_known)
            table.ask(op, *detail::access::data(leased));
        (void)detail::access::append(op.result.rules);
        table.note(op, read_clock());
        if (i == 0)
            check("the first lease", memory.growth(), 1, 0, 5 * mib);
    }
    check("a lease", memory.growth(), entries, 250, 310);
}

BOOST_AUTO_TEST_CASE(a_state_in_process_takes_70_bytes) {
    // No power of two, and so many that a huge page more or less does not matter.
    constexpr std::size_t states = 1'200'000;
    const auto memory = measured_pages();
    auto l = local_limiter{states};
    for (std::size_t i = 0; i < 2 * states; ++i)
        (void)l.allow("key" + std::to_string(i), rules);
    BOOST_TEST(l.statistics().states == states);
    BOOST_TEST(l.statistics().overflowed > 0U);
    check("a state", memory.growth() - 8 * mib / 10, states, 60, 64 + 8);
}

BOOST_AUTO_TEST_CASE(statistics_take_2_4_kilobytes) {
    BOOST_TEST(sizeof(statistics) <= 2'450U);
    BOOST_TEST(sizeof(policy_statistics) <= 2'350U);
}

BOOST_AUTO_TEST_CASE(a_call_that_waits_to_be_sent_takes_1_1_kib) {
    check_calls("a call", 60'000, 1'000, 1'280, [](limiter& l, std::size_t i) {
        l.allow("key" + std::to_string(i), rules, ignore);
    });
    check_calls("a call with a time", 20'000, 1'900, 5'200, [](limiter& l, std::size_t i) {
        const auto now = time_point{1h + std::chrono::microseconds{i}};
        l.allow("key" + std::to_string(i), rules, {.now = now}, ignore);
    });
    constexpr std::size_t joint_calls = 20'000;
    auto checks = std::vector<check_item>{};
    for (std::size_t i = 0; i < 2 * joint_calls; ++i)
        checks.push_back({.key = i % 2 == 0 ? "a" : "b", .policy = rules});
    check_calls("an allow_all", joint_calls, 1'900, 5'200, [&](limiter& l, std::size_t i) {
        l.allow_all(std::span{checks}.subspan(2 * i, 2), ignore);
    });
}

/// Returns the bytes of a batch that waits for its cluster node, one of many with so many calls.
[[nodiscard]] std::int64_t bytes_of_batch(const policy& p, std::size_t calls,
                                          const check_options& options) {
    constexpr auto batches = std::size_t{256};
    auto queue =
        redis::script_queue{{.prefix = "t", .tags = redis::key_tags{1}, .is_cluster = true}};
    auto ops = std::deque<test::fake_operation>{};
    for (std::size_t i = 0; i < batches * calls; ++i) {
        auto own = options; // a batch has calls of one time
        own.now = time_point{1h + std::chrono::microseconds{i / calls}};
        ops.emplace_back(detail::make_request(detail::verb::allow, own));
    }
    auto key = std::string{};
    const auto before = allocated();
    for (std::size_t i = 0; i < ops.size(); ++i) {
        key = "user=" + std::to_string(i);
        BOOST_REQUIRE(!queue.submit(ops[i], key, detail::access::data(p)));
    }
    const auto taken = allocated() - before;
    queue.fail_all(errc::closed);
    while (queue.done.pop_front() != nullptr) {
    }
    return taken / std::int64_t{batches};
}

BOOST_AUTO_TEST_CASE(a_batch_that_waits_takes_1_to_24_kib) {
    constexpr std::int64_t kib = 1024;
    const auto check_batch = [](std::size_t calls, std::int64_t least, std::int64_t most) {
        const auto plain = bytes_of_batch(rules, calls, {});
        const auto with_ids = bytes_of_batch(rules, calls, {.request = "id"});
        BOOST_TEST_MESSAGE(calls << " calls: " << plain << " bytes, with ids " << with_ids);
        BOOST_TEST(plain >= least);
        BOOST_TEST(with_ids <= most);
    };
    check_batch(1, kib * 9 / 10, kib * 5 / 4);
    check_batch(4, kib * 13 / 10, 2 * kib);
    check_batch(96, 16 * kib, 24 * kib);
}

BOOST_AUTO_TEST_CASE(a_call_that_waits_for_its_turn_takes_1_2_kib) {
    for (const auto& p : {rules, policy{"window", fixed_window(1, 1h)}}) {
        auto context = asio::io_context{1};
        auto l = limiter{context.get_executor(), "memory:"};
        const auto before = allocated();
        constexpr std::size_t calls = 60'000;
        for (std::size_t i = 0; i < calls; ++i) {
            l.wait("key", p, {.max_wait = wait_options::no_max_wait}, ignore);
            if (i % 100 == 0)
                context.poll();
        }
        context.poll();
        check("a wait", allocated() - before, calls, 1'000, 1'280);
        l.close();
        context.restart();
        context.run();
    }
}

BOOST_AUTO_TEST_SUITE_END()
