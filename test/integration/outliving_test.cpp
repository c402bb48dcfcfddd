// SPDX-License-Identifier: BSL-1.0
//
// Completions that outlive the limiter and its context: they have been dispatched to another
// executor when these are destroyed. There they are called, or destroyed, and use no destroyed
// object, which the address sanitizer sees.

#include <support/handler_shapes.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(outliving)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::ending;

const auto hundred = policy{"hundred", gcra(100, 1h)};
const auto filter = bloom_filter{"filter", {.capacity = 100, .error_rate = 0.01}};

/// The limiter's context and another one, which a test destroys in any order.
struct scene {
    scene(const std::string& server, bool thread_safe)
        : context(std::make_unique<asio::io_context>()),
          other(std::make_unique<asio::io_context>()) {
        auto c = config{};
        c.server = server;
        c.timeout = 30s;
        c.thread_safe = thread_safe;
        limiter = std::make_unique<colimit::limiter>(context->get_executor(), c);
        e.executor = other->get_executor();
    }
    ~scene() {
        limiter.reset();
        context.reset();
        e.executor = {};
        other.reset();
    }

    /// Until the calls are decided and their completions are on their way.
    void run_until_counted(std::uint64_t calls) {
        test::run_until(*context, [&] {
            const auto s = limiter->statistics();
            return s.allowed + s.denied == calls;
        });
        context->restart();
        context->poll();
    }

    ending e; ///< outlives the contexts
    std::unique_ptr<asio::io_context> context;
    std::unique_ptr<asio::io_context> other;
    std::unique_ptr<colimit::limiter> limiter;
};

enum class fate : std::uint8_t { limiter_first, limiter_in_context };
enum class arrival : std::uint8_t { called, dropped };

template<class Body>
void for_each_way(Body body) {
    const auto redis = test::redis_server{};
    for (const auto& server : {std::string{"memory:"}, redis.address()})
        for (const auto thread_safe : {true, false})
            for (const auto f : {fate::limiter_first, fate::limiter_in_context})
                for (const auto a : {arrival::called, arrival::dropped})
                    BOOST_TEST_CONTEXT(server << ", thread_safe " << thread_safe << ", limiter "
                                              << static_cast<int>(f) << ", arrival "
                                              << static_cast<int>(a)) {
                        auto s = scene{server, thread_safe};
                        body(s, f, a);
                    }
}

void destroy_context(scene& s, fate f) {
    if (f == fate::limiter_in_context)
        asio::post(*s.context, [kept = std::move(s.limiter)] {});
    s.limiter.reset();
    s.context.reset();
}

void arrive(scene& s, arrival a) {
    if (a == arrival::called)
        s.other->run();
    s.e.executor = {};
    s.other.reset();
}

