// SPDX-License-Identifier: BSL-1.0
//
// The table of cancellation in src/README.md, cell by cell: each verb, each moment, each type. A
// call completes exactly once, with the code that the table says, and of its charge is true what
// the table says: the store is asked afterwards. What is held back is so by a server that is
// stopped.

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/trial.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Not an anonymous one: GCC warns where coroutines of data test cases capture its types.
namespace colimit::cancellation_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using scenario::fake_redis;
using test::kind_of_call;
using test::trace;
using test::trial;

/// The execution mode and the kinds of calls, on a server or a cluster of one node.
struct way {
    std::string_view name;
    execution_mode mode;
    policy rules;
    std::vector<kind_of_call> kinds;
    bool on_cluster = false;
};

std::ostream& operator<<(std::ostream& out, const way& w) {
    return out << w.name;
}

const auto ways = std::vector<way>{
    {"by a script",
     execution_mode::script,
     policy{"ten", gcra(10, 10h)},
     {test::every_kind.begin(), test::every_kind.end()}},
    {"by MULTI",
     execution_mode::multi,
     policy{"ten", sliding_log(10, 10h)},
     {test::transaction_kinds.begin(), test::transaction_kinds.end()}},
    {"on a cluster", execution_mode::script, policy{"ten", gcra(10, 10h)},
     [] { // the checks of allow_all would have to be in one slot
         auto kinds = std::vector<kind_of_call>{test::every_kind.begin(), test::every_kind.end()};
         std::erase(kinds, kind_of_call::allow_all);
         return kinds;
     }(),
     true},
};

const auto on_a_server = std::vector<way>{ways[0], ways[1]};

constexpr auto times_of_patience = 60s;

struct fixture : scenario::world {
    explicit fixture(const way& w, std::size_t batches_in_flight = 64)
        : how(w), server(net), l(context, address(), [&](config& c) {
              c.advanced.mode = w.mode;
              c.timeout = times_of_patience;
              c.advanced.connect_timeout = times_of_patience;
              c.advanced.batches_in_flight = batches_in_flight;
          }) {}

    /// Makes a cluster of it.
    [[nodiscard]] std::string address() {
        if (how.on_cluster)
            server.serve_all_slots();
        return how.on_cluster ? server.url("", "redis+cluster://") : server.url();
    }
    void make_trials() { trials = test::trials_of(l.limiter, how.kinds, how.rules); }

    void prepare() {
        l.run([this]() -> asio::awaitable<void> {
            (void)co_await l.ready();
            for (const auto& t : trials)
                co_await t->prepare();
        });
        sent_before = l.limiter.statistics().batch_calls;
    }
    void start() {
        for (const auto& t : trials)
            t->start();
    }
    /// Runs the handlers that are ready, without waiting.
    void turn() {
        context.restart();
        context.poll();
    }
    [[nodiscard]] std::size_t sent() const {
        return static_cast<std::size_t>(l.limiter.statistics().batch_calls - sent_before);
    }
    [[nodiscard]] std::size_t size_of_all() const {
        auto all = std::size_t{0};
        for (const auto& t : trials)
            all += t->size();
        return all;
    }

    /// One after another, each with its type: no handler runs within.
    void cancel() {
        for (std::size_t i = 0; i < trials.size(); ++i) {
            const auto type = test::every_cancellation.at(i / how.kinds.size());
            const auto before = trials[i]->ended();
            trials[i]->cancel(type);
            BOOST_TEST(trials[i]->ended() == before);
            trials[i]->cancel(type); // twice does nothing
        }
    }
    void finish() {
        run_until([this] {
            return std::ranges::all_of(trials, [](const auto& t) { return t->ended() != 0; });
        });
    }

    /// The same for calls whose requests were sent before they were cancelled.
    void finish_sent() {
        run_until([this] {
            return std::ranges::all_of(
                trials, [](const auto& t) { return t->ended() != 0 || t->is_kept_once_sent(); });
        });
    }
    /// A `wait` that was not cancelled is queued now.
    void end_kept_waits() {
        l.run([this]() -> asio::awaitable<void> {
            for (const auto& t : trials)
                if (t->kind() == kind_of_call::wait && t->is_kept_once_sent())
                    co_await end_kept_wait(*t);
        });
        finish();
    }
    static asio::awaitable<void> end_kept_wait(trial& t) {
        const auto found = co_await t.look();
        BOOST_TEST(found == trace::made);
        BOOST_TEST(t.ended() == 0);
        t.cancel(asio::cancellation_type::terminal);
    }

