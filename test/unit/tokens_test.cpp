// SPDX-License-Identifier: BSL-1.0
//
// The verbs as Asio initiating functions: every kind of completion token, the handler's executor
// and allocator, and the manners that handlers may rely on.

#include <colimit/limiter.hpp>
#include <support/coroutine_run.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(tokens)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

const auto five = policy{"five", gcra(5, 1h)};

struct fixture {
    asio::io_context context;
    colimit::limiter limiter{context.get_executor(), "memory:"};
};

/// An executor that counts what it is given, and says of itself that it runs something.
struct tracking_executor {
    asio::io_context::executor_type inner;
    int* given;
    bool* inside;

    template<class Function>
    void execute(Function f) const {
        ++*given;
        inner.execute([f = std::move(f), inside = inside]() mutable {
            *inside = true;
            f();
            *inside = false;
        });
    }
    [[nodiscard]] asio::execution_context& query(asio::execution::context_t /*what*/) const {
        return inner.context();
    }
    bool operator==(const tracking_executor& other) const noexcept {
        return inner == other.inner && given == other.given;
    }
};

/// Counts the bytes that are out.
template<class T>
struct counting_allocator {
    using value_type = T;
    explicit counting_allocator(std::ptrdiff_t& bytes, int& count) : out(&bytes), taken(&count) {}
    template<class U>
    counting_allocator(const counting_allocator<U>& other) : out(other.out), taken(other.taken) {}
    T* allocate(std::size_t n) {
        *out += static_cast<std::ptrdiff_t>(n * sizeof(T));
        ++*taken;
        return static_cast<T*>(::operator new(n * sizeof(T)));
    }
    void deallocate(T* memory, std::size_t n) {
        *out -= static_cast<std::ptrdiff_t>(n * sizeof(T));
        ::operator delete(memory);
    }
    template<class U>
    bool operator==(const counting_allocator<U>& other) const {
        return out == other.out;
    }
    std::ptrdiff_t* out;
    int* taken;
};

// `if (co_await limiter.allow(...))`, which GCC 12 miscompiles, does not compile.
static_assert(!std::is_constructible_v<bool, decision>);
static_assert(!std::is_constructible_v<bool, const decision>);
static_assert(std::is_constructible_v<bool, decision&>);
static_assert(std::is_constructible_v<bool, const decision&>);
static_assert(!std::is_convertible_v<const decision&, bool>);

static_assert(std::is_nothrow_move_constructible_v<limiter>);
static_assert(std::is_nothrow_move_assignable_v<limiter>);
static_assert(!std::is_copy_constructible_v<limiter>);

} // namespace

BOOST_FIXTURE_TEST_CASE(a_call_can_be_awaited_as_it_is, fixture) {
    test::run(context, [&]() -> asio::awaitable<void> {
        if (auto d = co_await limiter.allow("k", five); !d)
            BOOST_ERROR("refused");
        const auto d = co_await limiter.peek("k", five);
        BOOST_TEST(d.remaining == 4);
    });
}

BOOST_FIXTURE_TEST_CASE(a_bare_rule_can_be_awaited, fixture) {
    test::run(context, [&]() -> asio::awaitable<void> {
        auto d = co_await limiter.allow("k", gcra(5, 1s));
        BOOST_TEST(d.allowed());
        d = co_await limiter.allow("k", gcra(5, 1s), {.cost = 5});
        BOOST_TEST(!d.allowed());
    });
}

BOOST_FIXTURE_TEST_CASE(every_verb_takes_its_options_with_and_without_a_token, fixture) {
    test::run(context, [&]() -> asio::awaitable<void> {
        auto d = co_await limiter.allow("k", five, {.cost = 9, .at_least = 1});
        BOOST_TEST(d.granted == 5);
        d = co_await limiter.charge("k", five, {.cost = 2}, asio::use_awaitable);
        BOOST_TEST(d.rules[0].balance == -2);
        d = co_await limiter.charge("k", five);
        BOOST_TEST(d.rules[0].balance == -3);
        d = co_await limiter.refund("k", five, {.cost = 4}, asio::deferred);
        BOOST_TEST(d.remaining == 1);
        d = co_await limiter.refund("k", five, asio::use_awaitable);
        BOOST_TEST(d.remaining == 2);
        d = co_await limiter.peek("k", five, {.cost = 3}, asio::use_awaitable);
        BOOST_TEST(!d.allowed());
        d = co_await limiter.reset("k", five, reset_options{});
        BOOST_TEST(d.remaining == 5);
        d = co_await limiter.reset("k", five, asio::use_awaitable);
        BOOST_TEST(d.remaining == 5);
        co_await limiter.ready();
        co_await limiter.ready(asio::use_awaitable);
    });
}

