// SPDX-License-Identifier: BSL-1.0
//
// A limiter on a real server, compiled once for all tests.

#include <support/live_limiter.hpp>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <stdexcept>
#include <utility>

namespace colimit::test {
namespace {

[[nodiscard]] config settings(const std::string& server, const live::adjustment& adjust) {
    auto c = config{};
    c.server = server;
    c.timeout = std::chrono::seconds{10};
    c.on_failure = failure_mode::error;
    c.advanced.ping_interval = std::chrono::milliseconds{0};
    if (adjust)
        adjust(c);
    return c;
}

[[nodiscard]] bool comes_from_store(const decision& d) {
    return d.source == decision_source::store || d.source == decision_source::deny_cache ||
           d.source == decision_source::lease;
}

} // namespace

live::live(const std::string& server, const adjustment& adjust)
    : own_context_(std::make_unique<asio::io_context>(1)), context(*own_context_),
      limiter(context.get_executor(), settings(server, [&](config& c) {
                  c.advanced.connect_timeout = c.timeout;
                  if (adjust)
                      adjust(c);
              })) {}

live::live(asio::io_context& on, const std::string& server, const adjustment& adjust)
    : context(on), limiter(context.get_executor(), settings(server, adjust)) {}

void live::run(std::function<asio::awaitable<void>()> body) {
    test::run(context, std::move(body));
}

asio::awaitable<error_code> live::ready() {
    auto ec = error_code{};
    co_await limiter.ready(asio::redirect_error(asio::use_awaitable, ec));
    co_return ec;
}

asio::awaitable<void> live::until_code(std::string key, policy p, error_code wanted) {
    const auto end = std::chrono::steady_clock::now() + patience;
    for (;;) {
        const auto [ec, d] = co_await allow(key, p);
        if (ec == wanted && (ec || comes_from_store(d)))
            co_return;
        if (std::chrono::steady_clock::now() > end)
            throw std::runtime_error{"it stays at: " + ec.message()};
        co_await pause_for(std::chrono::milliseconds{1});
    }
}

asio::awaitable<void> live::until_it_works(std::string key, policy p) {
    co_await until_code(std::move(key), std::move(p), {});
}

} // namespace colimit::test
