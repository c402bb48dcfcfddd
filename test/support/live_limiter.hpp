// SPDX-License-Identifier: BSL-1.0
//
// A limiter on a real server, with its own context.

#pragma once

#include <colimit/limiter.hpp>
#include <support/coroutine_run.hpp>
#include <support/redis_server.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace colimit::test {

/// Returns how often `part` occurs in `text`.
[[nodiscard]] inline int count_of(std::string_view text, std::string_view part) {
    auto n = 0;
    for (auto at = text.find(part); at != std::string_view::npos;
         at = text.find(part, at + part.size()))
        ++n;
    return n;
}

/// Returns how often the server has run a command, as INFO commandstats says.
[[nodiscard]] inline std::int64_t calls_of(raw_client& server, std::string_view command) {
    const auto info = server.must({"INFO", "commandstats"}).text;
    const auto name = "cmdstat_" + std::string{command} + ":calls=";
    const auto at = info.find(name);
    auto n = std::int64_t{0};
    if (at != std::string::npos)
        std::from_chars(info.data() + at + name.size(), info.data() + info.size(), n);
    return n;
}

/// Returns how often a limiter has asked the server, in whatever form its execution mode has.
[[nodiscard]] inline std::int64_t check_calls(raw_client& server) {
    return calls_of(server, "evalsha") + calls_of(server, "fcall") +
           calls_of(server, "colimit.check");
}

/// A completion handler for co_spawn: what a coroutine throws, `run` throws.
inline constexpr auto rethrow = [](const std::exception_ptr& failure) {
    if (failure)
        std::rethrow_exception(failure);
};

struct live {
    using answer = std::tuple<error_code, decision>;

    explicit live(const std::string& server) : live(server, [](config&) {}) {}

    /// Calls may take two seconds, so that a loaded machine is not taken for a dead server, and end
    /// with the error where there is one, and no PING is sent to an idle connection;
    /// `adjust(config&)` says otherwise.
    template<class Adjust>
    live(const std::string& server, Adjust adjust)
        : context(1), limiter(context.get_executor(), settings(server, adjust)) {}

    void run(std::function<asio::awaitable<void>()> body) { test::run(context, std::move(body)); }

    /// With the code as a value.
    auto allow(std::string_view key, const policy& p, const check_options& o = {}) {
        return limiter.allow(key, p, o, asio::as_tuple(asio::deferred));
    }
    asio::awaitable<error_code> ready() {
        auto ec = error_code{};
        co_await limiter.ready(asio::redirect_error(asio::use_awaitable, ec));
        co_return ec;
    }

    /// Calls until a call ends with this code.
    asio::awaitable<void> until_code(std::string key, policy p, error_code wanted) {
        const auto end = std::chrono::steady_clock::now() + patience;
        for (;;) {
            const auto [ec, d] = co_await allow(key, p);
            if (ec == wanted)
                co_return;
            if (std::chrono::steady_clock::now() > end)
                throw std::runtime_error{"it stays at: " + ec.message()};
            co_await pause_for(std::chrono::milliseconds{1});
        }
    }
    asio::awaitable<void> until_it_works(std::string key, policy p) {
        co_await until_code(std::move(key), std::move(p), {});
    }

    asio::io_context context;
    colimit::limiter limiter;

  private:
    template<class Adjust>
    [[nodiscard]] static config settings(const std::string& server, Adjust adjust) {
        auto c = config{};
        c.server = server;
        c.timeout = std::chrono::seconds{2};
        c.on_failure = failure_mode::error;
        c.ping_interval = std::chrono::milliseconds{0};
        adjust(c);
        return c;
    }
};

} // namespace colimit::test