BOOST_FIXTURE_TEST_CASE(an_error_can_be_thrown_or_returned, fixture) {
    test::run(context, [&]() -> asio::awaitable<void> {
        auto thrown = error_code{};
        try {
            (void)co_await limiter.allow("k", five, {.cost = -1});
        } catch (const boost::system::system_error& e) {
            thrown = e.code();
        }
        BOOST_TEST((thrown == errc::invalid_argument));

        const auto too_long = std::string(limits::max_key_bytes + 1, 'k');
        const auto [ec, d] = co_await limiter.allow(too_long, five, asio::as_tuple(asio::deferred));
        BOOST_TEST((ec == errc::invalid_key));
        const auto [fine, same] =
            co_await limiter.allow(too_long.substr(1), five, asio::as_tuple(asio::use_awaitable));
        BOOST_TEST((fine == error_code{}));

        auto redirected = error_code{};
        (void)co_await limiter.peek("k", five, {.cost = 2, .at_least = 3},
                                    asio::redirect_error(asio::use_awaitable, redirected));
        BOOST_TEST((redirected == errc::invalid_argument));
    });
}

BOOST_FIXTURE_TEST_CASE(arguments_out_of_their_ranges_are_refused_at_their_edges, fixture) {
    const auto ends_with = [this](const check_options& o) {
        auto code = error_code{errc::unavailable};
        limiter.peek("k", five, o, [&](error_code ec, const decision& /*d*/) { code = ec; });
        context.restart();
        context.run();
        return code;
    };
    const auto at = [](std::int64_t us) { return time_point{std::chrono::microseconds{us}}; };
    const auto bad = error_code{errc::invalid_argument};
    const auto least = std::numeric_limits<std::int64_t>::min();
    const auto most = std::numeric_limits<std::int64_t>::max();
    BOOST_TEST(ends_with({.cost = limits::max_exact_integer}) == error_code{});
    BOOST_TEST(ends_with({.cost = limits::max_exact_integer + 1}) == bad);
    BOOST_TEST(ends_with({.cost = least}) == bad);
    BOOST_TEST(ends_with({.cost = most}) == bad);
    BOOST_TEST(ends_with({.cost = 1, .at_least = -1}) == bad);
    BOOST_TEST(ends_with({.now = at(0)}) == error_code{});
    BOOST_TEST(ends_with({.now = at(-1)}) == bad);
    BOOST_TEST(ends_with({.now = at(least)}) == bad);
    BOOST_TEST(ends_with({.now = at(limits::max_time)}) == error_code{});
    BOOST_TEST(ends_with({.now = at(limits::max_time + 1)}) == bad);
    BOOST_TEST(ends_with({.now = at(most)}) == bad);
}

BOOST_FIXTURE_TEST_CASE(a_future_is_fulfilled, fixture) {
    auto first = limiter.allow("k", five, {.cost = 2}, asio::use_future);
    auto second = limiter.allow("k", five, {.cost = -2}, asio::use_future);
    context.run();
    BOOST_TEST(first.get().remaining == 3);
    BOOST_CHECK_THROW(second.get(), boost::system::system_error);
}

BOOST_FIXTURE_TEST_CASE(a_call_may_be_detached, fixture) {
    limiter.allow("k", five, {.cost = 2}, asio::detached);
    context.run();
    auto left = std::int64_t{0};
    limiter.peek("k", five, [&](error_code /*ec*/, const decision& d) { left = d.remaining; });
    context.restart();
    context.run();
    BOOST_TEST(left == 3);
}

BOOST_FIXTURE_TEST_CASE(a_deferred_call_is_made_when_it_is_started_and_not_before, fixture) {
    auto left = std::int64_t{0};
    const auto look = [&](error_code /*ec*/, const decision& d) { left = d.remaining; };
    auto later = limiter.allow("k", five);
    limiter.peek("k", five, look);
    context.run();
    BOOST_TEST(left == 5);
    std::move(later)(look);
    context.restart();
    context.run();
    BOOST_TEST(left == 4);
}

BOOST_FIXTURE_TEST_CASE(a_callback_may_be_move_only, fixture) {
    auto left = std::int64_t{0};
    limiter.allow("k", five,
                  [&left, owned = std::make_unique<int>(7)](error_code ec, const decision& d) {
                      BOOST_TEST(!ec);
                      left = d.remaining + *owned;
                  });
    context.run();
    BOOST_TEST(left == 11);
}

BOOST_FIXTURE_TEST_CASE(a_handler_never_runs_within_the_initiating_function, fixture) {
    auto runs = 0;
    asio::post(context, [&] {
        limiter.allow("k", five, [&](error_code, const decision&) { ++runs; });
        limiter.allow("k", five, {.cost = -1}, [&](error_code, const decision&) { ++runs; });
        limiter.ready([&](error_code) { ++runs; });
        limiter.close();
        limiter.allow("k", five, [&](error_code, const decision&) { ++runs; });
        limiter.ready([&](error_code) { ++runs; });
        BOOST_TEST(runs == 0);
    });
    context.run();
    BOOST_TEST(runs == 5);
}

