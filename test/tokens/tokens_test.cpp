// SPDX-License-Identifier: BSL-1.0
//
// Every verb with every completion token that this version of Boost has. A program of its own, so
// that it can be built with the newest Boost besides the oldest that the library supports.

#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/consign.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/as_single.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/experimental/promise.hpp>
#include <boost/asio/experimental/use_coro.hpp>
#include <boost/asio/experimental/use_promise.hpp>
#include <boost/asio/prepend.hpp>
#include <boost/asio/recycling_allocator.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/version.hpp>

#if BOOST_VERSION >= 108200
#include <boost/asio/bind_immediate_executor.hpp>
#endif
#if BOOST_VERSION >= 108600
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/cancel_at.hpp>
#endif
#if __has_include(<boost/asio/redirect_disposition.hpp>)
#include <boost/asio/redirect_disposition.hpp>
#endif

#include <chrono>
#include <concepts>
#include <exception>
#include <functional>
#include <future>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace colimit::tokens_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;

const auto thousand = policy{"thousand", gcra(1000, 1h)};
const auto places = policy{"places", concurrent(1000).lease(1h)};
const auto members = policy{"members", distinct(1000, 8760h)};
/// The results of calls, which nothing reads.
auto ids = std::array<seen_item, 2>{seen_item{.id = "a"}, seen_item{.id = "b"}};
constexpr auto two_members = std::array<std::string_view, 2>{"a", "b"};
const auto filter = bloom_filter{"filter", {.capacity = 100, .error_rate = 0.01}};

/// Calls `each(verb)` for every verb and overload; `verb(token)` starts a call, and `verb.of` is
/// what it completes with.
template<class Signature, class Start>
struct verb_of {
    using signature = Signature;
    template<class Token>
    auto operator()(Token&& token) const {
        return start(std::forward<Token>(token));
    }
    Start start;
};

template<class Signature, class Each, class Start>
void call_each(Each& each, Start start) {
    each(verb_of<Signature, Start>{std::move(start)});
}

template<class Each>
void for_each_verb(limiter& l, std::vector<check_item>& checks, Each each) {
    using decides = limiter::signature;
    call_each<decides>(
        each, [&](auto&& t) { return l.allow("k", thousand, std::forward<decltype(t)>(t)); });
    call_each<decides>(each, [&](auto&& t) {
        return l.allow("k", thousand, {.cost = 2}, std::forward<decltype(t)>(t));
    });
    call_each<decides>(
        each, [&](auto&& t) { return l.peek("k", thousand, std::forward<decltype(t)>(t)); });
    call_each<decides>(
        each, [&](auto&& t) { return l.charge("k", thousand, std::forward<decltype(t)>(t)); });
    call_each<decides>(
        each, [&](auto&& t) { return l.refund("k", thousand, std::forward<decltype(t)>(t)); });
    call_each<decides>(
        each, [&](auto&& t) { return l.reset("k", thousand, std::forward<decltype(t)>(t)); });
    call_each<decides>(
        each, [&](auto&& t) { return l.block("b", thousand, 1h, std::forward<decltype(t)>(t)); });
    call_each<decides>(
        each, [&](auto&& t) { return l.wait("k", thousand, std::forward<decltype(t)>(t)); });
    call_each<decides>(each, [&](auto&& t) {
        return l.wait("k", thousand, {.max_wait = 1s}, std::forward<decltype(t)>(t));
    });
    call_each<void(error_code, slot)>(
        each, [&](auto&& t) { return l.acquire("k", places, std::forward<decltype(t)>(t)); });
    call_each<void(error_code, slot)>(each, [&](auto&& t) {
        return l.acquire("k", places, {.max_wait = 1s}, std::forward<decltype(t)>(t));
    });
    call_each<decides>(each,
                       [&](auto&& t) { return l.once("id", 1h, std::forward<decltype(t)>(t)); });
    call_each<decides>(each,
                       [&](auto&& t) { return l.allow_all(checks, std::forward<decltype(t)>(t)); });
    call_each<void(error_code, bool)>(
        each, [&](auto&& t) { return l.seen("id", filter, std::forward<decltype(t)>(t)); });
    call_each<void(error_code, bool)>(each, [&](auto&& t) {
        return l.probably_seen("id", filter, std::forward<decltype(t)>(t));
    });
    call_each<void(error_code)>(
        each, [&](auto&& t) { return l.seen_many(ids, filter, std::forward<decltype(t)>(t)); });
    call_each<void(error_code)>(each, [&](auto&& t) {
        return l.probably_seen_many(ids, filter, std::forward<decltype(t)>(t));
    });
    call_each<void(error_code, filter_status)>(
        each, [&](auto&& t) { return l.filter_status(filter, std::forward<decltype(t)>(t)); });
    call_each<void(error_code, std::int64_t)>(each, [&](auto&& t) {
        return l.count_distinct("k", members, std::forward<decltype(t)>(t));
    });
    call_each<decides>(each, [&](auto&& t) {
        return l.charge_members("k", members, two_members, std::forward<decltype(t)>(t));
    });
    call_each<void(error_code)>(
        each, [&](auto&& t) { return l.allow_many(checks, std::forward<decltype(t)>(t)); });
    call_each<void(error_code)>(each,
                                [&](auto&& t) { return l.ready(std::forward<decltype(t)>(t)); });
}

