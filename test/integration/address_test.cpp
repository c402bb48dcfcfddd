// SPDX-License-Identifier: BSL-1.0
//
// The options of TCP that a limiter sets.

#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <dlfcn.h>

#include <chrono>
#include <cstring>
#include <map>

namespace {

/// Options of TCP that this program has set, by their numbers.
std::map<int, int> tcp_options;

} // namespace

extern "C" int setsockopt(int socket, int level, int name, const void* value,
                          socklen_t size) noexcept {
    using function = int (*)(int, int, int, const void*, socklen_t);
    static const auto real = reinterpret_cast<function>(dlsym(RTLD_NEXT, "setsockopt"));
    if (level == IPPROTO_TCP && size == sizeof(int))
        std::memcpy(&tcp_options[name], value, sizeof(int));
    return real(socket, level, name, value, size);
}

BOOST_AUTO_TEST_SUITE(addresses)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;

} // namespace

BOOST_AUTO_TEST_CASE(the_options_of_tcp_are_set) {
    auto server = test::redis_server{{.tcp = true}};
    const auto options_with = [&](std::chrono::seconds idle, std::chrono::milliseconds user) {
        tcp_options.clear();
        auto l = live{server.address(), [&](config& c) {
                          c.advanced.tcp_keep_alive = idle;
                          c.advanced.tcp_user_timeout = user;
                      }};
        l.run([&]() -> asio::awaitable<void> {
            const auto ec = co_await l.ready();
            BOOST_TEST(!ec, ec.message());
        });
        return tcp_options;
    };
    using options = std::map<int, int>;
    const auto all = options_with(30s, 1500ms);
    BOOST_TEST((all == options{{TCP_NODELAY, 1},
                               {TCP_KEEPIDLE, 30},
                               {TCP_KEEPINTVL, 10},
                               {TCP_KEEPCNT, 3},
                               {TCP_USER_TIMEOUT, 1500}}));
    const auto shortest = options_with(1s, 1ms);
    BOOST_TEST(shortest.at(TCP_KEEPINTVL) == 1);
    BOOST_TEST((options_with(0s, 0ms) == options{{TCP_NODELAY, 1}}));
}

BOOST_AUTO_TEST_SUITE_END()
