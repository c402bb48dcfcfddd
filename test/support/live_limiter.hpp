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

#include <charconv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

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

/// For `live`, where calls cannot succeed and wait for their deadline: it comes after two seconds.
inline void give_up_early(config& c) {
    c.timeout = std::chrono::seconds{2};
}

struct live {
    using answer = std::tuple<error_code, decision>;
    using adjustment = std::function<void(config&)>;

    /// Calls and handshakes may take ten seconds, so that halts of the machine are not taken for a
    /// dead server; calls end with the error where there is one, and no PING is sent to an idle
    /// connection. `adjust` says otherwise.
    explicit live(const std::string& server, const adjustment& adjust = {});
    /// On a context of the test's, such as a simulated machine's; handshakes have the usual time.
    live(asio::io_context& on, const std::string& server, const adjustment& adjust = {});

    void run(std::function<asio::awaitable<void>()> body);

    /// With the code as a value.
    auto allow(std::string_view key, const policy& p, const check_options& o = {}) {
        return limiter.allow(key, p, o, asio::as_tuple(asio::deferred));
    }
    asio::awaitable<error_code> ready();

    /// Calls until a call ends with this code; without one, only if no failure mode has decided.
    asio::awaitable<void> until_code(std::string key, policy p, error_code wanted);
    asio::awaitable<void> until_it_works(std::string key, policy p);

  private:
    std::unique_ptr<asio::io_context> own_context_;

  public:
    asio::io_context& context;
    colimit::limiter limiter;
};

} // namespace colimit::test