struct fixture {
    template<class Each>
    void for_each(Each each) {
        for_each_verb(limiter, checks, std::move(each));
        context.restart();
        context.run();
    }

    /// Runs a coroutine `make(verb)` for every verb.
    template<class Make>
    void await_each(Make make) {
        for_each([&, make](auto verb) {
            asio::co_spawn(context, make(verb), [this](const std::exception_ptr& failure) {
                if (failure)
                    std::rethrow_exception(failure);
                ++ended;
            });
            ++started;
        });
        BOOST_TEST(ended == started);
    }

    /// A handler for any signature.
    auto count() {
        ++started;
        return [this](auto&&... /*results*/) { ++ended; };
    }
    /// All calls have completed.
    void check_ended() const {
        BOOST_TEST(started > 0);
        BOOST_TEST(ended == started);
    }

    asio::io_context context;
    colimit::limiter limiter{context.get_executor(), "memory:"};
    std::vector<check_item> checks{{.key = "a", .policy = thousand},
                                   {.key = "b", .policy = thousand}};
    int started = 0;
    int ended = 0;
};

// A type that is not a token is an error where a verb is called.
template<class Token>
concept can_allow = requires(limiter& l, Token token) { l.allow("k", thousand, token); };
static_assert(can_allow<asio::deferred_t>);
static_assert(can_allow<asio::use_awaitable_t<>>);
static_assert(can_allow<check_options>);
static_assert(!can_allow<int>);
static_assert(!can_allow<void (*)(error_code)>);
static_assert(!can_allow<charge_options>);

BOOST_AUTO_TEST_SUITE(completion_tokens)

BOOST_FIXTURE_TEST_CASE(handlers, fixture) {
    for_each([&](auto verb) { verb(count()); });
    for_each([&](auto verb) {
        using signature = typename decltype(verb)::signature;
        verb(asio::any_completion_handler<signature>{count()});
    });
    for_each([&](auto verb) {
        using signature = typename decltype(verb)::signature;
        verb(std::function<signature>{count()});
    });
    for_each([&](auto verb) { verb(asio::detached); });
    check_ended();
}

BOOST_FIXTURE_TEST_CASE(adapted_handlers, fixture) {
    auto signal = asio::cancellation_signal{};
    for_each([&](auto verb) { verb(asio::append(count(), 1)); });
    for_each([&](auto verb) { verb(asio::prepend(count(), 1)); });
    for_each([&](auto verb) { verb(asio::consign(count(), std::string{"kept"})); });
    for_each([&](auto verb) { verb(asio::as_tuple(count())); });
    for_each([&](auto verb) { verb(asio::experimental::as_single(count())); });
    for_each([&](auto verb) { verb(asio::bind_executor(asio::make_strand(context), count())); });
    for_each(
        [&](auto verb) { verb(asio::bind_allocator(asio::recycling_allocator<void>{}, count())); });
    for_each([&](auto verb) {
        verb(asio::bind_cancellation_slot(signal.slot(), count()));
        context.restart();
        context.run(); // a slot is for one call at a time
    });
#if BOOST_VERSION >= 108200
    for_each([&](auto verb) {
        verb(asio::bind_immediate_executor(asio::make_strand(context), count()));
    });
#endif
    check_ended();
}

BOOST_FIXTURE_TEST_CASE(deferred_operations, fixture) {
    for_each([&](auto verb) { verb(asio::deferred)(count()); });
    for_each([&](auto verb) { verb(asio::as_tuple(asio::deferred))(count()); });
    for_each([&](auto verb) {
        asio::experimental::make_parallel_group(verb(asio::deferred), verb(asio::deferred))
            .async_wait(asio::experimental::wait_for_all(), count());
    });
    check_ended();
}

