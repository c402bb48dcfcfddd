// SPDX-License-Identifier: BSL-1.0
//
// Runs a coroutine of a test on its context until it has ended, with a timeout. Other work of the
// context stays there.

#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <functional>
#include <type_traits>

namespace colimit::test {

namespace asio = boost::asio;

inline constexpr auto patience = std::chrono::seconds{30};

/// Refers to a function that is called while the expression is evaluated that names it. (Trivial:
/// GCC 12 destroys some temporaries of a co_await twice. One type: what is called with a function
/// of each test's own would be compiled for each test.)
class predicate {
  public:
    template<class Function>
        requires(!std::is_same_v<Function, predicate>)
    predicate(const Function& holds)
        : function_(&holds),
          call_([](const void* f) -> bool { return (*static_cast<const Function*>(f))(); }) {}

    bool operator()() const { return call_(function_); }

  private:
    const void* function_;
    bool (*call_)(const void*);
};

/// Runs the context until the condition holds.
void run_until(asio::io_context& context, predicate holds);

/// Runs the coroutine; what it throws is thrown here.
void run(asio::io_context& context, std::function<asio::awaitable<void>()> body);

asio::awaitable<void> pause_for(std::chrono::microseconds time);

/// Completes when the condition holds; the loop goes on meanwhile.
asio::awaitable<void> until(predicate holds);

} // namespace colimit::test