template<class Shape>
void outlive_by_shape() {
    for_each_way([](scene& s, fate f, arrival a) {
        auto checks = std::vector<check_item>{{.key = "a", .policy = hundred}};
        auto& l = *s.limiter;
        using decides = limiter::signature;
        l.allow("k", hundred, Shape::template make<decides>(s.e));
        s.run_until_counted(1);
        l.wait("k", hundred, Shape::template make<decides>(s.e));
        s.run_until_counted(2);
        l.seen("id", filter, Shape::template make<void(error_code, bool)>(s.e));
        s.run_until_counted(3);
        l.allow_all(checks, Shape::template make<decides>(s.e));
        s.run_until_counted(4);
        l.allow_many(checks, Shape::template make<void(error_code)>(s.e));
        s.run_until_counted(5);
        BOOST_TEST(s.e.calls == 0);
        destroy_context(s, f);
        s.e.signal.emit(asio::cancellation_type::all); // refers to calls without an engine
        const auto handlers = s.e.handlers;
        arrive(s, a);
        BOOST_TEST(handlers == 5);
        BOOST_TEST(s.e.calls == (a == arrival::called ? 5 : 0));
        BOOST_TEST(s.e.handlers == 0);
        BOOST_TEST(s.e.arenas == 0);
        BOOST_TEST(s.e.early_arenas == 0);
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_bound_handler) {
    outlive_by_shape<test::bound_shape>();
}

BOOST_AUTO_TEST_CASE(a_handler_with_an_executor_of_its_own) {
    outlive_by_shape<test::everything_shape>();
}

BOOST_AUTO_TEST_CASE(a_handler_of_an_erased_type) {
    outlive_by_shape<test::erased_everything_shape>();
}

BOOST_AUTO_TEST_CASE(a_handler_on_a_strand_of_another_context) {
    for_each_way([](scene& s, fate f, arrival a) {
        s.e.executor = asio::make_strand(*s.other);
        s.limiter->allow("k", hundred, test::bound_shape::make<limiter::signature>(s.e));
        s.run_until_counted(1);
        destroy_context(s, f);
        arrive(s, a);
        BOOST_TEST(s.e.calls == (a == arrival::called ? 1 : 0));
        BOOST_TEST(s.e.handlers == 0);
    });
}

BOOST_AUTO_TEST_CASE(a_coroutine_of_another_context) {
    for_each_way([](scene& s, fate f, arrival a) {
        asio::co_spawn(
            *s.other,
            [&l = *s.limiter, &e = s.e, r = test::recorder{s.e}]() -> asio::awaitable<void> {
                (void)co_await l.allow("k", hundred);
                ++e.calls;
            },
            asio::detached);
        s.other->poll();
        s.run_until_counted(1);
        destroy_context(s, f);
        arrive(s, a);
        BOOST_TEST(s.e.calls == (a == arrival::called ? 1 : 0));
        BOOST_TEST(s.e.handlers == 0);
    });
}

BOOST_AUTO_TEST_CASE(a_future) {
    for_each_way([](scene& s, fate f, arrival a) {
        auto here = s.limiter->allow("k", hundred, asio::use_future);
        auto there = s.limiter->allow(
            "k", hundred, asio::bind_executor(s.other->get_executor(), asio::use_future));
        s.run_until_counted(2);
        destroy_context(s, f);
        BOOST_TEST(here.get().allowed());
        arrive(s, a);
        if (a == arrival::called)
            BOOST_TEST(there.get().allowed());
        else
            BOOST_CHECK_THROW(there.get(), std::future_error);
    });
}

// It holds what the call completed with.
BOOST_AUTO_TEST_CASE(a_function_that_a_handler_posts_to_another_context) {
    for_each_way([](scene& s, fate f, arrival a) {
        auto& other = *s.other;
        auto& e = s.e;
        s.limiter->allow("k", hundred, [&](error_code, const decision& d) {
            asio::post(other, [&e, d, r = test::recorder{e}] { e.calls += d.allowed() ? 1 : 0; });
        });
        s.run_until_counted(1);
        destroy_context(s, f);
        arrive(s, a);
        BOOST_TEST(e.calls == (a == arrival::called ? 1 : 0));
        BOOST_TEST(e.handlers == 0);
    });
}

// As with real threads: the last reference to a call may go in any of them.
BOOST_AUTO_TEST_CASE(completions_race_with_the_end_of_their_pool) {
    for (int round = 0; round < 50; ++round) {
        auto calls = std::atomic<int>{0};
        auto other = asio::thread_pool{1};
        {
            auto pool = asio::thread_pool{2};
            auto settings = config{};
            settings.thread_safe = true;
            auto l = limiter{pool.get_executor(), settings};
            for (int i = 0; i < 20; ++i)
                l.allow("k", hundred,
                        asio::bind_executor(other.get_executor(),
                                            [&](error_code, const decision&) { ++calls; }));
            pool.join();
        }
        other.join();
        BOOST_TEST(calls == 20);
    }
}

BOOST_AUTO_TEST_SUITE_END()