BOOST_FIXTURE_TEST_CASE(futures_and_promises, fixture) {
    // Not context.run(): a slot is renewed for as long as the future or the promise has it.
    for_each([&](auto verb) {
        auto future = verb(asio::use_future);
        context.restart();
        while (future.wait_for(0s) != std::future_status::ready)
            BOOST_REQUIRE(context.run_one() == 1);
        (void)future.get();
    });
    for_each([&](auto verb) {
        auto promise =
            verb(asio::bind_executor(context.get_executor(), asio::experimental::use_promise));
        std::move(promise)(count());
        context.restart();
        while (ended < started)
            BOOST_REQUIRE(context.run_one() == 1);
    });
    check_ended();
}

BOOST_FIXTURE_TEST_CASE(coroutines, fixture) {
    await_each([](auto verb) -> asio::awaitable<void> { co_await verb(asio::deferred); });
    await_each([](auto verb) -> asio::awaitable<void> { co_await verb(asio::use_awaitable); });
    await_each([](auto verb) -> asio::awaitable<void> {
        const auto all = co_await verb(asio::as_tuple(asio::deferred));
        BOOST_TEST((std::get<0>(all) == error_code{}));
    });
    await_each([](auto verb) -> asio::awaitable<void> {
        auto ec = error_code{errc::closed};
        co_await verb(asio::redirect_error(asio::use_awaitable, ec));
        BOOST_TEST((ec == error_code{}));
    });
#if BOOST_VERSION >= 108200
    await_each([](auto verb) -> asio::awaitable<void> {
        auto ec = error_code{errc::closed};
        co_await verb(asio::redirect_error(ec));
        BOOST_TEST((ec == error_code{}));
    });
    await_each([](auto verb) -> asio::awaitable<void> { (void)co_await verb(asio::as_tuple); });
#endif
#if __has_include(<boost/asio/redirect_disposition.hpp>)
    await_each([](auto verb) -> asio::awaitable<void> {
        auto ec = error_code{errc::closed};
        co_await verb(asio::redirect_disposition(asio::use_awaitable, ec));
        BOOST_TEST((ec == error_code{}));
    });
#endif
}

#if BOOST_VERSION >= 108600
BOOST_FIXTURE_TEST_CASE(cancelling_after_a_time, fixture) {
    const auto far = std::chrono::steady_clock::now() + 1h;
    for_each([&](auto verb) { verb(asio::cancel_after(1h, count())); });
    for_each([&](auto verb) { verb(asio::cancel_at(far, count())); });
    for_each([&](auto verb) {
        auto timer = asio::steady_timer{context};
        verb(asio::cancel_after(timer, 1h, asio::cancellation_type::total, count()));
        context.restart();
        context.run();
    });
    for_each([&](auto verb) {
        verb(asio::cancel_after(1h, asio::bind_executor(asio::make_strand(context), count())));
    });
    for_each([&](auto verb) { verb(asio::cancel_after(1h, asio::deferred))(count()); });
    check_ended();
    await_each([](auto verb) -> asio::awaitable<void> { co_await verb(asio::cancel_after(1h)); });
    await_each([far](auto verb) -> asio::awaitable<void> {
        co_await verb(asio::cancel_at(far, asio::use_awaitable));
    });
    await_each([](auto verb) -> asio::awaitable<void> {
        const auto all = co_await verb(asio::as_tuple(asio::cancel_after(1h)));
        BOOST_TEST((std::get<0>(all) == error_code{}));
    });
}

BOOST_AUTO_TEST_CASE(a_call_is_cancelled_after_its_time) {
    auto server = test::redis_server{};
    server.stop();
    auto l = test::live{server.address(), [](config& c) {
                            c.timeout = c.advanced.connect_timeout = 1h;
                            c.advanced.request_ttl = 2h;
                        }};
    auto checks = std::vector<check_item>{{.key = "a", .policy = thousand}};
    auto started = 0;
    auto ended = 0;
    for_each_verb(l.limiter, checks, [&](auto verb) {
        ++started;
        verb(asio::cancel_after(1ms, [&](error_code ec, auto&&... /*results*/) {
            ++ended;
            BOOST_TEST((ec == asio::error::operation_aborted));
        }));
    });
    test::run_until(l.context, [&] { return ended == started; });
    server.cont();
}
#endif

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::tokens_test
