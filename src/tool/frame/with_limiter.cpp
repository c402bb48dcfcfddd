// SPDX-License-Identifier: BSL-1.0
//
// The context, the signals, and the errors of a limiter in one sentence.

#include <tool/frame/command.hpp>
#include <tool/frame/format.hpp>
#include <tool/frame/with_limiter.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <csignal>
#include <exception>
#include <stdexcept>
#include <string>

namespace tool {
namespace {

/// Returns whether the error is about the call's arguments, so that the server had no part in it.
[[nodiscard]] bool is_about_arguments(const colimit::error_code& ec) {
    return ec == colimit::errc::invalid_argument || ec == colimit::errc::invalid_policy ||
           ec == colimit::errc::invalid_key;
}

} // namespace

std::string last_problem_text(const colimit::limiter& limiter) {
    std::string text;
    if (const auto problem = limiter.last_error())
        text.append(" (").append(to_string(problem->phase)).append(": ").append(problem->text) +=
            ')';
    return text;
}

std::string problem_text(const colimit::error_code& ec, const colimit::limiter& limiter,
                         const std::string& server) {
    if (is_about_arguments(ec))
        return ec.message();
    return server + ": " + ec.message() + last_problem_text(limiter);
}

void with_limiter(const colimit::config& settings, const limiter_work& work) {
    boost::asio::io_context context{1};
    // Before the limiter, which connects at once.
    boost::asio::signal_set signals{context, SIGINT, SIGTERM, SIGHUP};
    colimit::limiter limiter{context.get_executor(), settings};
    auto signal = 0;
    signals.async_wait([&](colimit::error_code ec, int number) {
        if (ec)
            return;
        signal = number;
        limiter.close();
    });
    std::exception_ptr failure;
    boost::asio::co_spawn(context, work(limiter), [&](const std::exception_ptr& e) {
        failure = e;
        limiter.close();
        signals.cancel();
    });
    context.run();
    if (signal != 0)
        throw interrupted{signal, "interrupted by signal " + std::to_string(signal)};
    if (!failure)
        return;
    try {
        std::rethrow_exception(failure);
    } catch (const colimit::error&) {
        throw;
    } catch (const boost::system::system_error& e) {
        throw std::runtime_error{problem_text(e.code(), limiter, without_secrets(settings.server))};
    }
}

} // namespace tool
