// SPDX-License-Identifier: BSL-1.0
//
// Host names with several addresses, of which some do not work: they drop packets, refuse, accept
// and stay silent, or stop working later. The limiter connects to one that works. The names are
// those of this program: `getaddrinfo` is replaced in it.

#include <support/certificates.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/ip/tcp.hpp>

#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

struct endpoint {
    std::string address;
    std::uint16_t port;
};

/// The addresses of host names, which are resolved in a thread of Asio.
class name_table {
  public:
    void set(const std::string& name, std::vector<endpoint> to,
             std::chrono::milliseconds time = {}) {
        const std::lock_guard guard{mutex_};
        names_[name] = std::move(to);
        times_[name] = time;
    }
    /// Returns how long it takes to find that out.
    [[nodiscard]] std::chrono::milliseconds time_of(const std::string& name) const {
        const std::lock_guard guard{mutex_};
        const auto at = times_.find(name);
        return at == times_.end() ? std::chrono::milliseconds{} : at->second;
    }
    [[nodiscard]] std::vector<endpoint> find(const std::string& name) const {
        const std::lock_guard guard{mutex_};
        const auto at = names_.find(name);
        return at == names_.end() ? std::vector<endpoint>{} : at->second;
    }

  private:
    mutable std::mutex mutex_;
    std::map<std::string, std::vector<endpoint>> names_;
    std::map<std::string, std::chrono::milliseconds> times_;
};

name_table names;

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

extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** found) {
    using function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
    static const auto real = reinterpret_cast<function>(dlsym(RTLD_NEXT, "getaddrinfo"));
    const auto to = names.find(name == nullptr ? "" : name);
    if (to.empty())
        return real(name, service, hints, found);
    std::this_thread::sleep_for(names.time_of(name));
    auto** end = found;
    for (const auto& e : to) {
        auto numeric = addrinfo{};
        numeric.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
        numeric.ai_socktype = SOCK_STREAM;
        if (const auto failure =
                real(e.address.c_str(), std::to_string(e.port).c_str(), &numeric, end);
            failure != 0)
            return failure;
        end = &(*end)->ai_next;
    }
    return 0;
}

BOOST_AUTO_TEST_SUITE(addresses)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using asio::ip::tcp;
using test::live;

