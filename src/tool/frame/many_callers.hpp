// SPDX-License-Identifier: BSL-1.0
//
// One limiter and any number of coroutines that call it, on one thread; and an orderly end after a
// signal, so that a command can remove its keys.

#pragma once

#include <colimit/limiter.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

namespace tool {

/// Returns a prefix that neither another run of a command nor an application uses.
[[nodiscard]] std::string own_prefix(std::string_view begin);

class many_callers {
  public:
    explicit many_callers(const colimit::config& settings);

    /// Waits for the first connection, at most `patience`. After it the first SIGINT, SIGTERM or
    /// SIGHUP is noted, and the second one ends the program.
    /// @throws std::runtime_error with one sentence; interrupted
    void connect(std::chrono::milliseconds patience);

    [[nodiscard]] colimit::limiter& limiter() noexcept { return limiter_; }
    [[nodiscard]] boost::asio::io_context& context() noexcept { return context_; }
    /// Returns the number of the signal; 0 if there was none.
    [[nodiscard]] int signal() const noexcept { return signal_; }
    /// Returns whether a coroutine of the current run has failed.
    [[nodiscard]] bool has_failed() const noexcept { return failure_ != nullptr; }

    /// Runs `make()` so many times until all these coroutines have ended. Returns the first
    /// failure.
    template<class MakeCoroutine>
    std::exception_ptr run(std::size_t count, MakeCoroutine make) {
        failure_ = nullptr;
        if (count == 0)
            return nullptr;
        auto running = count;
        for (std::size_t i = 0; i < count; ++i)
            boost::asio::co_spawn(context_, make(),
                                  [this, &running](const std::exception_ptr& failure) {
                                      if (failure && !failure_)
                                          failure_ = failure;
                                      if (--running == 0)
                                          context_.stop();
                                  });
        context_.restart();
        context_.run();
        return failure_;
    }

    /// Throws a failure again: that of a call as std::runtime_error with one sentence that names
    /// the server.
    [[noreturn]] void rethrow(const std::exception_ptr& failure) const;

  private:
    boost::asio::awaitable<void> wait_for_connection(std::chrono::milliseconds patience);

    std::string server_; ///< without its password
    boost::asio::io_context context_{1};
    boost::asio::signal_set signals_; ///< before the limiter, which connects at once
    colimit::limiter limiter_;
    bool is_connected_ = false;
    int signal_ = 0;
    std::exception_ptr failure_;
};

} // namespace tool
