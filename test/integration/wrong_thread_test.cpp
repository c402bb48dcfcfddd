// SPDX-License-Identifier: BSL-1.0
//
// A limiter without `config::thread_safe` that another thread uses ends in an assertion, not in
// corrupted memory some time later.

#include <colimit/limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <csignal>
#include <future>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(wrong_threads)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

const auto rules = policy{"p", gcra(1'000, 1s)};

/// Calls from a context's thread, then from this one. Returns 0 if that is possible.
template<class Executor>
[[nodiscard]] int use_from_two_threads(asio::io_context& context, Executor executor, bool is_safe) {
    auto settings = config{};
    settings.thread_safe = is_safe;
    auto work = asio::make_work_guard(context);
    auto l = limiter{executor, settings};
    auto runs = std::thread{[&] { context.run(); }};
    asio::post(executor, [&] { l.allow("k", rules, [](error_code, const decision&) {}); });
    auto first = std::promise<void>{};
    asio::post(executor, [&] { l.allow("k", rules, [&](auto...) { first.set_value(); }); });
    first.get_future().wait();
    const auto d = l.allow("k", rules, asio::use_future).get();
    asio::post(executor, [&] { l.close(); });
    work.reset();
    runs.join();
    return d.allowed() ? 0 : 1;
}

/// Calls from a context's thread and, when that has ended, from this one, which runs the context
/// then. Returns 0 if that is possible.
template<class Executor>
[[nodiscard]] int use_from_one_thread_after_another(asio::io_context& context, Executor executor) {
    auto l = limiter{executor, config{}};
    auto granted = 0;
    const auto call = [&] {
        l.allow("k", rules, [&](error_code, const decision& d) { granted += d.allowed() ? 1 : 0; });
    };
    std::thread{[&] {
        asio::post(executor, call);
        context.run();
    }}.join();
    call();
    context.restart();
    context.run();
    return granted == 2 ? 0 : 1;
}

/// Returns the status of a process that runs this.
template<class Function>
[[nodiscard]] int status_of(Function run) {
    const auto child = ::fork();
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL); // not Boost.Test's
        ::close(STDERR_FILENO);
        ::_exit(run());
    }
    auto status = 0;
    ::waitpid(child, &status, 0);
    return status;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_confined_limiter_is_used_from_its_executor_only) {
    for (const auto on_strand : {false, true})
        for (const auto is_safe : {false, true}) {
            const auto status = status_of([=] {
                auto context = asio::io_context{};
                return on_strand
                           ? use_from_two_threads(context, asio::make_strand(context), is_safe)
                           : use_from_two_threads(context, context.get_executor(), is_safe);
            });
            BOOST_TEST_CONTEXT("on a strand " << on_strand << ", thread_safe " << is_safe) {
                BOOST_TEST(WIFEXITED(status) == is_safe);
                if (is_safe)
                    BOOST_TEST(WEXITSTATUS(status) == 0);
                else
                    BOOST_TEST((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
            }
        }
}

BOOST_AUTO_TEST_CASE(a_thread_may_run_a_context_that_another_one_has_run) {
    for (const auto on_strand : {false, true}) {
        const auto status = status_of([=] {
            auto context = asio::io_context{};
            return on_strand
                       ? use_from_one_thread_after_another(context, asio::make_strand(context))
                       : use_from_one_thread_after_another(context, context.get_executor());
        });
        BOOST_TEST_CONTEXT("on a strand " << on_strand)
        BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    }
}

BOOST_AUTO_TEST_SUITE_END()