const auto rules = policy{"p", gcra(1'000'000, 24h * 36'500)};

/// Takes connections, as its system does, and never says anything.
class silent_host {
  public:
    explicit silent_host(int backlog = 64) : acceptor_(context_, tcp::v4()) {
        acceptor_.bind({asio::ip::make_address("127.0.0.1"), 0});
        acceptor_.listen(backlog);
    }
    [[nodiscard]] endpoint where() const {
        return {"127.0.0.1", acceptor_.local_endpoint().port()};
    }
    [[nodiscard]] bool was_tried() {
        acceptor_.non_blocking(true);
        auto ec = error_code{};
        (void)acceptor_.accept(ec);
        return !ec;
    }

  protected:
    asio::io_context context_;
    tcp::acceptor acceptor_;
};

/// Drops what would connect, as its queue is full.
class dropping_host : public silent_host {
  public:
    dropping_host() : silent_host(0) {
        for (int i = 0; i < 4; ++i) {
            fill_.emplace_back(context_);
            fill_.back().async_connect(acceptor_.local_endpoint(), [](error_code) {});
        }
        context_.poll();
    }

  private:
    std::vector<tcp::socket> fill_;
};

/// Where nothing listens.
[[nodiscard]] endpoint refusing_host() {
    return silent_host{}.where();
}

[[nodiscard]] endpoint where(const test::redis_server& server) {
    return {"127.0.0.1", server.port()};
}

[[nodiscard]] error_code ready(live& l) {
    auto ec = error_code{};
    l.run([&]() -> asio::awaitable<void> { ec = co_await l.ready(); });
    return ec;
}

} // namespace

BOOST_AUTO_TEST_CASE(an_address_that_drops_packets_is_passed_over) {
    auto server = test::redis_server{{.tcp = true}};
    const auto first = dropping_host{};
    const auto second = dropping_host{};
    names.set("drops.test", {first.where(), second.where(), where(server)});
    auto l = live{"redis://drops.test"};
    const auto ec = ready(l);
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(l.limiter.statistics().reconnects == 0U);
}

BOOST_AUTO_TEST_CASE(an_address_that_refuses_is_passed_over) {
    auto server = test::redis_server{{.tcp = true}};
    names.set("refuses.test", {refusing_host(), where(server)});
    auto l = live{"redis://refuses.test"};
    const auto ec = ready(l);
    BOOST_TEST(!ec, ec.message());
}

BOOST_AUTO_TEST_CASE(an_address_that_never_answers_the_greeting_is_passed_over) {
    auto server = test::redis_server{{.tcp = true}};
    auto silent = silent_host{};
    auto another = silent_host{};
    names.set("silent.test", {silent.where(), another.where(), refusing_host(), where(server)});
    auto l = live{"redis://silent.test", [](config& c) { c.connect_timeout = 500ms; }};
    const auto ec = ready(l);
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(silent.was_tried());
    BOOST_TEST(another.was_tried());
}

BOOST_AUTO_TEST_CASE(tls_goes_on_to_the_next_address_too) {
    auto authority = test::certificate_authority{};
    auto server = test::redis_server{{.tcp = true, .tls = authority.sign("server")}};
    auto silent = silent_host{};
    const auto dropping = dropping_host{};
    names.set("secure.test", {silent.where(), dropping.where(), where(server)});
    auto l = live{"rediss://secure.test", [&](config& c) {
                      c.tls.ca_file = authority.file();
                      c.tls.server_name = "localhost";
                      c.connect_timeout = 1s;
                  }};
    const auto ec = ready(l);
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(silent.was_tried());
}

BOOST_AUTO_TEST_CASE(the_options_of_tcp_are_set) {
    auto server = test::redis_server{{.tcp = true}};
    const auto options_with = [&](std::chrono::seconds idle, std::chrono::milliseconds user) {
        tcp_options.clear();
        auto l = live{server.address(), [&](config& c) {
                          c.tcp_keep_alive = idle;
                          c.tcp_user_timeout = user;
                      }};
        const auto ec = ready(l);
        BOOST_TEST(!ec, ec.message());
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

BOOST_AUTO_TEST_CASE(a_server_that_falls_silent_is_left_for_the_next_address) {
    auto first = test::redis_server{{.tcp = true}};
    auto second = test::redis_server{{.tcp = true}};
    names.set("moves.test", {where(first), where(second)});
    auto l = live{"redis://moves.test", [](config& c) {
                      c.timeout = 500ms;
                      c.connect_timeout = 500ms;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        first.stop();
        co_await l.until_code("k", rules, errc::outcome_unknown);
        co_await l.until_it_works("k", rules);
    });
    first.cont();
    BOOST_TEST(l.limiter.statistics().reconnects == 1U);
    BOOST_TEST(second.connect().dbsize() == 1);
}

BOOST_AUTO_TEST_CASE(a_server_that_restarts_is_asked_again_before_the_other_addresses) {
    auto server = test::redis_server{{.tcp = true}};
    auto silent = silent_host{};
    names.set("restarts.test", {silent.where(), where(server)});
    auto l = live{"redis://restarts.test", [](config& c) { c.connect_timeout = 500ms; }};
    const auto ec = ready(l);
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(silent.was_tried());
    while (silent.was_tried())
        ;
    auto look = server.connect();
    l.run([&]() -> asio::awaitable<void> {
        look.must({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
        co_await test::until([&] { return l.limiter.statistics().reconnects == 1; });
    });
    BOOST_TEST(!silent.was_tried());
}

/// The resolver begins anew with no attempt, so the time that it takes is not lost.
BOOST_AUTO_TEST_CASE(a_name_that_takes_longer_than_an_attempt_is_found_all_the_same) {
    auto server = test::redis_server{{.tcp = true}};
    names.set("slow.test", {where(server)}, 700ms);
    auto l = live{"redis://slow.test", [](config& c) { c.connect_timeout = 200ms; }};
    BOOST_TEST(!ready(l));
}

BOOST_AUTO_TEST_SUITE_END()
