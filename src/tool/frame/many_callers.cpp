// SPDX-License-Identifier: BSL-1.0
//
// Connecting, signals, and failures in one sentence.

#include <tool/frame/command.hpp>
#include <tool/frame/format.hpp>
#include <tool/frame/many_callers.hpp>
#include <tool/frame/time_text.hpp>
#include <tool/frame/with_limiter.hpp>

#include <boost/asio/steady_timer.hpp>

#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <random>
#include <stdexcept>

namespace tool {

std::string own_prefix(std::string_view begin) {
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "-%ld-%08x", static_cast<long>(getpid()),
                  std::random_device{}());
    return std::string{begin} + text.data();
}

many_callers::many_callers(const colimit::config& settings)
    : server_(without_secrets(settings.server)), signals_(context_, SIGINT, SIGTERM, SIGHUP),
      limiter_(context_.get_executor(), settings) {}

namespace {

[[nodiscard]] std::string waiting_text(std::chrono::milliseconds time) {
    const auto whole = std::chrono::floor<std::chrono::seconds>(time);
    return whole == time ? duration(whole) : time_text(time);
}

} // namespace

boost::asio::awaitable<void> many_callers::wait_for_connection(std::chrono::milliseconds patience) {
    boost::asio::steady_timer timer{context_, patience};
    timer.async_wait([this](colimit::error_code ec) {
        if (!ec)
            limiter_.close();
    });
    try {
        co_await limiter_.ready();
    } catch (const boost::system::system_error& e) {
        if (e.code() != colimit::errc::closed)
            throw;
        if (signal_ != 0)
            throw interrupted{signal_, "interrupted by signal " + std::to_string(signal_)};
        throw std::runtime_error{"no answer from " + server_ + " within " + waiting_text(patience) +
                                 last_problem_text(limiter_)};
    }
}

void many_callers::connect(std::chrono::milliseconds patience) {
    signals_.async_wait([this](colimit::error_code ec, int number) {
        if (!ec)
            signal_ = number;
        signals_.clear();
        if (!ec && !is_connected_)
            limiter_.close();
    });
    if (const auto failure = run(1, [&] { return wait_for_connection(patience); }))
        rethrow(failure);
    is_connected_ = true;
}

void many_callers::rethrow(const std::exception_ptr& failure) const {
    try {
        std::rethrow_exception(failure);
    } catch (const colimit::error&) {
        throw;
    } catch (const boost::system::system_error& e) {
        throw std::runtime_error{problem_text(e.code(), limiter_, server_)};
    }
}

} // namespace tool
