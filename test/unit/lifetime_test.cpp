// SPDX-License-Identifier: BSL-1.0
//
// Moves and ends: limiters that are moved, closed or destroyed while calls are in flight, and
// contexts that go first. Run with a sanitizer, these tests find what leaks or is used too late.

#include <colimit/limiter.hpp>
#include <support/scripted_peer.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(lifetimes)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

const auto five = policy{"five", gcra(5, 1h)};

[[nodiscard]] config settings(const std::string& server) {
    auto c = config{};
    c.server = server;
    c.timeout = 30s;
    c.advanced.ping_interval = 0ms; // only what the test asks for is sent
    return c;
}

/// A server that greets, reads and never answers a call.
struct silent_server {
    explicit silent_server(asio::io_context& context)
        : peer(context, [this](test::peer_connection& c) { return converse(c); }) {}

    asio::awaitable<void> converse(test::peer_connection& c) {
        co_await c.greet();
        for (;;) {
            (void)co_await c.next();
            ++calls;
        }
    }

    int calls = 0;
    test::scripted_peer peer;
};

struct fixture {
    asio::io_context context;
    silent_server server{context};
    std::vector<error_code> codes;

    auto note() {
        return [this](error_code ec, const decision&) { codes.push_back(ec); };
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(destroying_a_limiter_ends_its_calls_as_closed, fixture) {
    auto limiter =
        std::make_unique<colimit::limiter>(context.get_executor(), settings(server.peer.address()));
    limiter->allow("k", five, note());
    test::run_until(context, [&] { return server.calls == 1; }); // one is on its way
    limiter->allow("k", five, note());                           // one is not
    limiter->ready([this](error_code ec) { codes.push_back(ec); });
    limiter.reset();
    BOOST_TEST(codes.empty()); // not from within the destructor
    server.peer.close();
    context.restart();
    context.run();
    BOOST_REQUIRE(codes.size() == 3U);
    BOOST_TEST(!codes[0]); // it was ready before
    BOOST_TEST((codes[1] == errc::closed));
    BOOST_TEST((codes[2] == errc::closed));
}

BOOST_FIXTURE_TEST_CASE(close_lets_run_return_and_later_calls_are_closed_too, fixture) {
    auto limiter = colimit::limiter{context.get_executor(), settings(server.peer.address())};
    limiter.allow("k", five, note());
    test::run_until(context, [&] { return server.calls == 1; });
    limiter.close();
    limiter.close();
    server.peer.close();
    context.restart();
    context.run();
    BOOST_REQUIRE(codes.size() == 1U);
    BOOST_TEST((codes[0] == errc::closed));
    limiter.allow("k", five, note());
    limiter.ready([this](error_code ec) { codes.push_back(ec); });
    context.restart();
    context.run();
    BOOST_REQUIRE(codes.size() == 3U);
    BOOST_TEST((codes[1] == errc::closed));
    BOOST_TEST((codes[2] == errc::closed));
    BOOST_TEST((codes[1] == condition::closed));
}

BOOST_FIXTURE_TEST_CASE(a_limiter_can_be_closed_in_every_state_of_its_connection, fixture) {
    for (int turns = 0; turns < 20; ++turns) {
        auto limiter = colimit::limiter{context.get_executor(), settings(server.peer.address())};
        codes.clear();
        limiter.allow("k", five, note());
        limiter.ready([this](error_code ec) { codes.push_back(ec); });
        context.restart();
        for (int i = 0; i < turns; ++i)
            context.poll_one();
        limiter.close();
        test::run_until(context, [&] { return codes.size() == 2U; });
    }
}

BOOST_FIXTURE_TEST_CASE(a_limiter_in_every_state_can_be_moved, fixture) {
    auto first = colimit::limiter{context.get_executor(), settings(server.peer.address())};
    first.allow("k", five, note());
    auto second = std::move(first);
    test::run_until(context, [&] { return server.calls == 1; });
    auto third = colimit::limiter{context.get_executor(), "memory:"};
    third.allow("k", five, note());
    third = std::move(second); // the in-process calls are done, but not delivered
    third.allow("k", five, note());
    test::run_until(context, [&] { return codes.size() == 1U && server.calls == 2; });
    BOOST_TEST(!codes[0]);
    third.close();
    test::run_until(context, [&] { return codes.size() == 3U; });
    BOOST_TEST((codes[1] == errc::closed));
    BOOST_TEST((codes[2] == errc::closed));
}

BOOST_FIXTURE_TEST_CASE(a_handler_may_destroy_its_limiter, fixture) {
    for (const auto& address : {std::string{"memory:"}, server.peer.address()}) {
        auto limiter =
            std::make_unique<colimit::limiter>(context.get_executor(), settings(address));
        codes.clear();
        limiter->ready([&](error_code) { limiter.reset(); });
        for (int i = 0; i < 3; ++i)
            limiter->allow("k", five, note());
        test::run_until(context, [&] { return codes.size() == 3U; });
        BOOST_TEST(limiter == nullptr);
    }
}

BOOST_AUTO_TEST_CASE(a_context_that_goes_first_destroys_handlers_without_calling_them) {
    struct witness {
        explicit witness(int& n) : alive(&n) { ++*alive; }
        witness(const witness& other) : alive(other.alive) { ++*alive; }
        witness& operator=(const witness&) = delete;
        ~witness() { --*alive; }
        void operator()(error_code, const decision&) const { BOOST_ERROR("called"); }
        int* alive;
    };
    auto alive = 0;
    {
        auto context = std::make_optional<asio::io_context>();
        auto server = std::make_optional<silent_server>(*context);
        // The in-process one first: services that it makes end last.
        auto local = std::make_optional<colimit::limiter>(context->get_executor(), "memory:");
        auto limiter = std::make_optional<colimit::limiter>(context->get_executor(),
                                                            settings(server->peer.address()));
        limiter->allow("sent", five, witness{alive});
        test::run_until(*context, [&] { return server->calls == 1; });
        limiter->allow("waiting", five, witness{alive});
        local->allow("decided", five, witness{alive});
        BOOST_TEST(alive == 3);
        server.reset();
        limiter.reset();
        local.reset();
        context.reset();
    }
    BOOST_TEST(alive == 0);
}

BOOST_AUTO_TEST_CASE(a_coroutine_that_owns_the_limiter_it_waits_for_ends_with_its_context) {
    auto ended = std::make_shared<int>(0);
    for (const auto in_process : {true, false}) {
        auto context = asio::io_context{};
        auto server = silent_server{context};
        asio::co_spawn(
            context,
            [&server, in_process, ended]() -> asio::awaitable<void> {
                const auto executor = co_await asio::this_coro::executor;
                const auto chosen = settings(in_process ? "memory:" : server.peer.address());
                auto limiter = colimit::limiter{executor, chosen};
                for (;;)
                    (void)co_await limiter.allow("k", five);
            },
            asio::detached);
        if (in_process)
            context.run_for(2ms);
        else
            test::run_until(context, [&] { return server.calls == 1; });
    }
    BOOST_TEST(ended.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(a_context_can_go_while_a_limiter_connects) {
    for (int turns = 0; turns < 12; ++turns) {
        auto context = asio::io_context{};
        auto server = silent_server{context};
        asio::co_spawn(
            context,
            [&server]() -> asio::awaitable<void> {
                const auto executor = co_await asio::this_coro::executor;
                const auto chosen = settings(server.peer.address());
                auto limiter = colimit::limiter{executor, chosen};
                co_await limiter.ready();
                (void)co_await limiter.allow("k", five);
            },
            asio::detached);
        for (int i = 0; i < turns; ++i)
            context.poll_one();
    }
}

BOOST_AUTO_TEST_CASE(key_and_policy_need_not_outlive_the_initiation) {
    auto context = asio::io_context{};
    auto script = test::script_double{five};
    auto peer =
        test::scripted_peer{context, [&](test::peer_connection& c) -> asio::awaitable<void> {
                                co_await c.greet();
                                co_await c.serve(script);
                            }};
    auto limiter = colimit::limiter{context.get_executor(), settings(peer.address())};
    auto left = std::int64_t{-1};
    {
        auto key = std::make_unique<std::string>("a key of more than a few bytes");
        auto rules = std::make_unique<policy>("five", gcra(5, 1h));
        limiter.allow(*key, *rules, [&](error_code, const decision& d) { left = d.remaining; });
        key->assign("XXXXXXXXXXXXXXXXXXXXXXXXX");
    }
    test::run_until(context, [&] { return left >= 0; });
    BOOST_TEST(left == 4);
}

BOOST_AUTO_TEST_SUITE_END()