BOOST_FIXTURE_TEST_CASE(handlers_of_one_key_run_once_each_in_the_order_of_their_calls, fixture) {
    auto order = std::vector<int>{};
    for (int i = 0; i < 100; ++i)
        limiter.allow("k", five, [&order, i](error_code, const decision&) { order.push_back(i); });
    context.run();
    BOOST_REQUIRE(order.size() == 100U);
    for (int i = 0; i < 100; ++i)
        BOOST_TEST(order[static_cast<std::size_t>(i)] == i);
}

BOOST_FIXTURE_TEST_CASE(a_handler_may_make_the_next_call, fixture) {
    auto runs = 0;
    struct caller {
        fixture& f;
        int& runs;
        void operator()(error_code ec, const decision& /*d*/) const {
            BOOST_TEST(!ec);
            if (++runs < 1'000)
                f.limiter.allow("k", five, caller{f, runs});
        }
    };
    limiter.allow("k", five, caller{*this, runs});
    context.run();
    BOOST_TEST(runs == 1'000);
}

BOOST_FIXTURE_TEST_CASE(what_a_handler_throws_leaves_run_and_the_rest_intact, fixture) {
    auto runs = 0;
    for (int i = 0; i < 5; ++i)
        limiter.allow("k", five, [&runs, i](error_code, const decision&) {
            ++runs;
            if (i % 2 == 1)
                throw std::runtime_error{"from a handler"};
        });
    BOOST_CHECK_THROW(context.run(), std::runtime_error);
    BOOST_TEST(runs == 2);
    BOOST_CHECK_THROW(context.run(), std::runtime_error);
    context.run();
    BOOST_TEST(runs == 5);
}

BOOST_FIXTURE_TEST_CASE(a_handler_bound_to_another_context_runs_there, fixture) {
    auto other = asio::io_context{};
    auto where = std::thread::id{};
    limiter.allow("k", five,
                  asio::bind_executor(other.get_executor(), [&](error_code, const decision& d) {
                      where = std::this_thread::get_id();
                      BOOST_TEST(d.remaining == 4);
                  }));
    // The call is work of the other context too: it does not run out before.
    auto thread = std::thread{[&other] { other.run(); }};
    const auto id = thread.get_id();
    context.run();
    thread.join();
    BOOST_TEST((where == id));
}

BOOST_FIXTURE_TEST_CASE(a_handler_bound_to_a_strand_runs_in_it, fixture) {
    auto strand = asio::make_strand(context);
    auto inside = false;
    limiter.allow("k", five, asio::bind_executor(strand, [&](error_code, const decision&) {
                      inside = strand.running_in_this_thread();
                  }));
    context.run();
    BOOST_TEST(inside);
}

BOOST_FIXTURE_TEST_CASE(a_coroutine_on_a_strand_goes_on_in_it, fixture) {
    auto strand = asio::make_strand(context);
    auto inside = false;
    asio::co_spawn(
        strand,
        [&]() -> asio::awaitable<void> {
            (void)co_await limiter.allow("k", five);
            inside = strand.running_in_this_thread();
        },
        asio::detached);
    context.run();
    BOOST_TEST(inside);
}

BOOST_FIXTURE_TEST_CASE(a_handler_is_given_to_its_own_executor_whatever_that_is, fixture) {
    auto given = 0;
    auto inside = false;
    auto was_inside = false;
    const auto own = tracking_executor{context.get_executor(), &given, &inside};
    limiter.allow("k", five, asio::bind_executor(own, [&](error_code, const decision&) {
                      was_inside = inside;
                  }));
    limiter.ready(asio::bind_executor(own, [&](error_code) { was_inside = was_inside && inside; }));
    context.run();
    BOOST_TEST(given == 2);
    BOOST_TEST(was_inside);
}

BOOST_FIXTURE_TEST_CASE(memory_comes_from_the_handlers_allocator_and_is_back_before_it_runs,
                        fixture) {
    auto out = std::ptrdiff_t{0};
    auto taken = 0;
    auto out_in_handler = std::ptrdiff_t{-1};
    limiter.allow("k", five,
                  asio::bind_allocator(counting_allocator<char>{out, taken},
                                       [&](error_code, const decision&) { out_in_handler = out; }));
    BOOST_TEST(out > 0);
    BOOST_TEST(taken == 1);
    context.run();
    BOOST_TEST(out_in_handler == 0);
    BOOST_TEST(out == 0);
}

BOOST_AUTO_TEST_SUITE_END()