    /// Each has completed once with the code, and left the trace.
    template<class Code, class Trace>
    void check(Code code_of, Trace trace_of) {
        l.run([&]() -> asio::awaitable<void> {
            for (const auto& t : trials) {
                const auto found = co_await t->look();
                BOOST_TEST_CONTEXT(t->kind()) {
                    BOOST_TEST(t->ended() == 1);
                    BOOST_TEST(t->code() == code_of(*t));
                    BOOST_TEST(found == trace_of(*t));
                }
            }
        });
    }

    way how;
    fake_redis server;
    test::live l;
    std::vector<std::unique_ptr<trial>> trials;
    std::uint64_t sent_before = 0;
};

const auto aborted = [](const trial&) -> error_code { return asio::error::operation_aborted; };
const auto answered = [](const trial&) { return error_code{}; };
const auto nothing = [](const trial&) { return trace::none; };

/// The effect of a call that the store executes.
[[nodiscard]] trace of_a_call(const trial& t) {
    return test::asks_only(t.kind()) ? trace::none : trace::made;
}

/// The same, where a reservation is released.
[[nodiscard]] trace of_a_call_given_up(const trial& t) {
    return t.kind() == kind_of_call::wait ? trace::none : of_a_call(t);
}

/// A wait that has no place yet: it is given back, and the caller told so.
[[nodiscard]] error_code code_of_answered(const trial& t) {
    return t.kind() == kind_of_call::wait ? aborted(t) : error_code{};
}

constexpr auto in_process = {true, false};

BOOST_AUTO_TEST_SUITE(cancelling)

BOOST_DATA_TEST_CASE(before_there_is_a_connection_nothing_is_asked, ways) {
    auto f = fixture{sample};
    f.make_trials();
    f.prepare();
    f.server.stop();
    auto second = test::live{f.context, f.address(), [&](config& c) {
                                 c.advanced.mode = sample.mode;
                                 c.timeout = c.advanced.connect_timeout = times_of_patience;
                             }};
    auto trials = test::trials_of(second.limiter, sample.kinds, sample.rules);
    for (const auto& t : trials)
        t->start();
    f.context.poll();
    for (std::size_t i = 0; i < trials.size(); ++i)
        trials[i]->cancel(test::every_cancellation.at(i / sample.kinds.size()));
    f.run_until(
        [&] { return std::ranges::all_of(trials, [](const auto& t) { return t->ended() != 0; }); });
    BOOST_TEST(second.limiter.statistics().batch_calls == 0U);
    f.server.thaw();
    second.run([&]() -> asio::awaitable<void> {
        for (const auto& t : trials) {
            const auto found = co_await t->look();
            BOOST_TEST_CONTEXT(t->kind()) {
                BOOST_TEST(t->ended() == 1);
                BOOST_TEST(t->code() == aborted(*t));
                BOOST_TEST(found == trace::none);
            }
        }
    });
}

BOOST_DATA_TEST_CASE(between_two_connections_nothing_is_asked, ways) {
    auto f = fixture{sample};
    f.make_trials();
    f.prepare();
    f.server.stop();
    auto lost = false;
    f.l.limiter.allow("lost", sample.rules,
                      [&](error_code ec, const decision&) { lost = ec == errc::outcome_unknown; });
    f.run_until([&] { return f.sent() == 1; });
    f.server.kill();
    f.run_until([&] { return lost; });
    f.start();
    f.turn();
    f.cancel();
    f.finish();
    f.server.start();
    f.l.run([&]() -> asio::awaitable<void> { (void)co_await f.l.ready(); });
    BOOST_TEST(f.sent() == 1U);
    for (const auto& t : f.trials)
        BOOST_TEST_CONTEXT(t->kind()) {
            BOOST_TEST(t->ended() == 1);
            BOOST_TEST(t->code() == aborted(*t));
        }
}

// Only `ready` has nothing to wait for then.
BOOST_DATA_TEST_CASE(before_the_turn_ends_nothing_has_left, ways) {
    auto f = fixture{sample};
    f.make_trials();
    f.prepare();
    f.start();
    f.cancel();
    f.finish();
    BOOST_TEST(f.sent() == 0U);
    f.check(
        [](const trial& t) { return t.kind() == kind_of_call::ready ? answered(t) : aborted(t); },
        nothing);
}

