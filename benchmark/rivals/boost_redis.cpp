// SPDX-License-Identifier: BSL-1.0
//
// A rival: Boost.Redis with one EVALSHA per check, written as in a service: 256 coroutines on one
// connection, each with a request and a response that it reuses.

#include <rivals/rival.hpp>
#include <support/random_key.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/redis/connection.hpp>
#include <boost/redis/src.hpp> // NOLINT: the library's body
#include <boost/version.hpp>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace colimit::benchmark {
namespace {

namespace asio = boost::asio;
namespace redis = boost::redis;

asio::awaitable<void> ask_again_and_again(redis::connection& c, const rival_arguments& a,
                                          stopwatch& watch, std::uint64_t seed) {
    auto keys = random_key{a.keys, seed};
    auto request = redis::request{};
    auto response = redis::response<std::vector<std::int64_t>>{};
    for (auto goes_on = true; goes_on;) {
        request.clear();
        request.push("EVALSHA", a.sha1, "1", keys.next(), "1000", "3600000", "1", "7200000");
        std::get<0>(response).value().clear();
        co_await c.async_exec(request, response, asio::deferred);
        if (std::get<0>(response).value().at(0) != 1)
            throw std::runtime_error{"a check was refused"};
        goes_on = watch.answered();
    }
}

int run(const rival_arguments& a) {
    auto context = asio::io_context{1};
    auto c = redis::connection{context, redis::logger{redis::logger::level::err}};
    auto settings = redis::config{};
    settings.unix_socket = a.socket;
    settings.health_check_interval = std::chrono::seconds{0};
    c.async_run(settings, asio::detached);
    auto watch = stopwatch{a.checks, rival_callers};
    auto failure = std::exception_ptr{};
    for (auto i = std::uint32_t{0}; i < rival_callers; ++i)
        asio::co_spawn(context, ask_again_and_again(c, a, watch, i),
                       [&](const std::exception_ptr& e) {
                           failure = e ? e : failure;
                           if (failure || watch.is_over())
                               context.stop();
                       });
    context.run();
    if (failure)
        std::rethrow_exception(failure);
    watch.print();
    return 0;
}

} // namespace
} // namespace colimit::benchmark

int main(int argc, char** argv) {
    return colimit::benchmark::rival_main(argc, argv, "Boost.Redis of Boost " BOOST_LIB_VERSION,
                                          colimit::benchmark::run);
}
