// SPDX-License-Identifier: BSL-1.0
//
// The server that the tests run on, and what only some servers can do: Valkey 9.1 can unload Lua.

#include <support/problems.hpp>

#include <support/live_limiter.hpp>
#include <support/server_version.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

BOOST_AUTO_TEST_SUITE(server_versions)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::check_last;
using test::live;

const auto bucket = policy{"bucket", gcra(5, 1h)};
const auto log = policy{"log", sliding_log(5, 1h)};

/// What redis-server --version prints.
[[nodiscard]] std::string printed_version() {
    const auto close = [](std::FILE* f) { ::pclose(f); };
    const auto output =
        std::unique_ptr<std::FILE, decltype(close)>{::popen("redis-server --version", "re"), close};
    auto line = std::array<char, 200>{};
    if (!output || std::fgets(line.data(), line.size(), output.get()) == nullptr)
        throw std::runtime_error{"redis-server --version prints nothing"};
    return line.data();
}

/// Sets an environment variable for a while.
class variable {
  public:
    variable(const char* name, const char* value) : name_(name) {
        if (const auto* const before = std::getenv(name); before != nullptr)
            before_ = before;
        ::setenv(name, value, 1);
    }
    ~variable() {
        if (before_.empty())
            ::unsetenv(name_);
        else
            ::setenv(name_, before_.c_str(), 1);
    }
    variable(const variable&) = delete;
    variable& operator=(const variable&) = delete;

  private:
    const char* name_;
    std::string before_;
};

} // namespace

BOOST_AUTO_TEST_CASE(the_server_is_the_program_that_is_found_first) {
    auto server = test::redis_server{};
    auto look = server.connect();
    const auto v = test::version_of(look);
    const auto printed = printed_version();
    BOOST_TEST(printed.starts_with(v.name + " server v="), printed << " is not " << v.text());
    BOOST_TEST(test::has(printed, v.text().substr(v.name.size() + 1) + ' '),
               printed << " is not " << v.text());
}

BOOST_AUTO_TEST_CASE(a_server_of_another_version_than_was_wanted_is_an_error) {
    const auto v = [] {
        auto server = test::redis_server{};
        auto look = server.connect();
        return test::version_of(look);
    }();
    const auto start = [](const std::string& wanted) {
        const auto set = variable{"COLIMIT_TEST_SERVER", wanted.c_str()};
        auto server = test::redis_server{};
    };
    BOOST_CHECK_NO_THROW(start(v.text()));
    BOOST_CHECK_EXCEPTION(start("Valkey 1.0.0"), std::runtime_error,
                          [](const auto& e) { return test::has(e.what(), "not Valkey 1.0.0"); });
}

BOOST_AUTO_TEST_CASE(a_version_is_read_from_info) {
    const auto redis = test::version_in("# Server\r\nredis_version:7.0.15\r\nos:Linux\r\n");
    BOOST_TEST(redis.text() == "Redis 7.0.15");
    BOOST_TEST((redis.is_redis() && redis.is_at_least(7, 0) && !redis.is_at_least(7, 1)));
    const auto valkey =
        test::version_in("# Server\r\nredis_version:7.2.4\r\nvalkey_version:9.1.2\r\n");
    BOOST_TEST(valkey.text() == "Valkey 9.1.2");
    BOOST_TEST((valkey.is_valkey() && valkey.is_at_least(8, 5) && !valkey.is_at_least(9, 2)));
    BOOST_CHECK_THROW((void)test::version_in("# Server\r\n"), std::runtime_error);
    BOOST_CHECK_THROW((void)test::version_in("# Server\r\nredis_version:8.x\r\n"),
                      std::runtime_error);
}

/// Other servers have Lua built in, which no command removes.
BOOST_AUTO_TEST_CASE(a_server_without_lua_is_refused_in_its_own_words_and_serves_transactions) {
    auto server = test::redis_server{{.arguments = {"--enable-module-command", "yes"}}};
    auto look = server.connect();
    const auto v = test::version_of(look);
    auto before = live{server.address(), [](config& c) { c.on_failure = failure_mode::local; }};
    before.run([&]() -> asio::awaitable<void> {
        const auto d = co_await before.limiter.allow("k", bucket);
        BOOST_TEST(d.remaining == 4);
    });
    const auto unloaded = look({"MODULE", "UNLOAD", "lua"});
    BOOST_TEST_REQUIRE(unloaded.is_error() != (v.is_valkey() && v.is_at_least(9, 1)),
                       v.text() << ": " << unloaded.text);
    const auto wanted = unloaded.is_error() ? error_code{} : error_code{errc::auth_failed};

    // The server has forgotten the script of a limiter that is connected, and takes none.
    before.run([&]() -> asio::awaitable<void> {
        const auto [ec, d] = co_await before.allow("k", bucket);
        BOOST_TEST((ec == wanted), ec.message());
    });
    auto l = live{server.address(), [](config& c) { c.on_failure = failure_mode::local; }};
    l.run([&]() -> asio::awaitable<void> {
        const auto ec = co_await l.ready();
        BOOST_TEST((ec == wanted), ec.message());
        const auto [denied, d] = co_await l.allow("k", bucket);
        BOOST_TEST((denied == wanted), denied.message());
    });
    if (wanted) {
        check_last(before.limiter, errc::auth_failed, phase::script, "scripting engine 'lua'");
        check_last(l.limiter, errc::auth_failed, phase::handshake, "scripting engine 'lua'");
        BOOST_TEST(l.limiter.health().state == health_state::refused);
    }

    auto scriptless =
        live{server.address(), [](config& c) { c.advanced.mode = execution_mode::multi; }};
    scriptless.run([&]() -> asio::awaitable<void> {
        const auto d = co_await scriptless.limiter.allow("k", log);
        BOOST_TEST(d.remaining == 4);
        BOOST_TEST((d.source == decision_source::store));
    });
}

BOOST_AUTO_TEST_SUITE_END()
