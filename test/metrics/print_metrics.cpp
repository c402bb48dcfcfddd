// SPDX-License-Identifier: BSL-1.0
//
// Prints the metrics of three limiters, for check.mjs: one in process with policies, one on a
// server, and one whose server does not exist; and those of two sources of policies.

#include <colimit/metrics.hpp>
#include <support/fresh_folder.hpp>
#include <support/redis_server.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <array>
#include <chrono>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

[[nodiscard]] config settings(const std::string& server) {
    auto c = config{};
    c.server = server;
    c.counted_policies = 10;
    return c;
}

asio::awaitable<void> call(colimit::limiter& l) {
    const policy login{"login", gcra(5, 1h).burst(5)};
    const policy trial{"trial", gcra(5, 1h).burst(5).shadow()};
    for (int i = 0; i < 10; ++i) {
        (void)co_await l.allow("k", login);
        (void)co_await l.allow("k", trial);
    }
    (void)co_await l.once("id", 1h);
}

} // namespace

int main() {
    const auto server = test::redis_server{};
    auto context = asio::io_context{1};
    auto limiters =
        std::array{colimit::limiter{context.get_executor(), settings("memory:")},
                   colimit::limiter{context.get_executor(), settings(server.address())},
                   colimit::limiter{context.get_executor(), settings("unix:/nowhere/redis")}};
    for (auto& l : limiters)
        asio::co_spawn(context, call(l), [&l](std::exception_ptr failure) {
            if (failure)
                std::rethrow_exception(failure);
            l.close();
        });
    context.run();
    auto all = std::vector<limiter_metrics>{};
    for (const auto* name : {"memory", "server", "a \"hostile\" \\ name\nof two lines"})
        all.push_back(metrics_of(limiters[all.size()], {{"limiter", name}}));
    std::cout << to_prometheus(all);

    const auto folder = test::fresh_folder{};
    const auto source = [&](const char* name, const char* document) {
        const auto file = folder.path() + "/" + name;
        std::ofstream{file} << document;
        return metrics_of(policy_source{context.get_executor(), file}, {{"file", name}});
    };
    const auto sources = std::array{source("first", R"({"policies": {}})"),
                                    source("second", R"({"version": 2, "policies": {}})")};
    std::cout << to_prometheus(sources);
}