BOOST_DATA_TEST_CASE(what_waits_for_others_to_be_answered_is_not_sent, ways) {
    auto f = fixture{sample, 1};
    f.make_trials();
    f.prepare();
    f.server.stop();
    auto first = error_code{asio::error::would_block};
    f.l.limiter.allow("first", sample.rules, [&](error_code ec, const decision&) { first = ec; });
    f.run_until([&] { return f.sent() == 1; });
    f.start();
    f.turn();
    f.cancel();
    f.finish();
    BOOST_TEST(f.sent() == 1U);
    f.server.thaw();
    f.run_until([&] { return first != asio::error::would_block; });
    BOOST_TEST(first == error_code{});
    BOOST_TEST(f.sent() == 1U);
    f.check(
        [](const trial& t) { return t.kind() == kind_of_call::ready ? answered(t) : aborted(t); },
        nothing);
}

BOOST_DATA_TEST_CASE(once_sent_a_call_ends_at_once_and_is_made_unless_cancelled_as_total, ways) {
    auto f = fixture{sample};
    f.make_trials();
    f.prepare();
    f.server.stop();
    f.start();
    f.run_until([&] { return f.sent() == f.size_of_all(); });
    f.cancel();
    f.finish_sent(); // while the server says nothing
    for (const auto& t : f.trials)
        BOOST_TEST(t->ended() == (t->is_kept_once_sent() ? 0 : 1));
    f.server.thaw();
    // A reservation is released when its reply has come, which is before the reply to a peek.
    f.l.run([&]() -> asio::awaitable<void> {
        (void)co_await f.l.limiter.peek("behind them all", sample.rules);
        (void)co_await f.l.limiter.peek("and what they caused", sample.rules);
    });
    f.end_kept_waits();
    f.check(
        [](const trial& t) {
            const auto goes_on = t.kind() == kind_of_call::ready || t.is_kept_once_sent();
            return goes_on ? answered(t) : aborted(t);
        },
        of_a_call_given_up);
    BOOST_TEST(f.l.limiter.statistics().reconnects == 0U);
}

// By the handler of a call whose answer came in the same message. On a cluster calls with other
// keys are in other messages.
BOOST_DATA_TEST_CASE(a_call_that_has_been_answered_is_not_cancelled_any_more, on_a_server) {
    auto f = fixture{sample};
    // allow_all and ready are never merged with other calls.
    std::erase(f.how.kinds, kind_of_call::allow_all);
    std::erase(f.how.kinds, kind_of_call::ready);
    f.make_trials();
    f.prepare();
    auto cancelled = std::size_t{0};
    for (std::size_t i = 0; i < f.trials.size(); ++i) {
        auto& t = *f.trials[i];
        const auto type = test::every_cancellation.at(i / f.how.kinds.size());
        t.start_neighbour([&, type] {
            BOOST_TEST(t.ended() == 0);
            t.cancel(type);
            ++cancelled;
        });
        t.start();
    }
    f.finish_sent();
    BOOST_TEST(cancelled == f.trials.size());
    f.end_kept_waits();
    f.check(code_of_answered, of_a_call_given_up);
}

BOOST_AUTO_TEST_CASE(in_process_a_call_has_been_answered_when_it_starts) {
    auto w = scenario::world{};
    auto l = test::live{w.context, "memory:"};
    auto trials = test::trials_of(l.limiter, test::every_kind, ways.front().rules);
    l.run([&]() -> asio::awaitable<void> {
        for (std::size_t i = 0; i < trials.size(); ++i) {
            auto& t = *trials[i];
            co_await t.prepare();
            t.start();
            t.cancel(test::every_cancellation.at(i / test::every_kind.size()));
            BOOST_TEST(t.ended() == 0);
            if (t.kind() == kind_of_call::wait && t.is_kept_once_sent())
                co_await fixture::end_kept_wait(t);
            co_await test::until([&] { return t.ended() != 0; });
            const auto found = co_await t.look();
            BOOST_TEST_CONTEXT(t.kind()) {
                BOOST_TEST(t.ended() == 1);
                BOOST_TEST(t.code() == code_of_answered(t));
                BOOST_TEST(found == of_a_call_given_up(t));
            }
        }
    });
}

