// SPDX-License-Identifier: BSL-1.0
//
// No allocation for a call in the steady state: after a warm-up, a hundred thousand calls ask the
// system's allocator for nothing, whichever store and token they use.

#include <allocation/counted_allocations.hpp>
#include <base/bytes.hpp>
#include <colimit/adaptive_limit.hpp>
#include <colimit/limiter.hpp>
#include <colimit/local_limiter.hpp>
#include <support/function_library.hpp>
#include <support/redis_server.hpp>
#include <support/tls_server.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <openssl/crypto.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(allocation)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

constexpr int warm_up = 60'000;
constexpr int measured = 40'000;

const auto rules = policy{"steady", gcra(100, 1s).burst(10), gcra(5'000, 1h).named("hour")};

/// Full within the warm-up, so that the replies are as large as they get.
const auto logs = policy{"logs", sliding_log(3, 1s), sliding_log(9'999, 1h).named("hour")};

[[nodiscard]] std::vector<std::string> make_keys() {
    auto keys = std::vector<std::string>{};
    for (int i = 0; i < 1'000; ++i)
        keys.push_back("a key of more than fifteen bytes " + std::to_string(i));
    keys.emplace_back(1'000, 'k'); // one that is replaced by its digest
    return keys;
}

const auto keys = make_keys();

[[nodiscard]] const std::string& key_of(int call) {
    return keys[static_cast<std::size_t>(call) % keys.size()];
}

/// OpenSSL's allocations are counted separately: for each record that it writes or reads it
/// allocates one or two blocks of 40 bytes, which cannot be avoided.
std::atomic<std::int64_t> of_openssl{0};
const bool openssl_is_counted =
    ::CRYPTO_set_mem_functions(
        [](std::size_t size, const char* /*file*/, int /*line*/) {
            ++of_openssl;
            return std::malloc(size);
        },
        [](void* memory, std::size_t size, const char* /*file*/, int /*line*/) {
            ++of_openssl;
            return std::realloc(memory, size);
        },
        [](void* memory, const char* /*file*/, int /*line*/) { std::free(memory); }) == 1;

/// Counts calls, and what is allocated from the end of the warm-up until all are measured.
class meter {
  public:
    /// Before each call; false when there have been enough.
    [[nodiscard]] bool next() {
        if (calls_ == warm_up) {
            test::trace_next_allocation();
            before_ = test::allocations();
            openssl_before_ = of_openssl;
        }
        if (calls_ == warm_up + measured)
            return false;
        ++calls_;
        if (calls_ == warm_up + measured) {
            taken_ = test::allocations() - before_;
            openssl_taken_ = of_openssl - openssl_before_;
        }
        return true;
    }

    [[nodiscard]] int calls() const noexcept { return calls_; }

    /// @param openssl what OpenSSL may have taken
    /// @param each what each call may take itself
    void check(const char* what, std::int64_t openssl = 0, std::int64_t each = 0) const {
        BOOST_REQUIRE(taken_.has_value());
        const auto own = *taken_ - openssl_taken_;
        std::cout << what << ": " << own << " allocations in " << measured << " calls";
        if (openssl != 0)
            std::cout << ", and " << openssl_taken_ << " by OpenSSL";
        std::cout << '\n';
        if (own > each * measured)
            test::print_traced_allocation(std::cout);
        BOOST_TEST(own <= each * measured);
        BOOST_TEST(openssl_taken_ <= openssl);
    }

  private:
    int calls_ = 0;
    std::int64_t before_ = 0;
    std::int64_t openssl_before_ = 0;
    std::int64_t openssl_taken_ = 0;
    std::optional<std::int64_t> taken_;
};

/// As on a loaded server, where each call may take its time. Denials are not remembered: each call
/// is to go all the way.
[[nodiscard]] config patient(const std::string& server,
                             execution_mode how = execution_mode::script) {
    auto c = config{};
    c.server = server;
    c.advanced.mode = how;
    c.timeout = 10s;
    c.advanced.ping_interval = 0ms; // only what the test asks for is sent
    c.advanced.deny_cache = 0;
    c.advanced.batch_size =
        256; // for all callers, or how many batches wait would be a matter of chance
    return c;
}

void await_calls(const config& settings, const policy& p, int callers, meter& m) {
    auto context = asio::io_context{1};
    auto limiter = colimit::limiter{context.get_executor(), settings};
    auto running = callers;
    for (int i = 0; i < callers; ++i)
        asio::co_spawn(
            context,
            [&]() -> asio::awaitable<void> {
                while (m.next())
                    (void)co_await limiter.allow(key_of(m.calls()), p);
                if (--running == 0)
                    limiter.close();
            },
            asio::detached);
    context.run(); // all in one go: what Asio keeps for the next handler belongs to the run
    BOOST_TEST(running == 0);
}

void await_calls(const std::string& server, int callers, meter& m) {
    await_calls(patient(server), rules, callers, m);
}

/// Each call has an id and is made twice, of which the second time it is known.
void await_calls_with_ids(const config& settings, const policy& p, int callers, meter& m) {
    auto context = asio::io_context{1};
    auto limiter = colimit::limiter{context.get_executor(), settings};
    auto running = callers;
    for (int i = 0; i < callers; ++i)
        asio::co_spawn(
            context,
            [&]() -> asio::awaitable<void> {
                while (m.next()) {
                    const auto call = m.calls();
                    const auto id = detail::decimal{call};
                    for (auto times = 0; times < 2; ++times)
                        (void)co_await limiter.allow(key_of(call), p,
                                                     {.request = std::string_view{id}});
                }
                if (--running == 0)
                    limiter.close();
            },
            asio::detached);
    context.run(); // all in one go: what Asio keeps for the next handler belongs to the run
    BOOST_TEST(running == 0);
}

/// New ids and old ones in turn, which are looked up before they are recorded.
void await_seen(const std::string& server, int callers, meter& m) {
    auto context = asio::io_context{1};
    auto limiter = colimit::limiter{context.get_executor(), patient(server)};
    const bloom_filter ids{"ids", {.capacity = 10'000}};
    auto running = callers;
    for (int i = 0; i < callers; ++i)
        asio::co_spawn(
            context,
            [&]() -> asio::awaitable<void> {
                while (m.next()) {
                    (void)co_await limiter.probably_seen(key_of(m.calls() / 2), ids);
                    (void)co_await limiter.seen(key_of(m.calls() / 2), ids);
                }
                if (--running == 0)
                    limiter.close();
            },
            asio::detached);
    context.run(); // all in one go: what Asio keeps for the next handler belongs to the run
    BOOST_TEST(running == 0);
}

/// Each slot is released before the next one is acquired.
void await_slots(const std::string& server, int callers, meter& m) {
    const auto places = policy{"places", concurrent(1'000).lease(24h)};
    auto context = asio::io_context{1};
    auto limiter = colimit::limiter{context.get_executor(), patient(server)};
    auto running = callers;
    auto granted = 0;
    for (int i = 0; i < callers; ++i)
        asio::co_spawn(
            context,
            [&]() -> asio::awaitable<void> {
                while (m.next()) {
                    auto held = co_await limiter.acquire(key_of(m.calls()), places);
                    granted += held ? 1 : 0;
                    held.release();
                }
                if (--running == 0)
                    limiter.close();
            },
            asio::detached);
    context.run(); // all in one go: what Asio keeps for the next handler belongs to the run
    BOOST_TEST(running == 0);
    BOOST_TEST(granted == warm_up + measured);
}

/// Holds a slot per key, and counts what several rounds of renewals take, until some take nothing,
/// as a halt may make a buffer larger. Returns nothing if slots were lost on a slow machine.
[[nodiscard]] std::optional<std::int64_t> allocations_of_renewals(const std::string& server) {
    const auto places = policy{"places", concurrent(1).lease(900ms)};
    auto context = asio::io_context{1};
    auto limiter = colimit::limiter{context.get_executor(), patient(server)};
    auto taken = std::optional<std::int64_t>{};
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            auto held = std::vector<slot>{};
            for (const auto& key : keys)
                held.push_back(co_await limiter.acquire(key, places));
            auto timer = asio::steady_timer{context};
            for (std::uint64_t rounds = 4; rounds <= 40 && taken != 0; rounds += 4) {
                const auto before = test::allocations();
                while (limiter.statistics().slots_renewed < rounds * keys.size() &&
                       limiter.statistics().slots_lost == 0) {
                    timer.expires_after(10ms);
                    co_await timer.async_wait(asio::deferred);
                }
                taken = test::allocations() - before;
            }
            if (limiter.statistics().slots_lost != 0)
                taken.reset();
            limiter.close();
        },
        asio::detached);
    context.run();
    return taken;
}

void call_back(const std::string& server, int callers, meter& m) {
    auto context = asio::io_context{1};
    auto limiter = colimit::limiter{context.get_executor(), patient(server)};
    auto running = callers;
    auto failures = 0;
    struct caller {
        colimit::limiter& limiter;
        meter& m;
        int& running;
        int& failures;
        void operator()(error_code ec, const decision& /*d*/) const {
            failures += ec ? 1 : 0;
            if (m.next())
                limiter.allow(key_of(m.calls()), rules, caller{*this});
            else if (--running == 0)
                limiter.close();
        }
    };
    for (int i = 0; i < callers; ++i)
        limiter.allow(key_of(i), rules, caller{limiter, m, running, failures});
    context.run(); // all in one go: what Asio keeps for the next handler belongs to the run
    BOOST_TEST(running == 0);
    BOOST_TEST(failures == 0);
}

} // namespace

BOOST_AUTO_TEST_CASE(every_way_to_allocate_is_counted) {
    const auto counts = [](auto take) {
        const auto before = test::allocations();
        void* volatile memory = take(); // volatile: or the compiler leaves it out
        const auto taken = test::allocations() - before;
        std::free(memory); // NOLINT(clang-analyzer-unix.MismatchedDeallocator): new is malloc
        return taken;
    };
    BOOST_TEST(counts([] { return std::malloc(10); }) == 1);
    BOOST_TEST(counts([] { return std::calloc(2, 10); }) == 1);
    BOOST_TEST(counts([] { return std::realloc(nullptr, 10); }) == 1);
    BOOST_TEST(counts([] { return std::aligned_alloc(64, 128); }) == 1);
    BOOST_TEST(counts([] { return ::operator new(10); }) == 1);
    BOOST_TEST(counts([] { return ::operator new(128, std::align_val_t{64}); }) == 1);
    BOOST_TEST(counts([] {
                   void* memory = nullptr;
                   return ::posix_memalign(&memory, 64, 128) == 0 ? memory : nullptr;
               }) == 1);
}

BOOST_AUTO_TEST_CASE(a_local_limiter_allocates_nothing_for_a_call) {
    auto limiter = local_limiter{10'000};
    auto m = meter{};
    while (m.next())
        (void)limiter.allow(key_of(m.calls()), rules);
    m.check("local_limiter");
}

BOOST_AUTO_TEST_CASE(an_adaptive_limit_allocates_nothing_for_a_call) {
    for (const auto algorithm : {adaptive_algorithm::gradient2, adaptive_algorithm::brpc}) {
        auto limit = adaptive_limit{{.algorithm = algorithm}};
        auto now = adaptive_limit::time_point{1h};
        auto m = meter{};
        while (m.next()) {
            auto work = limit.try_acquire(now);
            now += 1ms; // so windows end, too
            if (m.calls() % 3 == 0)
                work.dropped(now);
            else
                work.succeeded(now);
        }
        m.check("adaptive limit");
    }
}

BOOST_AUTO_TEST_CASE(an_awaited_call_in_process_allocates_nothing) {
    auto m = meter{};
    await_calls("memory:", 1, m);
    m.check("co_await, in process");
}

BOOST_AUTO_TEST_CASE(many_coroutines_in_process_allocate_nothing) {
    auto m = meter{};
    await_calls("memory:", 256, m);
    m.check("256 coroutines, in process");
}

BOOST_AUTO_TEST_CASE(a_callback_in_process_allocates_nothing) {
    auto m = meter{};
    call_back("memory:", 16, m);
    m.check("callbacks, in process");
}

BOOST_AUTO_TEST_CASE(many_coroutines_on_redis_allocate_nothing) {
    auto server = test::redis_server{};
    auto m = meter{};
    await_calls(server.address(), 256, m);
    m.check("256 coroutines, Redis");
}

BOOST_AUTO_TEST_CASE(many_coroutines_that_call_functions_allocate_nothing) {
    auto server = test::redis_server{};
    auto look = server.connect();
    test::load_function_library(look);
    auto m = meter{};
    await_calls(patient(server.address(), execution_mode::function), rules, 256, m);
    m.check("256 coroutines, Redis, functions");
}

BOOST_AUTO_TEST_CASE(many_coroutines_on_packed_states_allocate_nothing) {
    auto server = test::redis_server{};
    auto m = meter{};
    await_calls(patient(server.address()),
                policy{"p", gcra(1000, 1s)}.with_storage(storage::shared_hash), 256, m);
    m.check("256 coroutines, Redis, packed");
}

BOOST_AUTO_TEST_CASE(calls_with_ids_allocate_nothing) {
    auto server = test::redis_server{};
    for (const auto& p : {rules, policy{"p", gcra(1000, 1s)}.with_storage(storage::shared_hash),
                          policy{"log", sliding_log(100, 1s)}}) {
        auto settings = patient(server.address());
        settings.advanced.request_ttl = 20s; // so that the server keeps few of them
        auto m = meter{};
        await_calls_with_ids(settings, p, 256, m);
        m.check("256 coroutines, Redis, ids");
    }
}

BOOST_AUTO_TEST_CASE(counted_and_audited_calls_allocate_nothing) {
    auto server = test::redis_server{};
    for (const auto& address : {std::string{"memory:"}, server.address()}) {
        auto settings = patient(address);
        auto records = std::uint64_t{0};
        settings.counted_policies = 10;
        settings.on_decision = [&](const audit_record& r) { records += r.weight; };
        auto m = meter{};
        await_calls(settings, rules, 256, m);
        m.check(address == "memory:" ? "audited, in process" : "audited, Redis");
        BOOST_TEST(records == static_cast<std::uint64_t>(warm_up + measured));
    }
}

/// More keys than states, all of them denied from the second call on.
BOOST_AUTO_TEST_CASE(a_flood_that_the_deny_cache_answers_allocates_nothing) {
    auto server = test::redis_server{};
    auto settings = patient(server.address());
    settings.advanced.deny_cache = 500;
    auto m = meter{};
    await_calls(settings, policy{"flood", gcra(1, 24h).burst(1)}, 256, m);
    m.check("256 coroutines, refused");
}

BOOST_AUTO_TEST_CASE(calls_that_leases_decide_allocate_nothing) {
    auto server = test::redis_server{};
    auto m = meter{};
    await_calls(patient(server.address()),
                policy{"leased", fixed_window(1'000'000'000, 1h)}.with_leases(10s), 256, m);
    m.check("256 coroutines, leases");
}

/// The slot, its key, and what the call keeps of it; in process also the set of holders, an object
/// and its vector, which ends with its only holder here. The release notes the turn of its key.
BOOST_AUTO_TEST_CASE(a_slot_and_its_release_allocate_a_few_blocks) {
    auto here = meter{};
    await_slots("memory:", 1, here);
    here.check("slots, in process", 0, 5);
    auto server = test::redis_server{};
    auto there = meter{};
    await_slots(server.address(), 256, there);
    there.check("256 coroutines, slots, Redis", 0, 4);
}

BOOST_AUTO_TEST_CASE(renewals_of_slots_allocate_nothing) {
    auto server = test::redis_server{};
    for (const auto& address : {std::string{"memory:"}, server.address()}) {
        auto taken = allocations_of_renewals(address);
        while (!taken)
            taken = allocations_of_renewals(address);
        BOOST_TEST(*taken == 0);
    }
}

BOOST_AUTO_TEST_CASE(asking_bloom_filters_allocates_nothing) {
    auto here = meter{};
    await_seen("memory:", 1, here);
    here.check("seen, in process");
    auto server = test::redis_server{};
    auto there = meter{};
    await_seen(server.address(), 256, there);
    there.check("256 coroutines, seen, Redis");
}

BOOST_AUTO_TEST_CASE(many_coroutines_on_redis_by_tls_allocate_nothing) {
    auto s = test::tls_server{};
    auto settings = patient(s.address());
    s.trusted()(settings);
    BOOST_TEST_REQUIRE(openssl_is_counted);
    auto m = meter{};
    await_calls(settings, rules, 256, m);
    m.check("256 coroutines, Redis by TLS", measured / 10);
}

BOOST_AUTO_TEST_CASE(callbacks_on_redis_allocate_nothing) {
    auto server = test::redis_server{};
    auto m = meter{};
    call_back(server.address(), 64, m);
    m.check("64 callbacks, Redis");
}

BOOST_AUTO_TEST_CASE(many_coroutines_on_redis_without_scripts_allocate_nothing) {
    auto server = test::redis_server{};
    auto m = meter{};
    await_calls(patient(server.address(), execution_mode::multi), logs, 64, m);
    m.check("64 coroutines, Redis by MULTI");
    // Most calls are denied, and give back what they added.
    const auto windows = policy{"windows", fixed_window(1, 1h), fixed_window(9, 1h).named("b")};
    auto more = meter{};
    await_calls(patient(server.address(), execution_mode::multi), windows, 64, more);
    more.check("64 coroutines, Redis by MULTI, windows");
}

BOOST_AUTO_TEST_SUITE_END()
