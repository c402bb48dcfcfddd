// SPDX-License-Identifier: BSL-1.0
//
// The end of a limiter, or of its context, with a call of every verb in flight, wherever it is
// then: each call completes once with errc::closed, or its handler is destroyed with the context.
// Run with a sanitizer, these tests find what leaks or is used too late.

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <support/coroutine_run.hpp>
#include <support/trial.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::ending_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using test::kind_of_call;
using test::trial;

/// Where the calls are when the end comes.
enum class moment : std::uint8_t {
    connecting,
    begun,  ///< their event-loop iteration has not ended
    queued, ///< other calls must complete before they are sent
    on_the_wire,
    in_line,  ///< of `wait`
    answered, ///< and their handlers have not run
};

std::ostream& operator<<(std::ostream& out, moment m) {
    constexpr auto names =
        std::array{"connecting", "begun", "queued", "on the wire", "in line", "answered"};
    return out << names.at(static_cast<std::size_t>(m));
}

const auto moments = {moment::connecting,  moment::begun,   moment::queued,
                      moment::on_the_wire, moment::in_line, moment::answered};

const auto modes = {execution_mode::script, execution_mode::multi};

[[nodiscard]] std::string_view name_of(execution_mode m) {
    return m == execution_mode::script ? "by a script" : "by MULTI";
}

struct scene : scenario::bare_world {
    scene(moment m, execution_mode how) : when(m), by(how) {
        context = std::make_unique<asio::io_context>();
        if (m != moment::answered)
            server.emplace(net);
        if (m == moment::connecting)
            server->stop();
        limiter = std::make_unique<colimit::limiter>(context->get_executor(), settings());
        make_trials();
        if (m != moment::connecting)
            prepare();
        go_to_moment();
    }
    [[nodiscard]] bool all_have_ended() const {
        return std::ranges::all_of(trials, [](const auto& t) { return t->ended() != 0; });
    }

    /// The result of a call that was in flight when the limiter ended.
    [[nodiscard]] error_code code_of(const trial& t) const {
        const auto had_answer = when == moment::answered
                                    ? t.kind() != kind_of_call::wait
                                    : t.kind() == kind_of_call::ready && when != moment::connecting;
        return had_answer ? error_code{} : make_error_code(errc::closed);
    }

    const moment when;
    const execution_mode by;
    std::optional<scenario::fake_redis> server;
    std::vector<std::unique_ptr<trial>> trials; // their slots outlive the context's handlers
    std::unique_ptr<asio::io_context> context;
    std::unique_ptr<colimit::limiter> limiter;

  private:
    [[nodiscard]] config settings() const {
        auto c = config{};
        c.server = server ? server->url() : "memory:";
        c.timeout = c.advanced.connect_timeout = 60s;
        c.advanced.batches_in_flight = when == moment::queued ? 1 : 64;
        c.advanced.mode = by;
        return c;
    }

    [[nodiscard]] std::span<const kind_of_call> kinds() const {
        static constexpr auto only_wait = std::array{kind_of_call::wait};
        if (when == moment::in_line)
            return only_wait;
        if (by == execution_mode::multi)
            return test::transaction_kinds;
        return test::every_kind;
    }

    void make_trials() {
        const auto rules = by == execution_mode::script ? policy{"ten", gcra(10, 10h)}
                                                        : policy{"ten", sliding_log(10, 10h)};
        for (const auto kind : kinds())
            trials.push_back(std::make_unique<trial>(*limiter, kind, "k", rules));
    }

    void prepare() {
        test::run(*context, [this]() -> asio::awaitable<void> {
            for (const auto& t : trials)
                co_await t->prepare();
        });
    }

    [[nodiscard]] std::size_t sent() const {
        return static_cast<std::size_t>(limiter->statistics().batch_calls);
    }

    void start() {
        for (const auto& t : trials)
            t->start();
    }

    void go_to_moment() {
        const auto before = sent();
        if (when == moment::queued || when == moment::on_the_wire)
            server->stop();
        if (when == moment::queued) {
            limiter->allow("first", policy{"one", sliding_log(1, 1h)}, [](error_code, decision) {});
            test::run_until(*context, [&] { return sent() == before + 1; });
        }
        start();
        if (when == moment::connecting || when == moment::queued)
            context->poll();
        if (when == moment::on_the_wire) {
            auto all = before;
            for (const auto& t : trials)
                all += t->size();
            test::run_until(*context, [&] { return sent() == all; });
        }
        if (when == moment::in_line)
            test::run(*context, [this]() -> asio::awaitable<void> {
                for (auto held = test::trace::none; held != test::trace::made;)
                    held = co_await trials.front()->look();
            });
    }
};

/// Some moments are not those of every mode.
[[nodiscard]] bool is_there(moment m, execution_mode by) {
    return by == execution_mode::script || (m != moment::in_line && m != moment::answered);
}

template<class End>
void for_each_scene(End end) {
    for (const auto by : modes)
        for (const auto m : moments)
            if (is_there(m, by))
                BOOST_TEST_CONTEXT(m << ", " << name_of(by)) {
                    auto s = scene{m, by};
                    end(s);
                }
}

void check_ends(scene& s) {
    BOOST_TEST(std::ranges::none_of(s.trials, [&](const auto& t) {
        return t->ended() != 0 && t->kind() != kind_of_call::ready;
    })); // not from within
    // The context runs out by itself, whatever the server does.
    s.context->restart();
    s.context->run_for(test::patience);
    BOOST_TEST(s.context->stopped());
    for (const auto& t : s.trials)
        BOOST_TEST_CONTEXT(t->kind()) {
            BOOST_TEST(t->ended() == 1);
            BOOST_TEST(t->code() == s.code_of(*t));
            BOOST_TEST(t->handlers() == 0);
        }
}

void check_dropped(const scene& s) {
    for (const auto& t : s.trials)
        BOOST_TEST_CONTEXT(t->kind()) {
            BOOST_TEST(t->handlers() == 0);
            // Ready has been told before, where the loop has turned since.
            BOOST_TEST((t->ended() == 0 || t->kind() == kind_of_call::ready));
        }
}

BOOST_AUTO_TEST_SUITE(ending)

BOOST_AUTO_TEST_CASE(closing_ends_every_call_once_wherever_it_is) {
    for_each_scene([](scene& s) {
        s.limiter->close();
        check_ends(s);
    });
}

BOOST_AUTO_TEST_CASE(so_does_destroying_the_limiter) {
    for_each_scene([](scene& s) {
        s.limiter.reset();
        check_ends(s);
    });
}

// As every object of Asio's a limiter must not outlive its context; here something that waits in
// the context has it.
BOOST_AUTO_TEST_CASE(a_context_that_is_destroyed_takes_the_calls_with_it) {
    for_each_scene([](scene& s) {
        asio::post(*s.context, [kept = std::move(s.limiter)] {});
        s.context.reset();
        check_dropped(s);
    });
}

BOOST_AUTO_TEST_CASE(so_does_one_that_was_stopped_and_has_lost_its_limiter) {
    for_each_scene([](scene& s) {
        s.context->stop();
        s.limiter.reset();
        s.context.reset();
        check_dropped(s);
    });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::ending_test