// One of them is decided at once by the deny cache; the other is in flight.
BOOST_AUTO_TEST_CASE(of_many_checks_those_are_cancelled_that_have_no_answer) {
    const auto one = policy{"one", gcra(1, 10h).burst(1)};
    auto f = fixture{ways.front()};
    f.l.run([&]() -> asio::awaitable<void> {
        (void)co_await f.l.limiter.allow("denied", one);
        (void)co_await f.l.limiter.allow("denied", one);
    });
    f.sent_before = f.l.limiter.statistics().batch_calls;
    auto keys = std::vector<std::string>{};
    auto sent = std::size_t{0};
    f.server.stop();
    for (const auto type : test::every_cancellation) {
        const auto& key = keys.emplace_back("free " + std::to_string(keys.size()));
        auto checks =
            std::vector<check_item>{{.key = "denied", .policy = one}, {.key = key, .policy = one}};
        auto give_up = asio::cancellation_signal{};
        auto ended = 0;
        auto code = error_code{};
        f.l.limiter.allow_many(checks,
                               asio::bind_cancellation_slot(give_up.slot(), [&](error_code ec) {
                                   ++ended;
                                   code = ec;
                               }));
        f.run_until([&] { return f.sent() == sent + 1; });
        ++sent;
        give_up.emit(type);
        if (type == asio::cancellation_type::total) { // one of them has its answer
            f.turn();
            BOOST_TEST(ended == 0);
            give_up.emit(asio::cancellation_type::terminal);
        }
        f.run_until([&] { return ended != 0; });
        BOOST_TEST(ended == 1);
        BOOST_TEST(code == asio::error::operation_aborted);
        BOOST_TEST(checks[0].ec == error_code{});
        BOOST_TEST((checks[0].result.source == decision_source::deny_cache));
        BOOST_TEST(checks[1].ec == asio::error::operation_aborted);
    }
    f.server.thaw();
    f.l.run([&]() -> asio::awaitable<void> {
        for (const auto& key : keys) {
            const auto d = co_await f.l.limiter.peek(key, one);
            BOOST_TEST(d.remaining == 0); // it was made
        }
    });
}

// Calls in the wait queue: test/integration/wait_test.cpp tests their order, this the types.
BOOST_DATA_TEST_CASE(a_place_in_line_is_given_back, in_process) {
    auto w = scenario::world{};
    auto server = fake_redis{w.net};
    auto l = test::live{w.context, sample ? "memory:" : server.url()};
    const auto only_wait = std::array{kind_of_call::wait};
    auto trials = test::trials_of(l.limiter, only_wait, ways.front().rules);
    l.run([&]() -> asio::awaitable<void> {
        for (std::size_t i = 0; i < trials.size(); ++i) {
            auto& t = *trials[i];
            co_await t.prepare();
            t.start();
            for (auto held = trace::none; held != trace::made;)
                held = co_await t.look();
            BOOST_TEST(t.ended() == 0);
            t.cancel(test::every_cancellation.at(i));
            BOOST_TEST(t.ended() == 0);
            if (t.is_kept_once_sent())
                co_await fixture::end_kept_wait(t);
            co_await test::until([&] { return t.ended() != 0; });
            const auto found = co_await t.look();
            BOOST_TEST(t.ended() == 1);
            BOOST_TEST(t.code() == asio::error::operation_aborted);
            BOOST_TEST(found == trace::none);
        }
    });
}

// Of `acquire`. A `total` that meets one of its questions in flight does nothing, so it is
// repeated.
BOOST_DATA_TEST_CASE(a_call_that_waits_for_a_place_is_cancelled_without_effect, in_process) {
    const auto places = policy{"places", concurrent(1).lease(24h), fixed_window(10, 8760h)};
    auto w = scenario::world{};
    auto server = fake_redis{w.net};
    auto l = test::live{w.context, sample ? "memory:" : server.url()};
    l.run([&]() -> asio::awaitable<void> {
        const auto held = co_await l.limiter.acquire("k", places);
        for (const auto type : test::every_cancellation) {
            auto give_up = asio::cancellation_signal{};
            auto code = std::optional<error_code>{};
            l.limiter.acquire(
                "k", places, {.max_wait = wait_options::no_max_wait},
                asio::bind_cancellation_slot(give_up.slot(), [&](error_code ec, const slot& got) {
                    BOOST_TEST(!got);
                    BOOST_TEST(!code.has_value());
                    code = ec;
                }));
            (void)co_await l.limiter.peek("k", places); // whose reply comes after the first denial
            BOOST_TEST(!code.has_value());
            co_await test::until([&] {
                give_up.emit(type);
                return code.has_value();
            });
            BOOST_TEST(*code == asio::error::operation_aborted);
        }
        const auto d = co_await l.limiter.peek("k", places, check_options{.cost = 0});
        BOOST_TEST(d.rules[0].balance == 0);
        BOOST_TEST(d.rules[1].balance == 9);
    });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::cancellation_test
