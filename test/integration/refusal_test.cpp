// SPDX-License-Identifier: BSL-1.0
//
// Servers that refuse commands: foreign values, out of memory, no permission.

#include <redis/protocol/key.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(refusals)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;

const auto rules = policy{"p", gcra(5, 1h)};

[[nodiscard]] std::string name_of(std::string_view key) {
    auto out = std::string{};
    redis::append_key(out, "colimit", "p", key);
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_foreign_value_is_a_conflict_of_its_key_and_stays_as_it_is) {
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"RPUSH", name_of("list"), "x"});
    look.must({"HSET", name_of("hash"), "f", "x"});
    const auto list = look.dump(name_of("list"));
    const auto hash = look.dump(name_of("hash"));
    auto l = live{server.address()};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        auto codes = std::vector<error_code>(4);
        auto left = 4;
        const auto into = [&](std::size_t i) {
            return [&codes, &left, i](error_code ec, const decision&) {
                codes[i] = ec;
                --left;
            };
        };
        l.limiter.allow("fine", rules, into(0));
        l.limiter.allow("list", rules, into(1));
        l.limiter.peek("hash", rules, into(2));
        l.limiter.refund("hash", rules, into(3));
        co_await test::until([&] { return left == 0; });
        BOOST_TEST(!codes[0]);
        for (std::size_t i = 1; i < 4; ++i)
            BOOST_TEST((codes[i] == errc::key_conflict));
    });
    BOOST_TEST((look.dump(name_of("list")) == list));
    BOOST_TEST((look.dump(name_of("hash")) == hash));
}

BOOST_AUTO_TEST_CASE(a_foreign_string_is_replaced_by_whoever_finds_it) {
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"SET", name_of("k"), "no state of ours"});
    auto l = live{server.address()};
    l.run([&]() -> asio::awaitable<void> {
        const auto d = co_await l.limiter.allow("k", rules);
        BOOST_TEST(d.remaining == 4);
    });
    BOOST_TEST(look.get(name_of("k")).value().size() == 44U);
    BOOST_TEST(look.pttl(name_of("k")) > 0);
}

BOOST_AUTO_TEST_CASE(a_server_without_memory_is_an_error_of_the_server_until_it_has_some) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{server.address()};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        look.must({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
        look.must({"CONFIG", "SET", "maxmemory", "1"});
        const auto [ec, d] = co_await l.allow("new", rules);
        BOOST_TEST((ec == errc::server_error));
        BOOST_TEST(look.dbsize() == 1);
        look.must({"CONFIG", "SET", "maxmemory", "0"});
        const auto [fine, d2] = co_await l.allow("new", rules);
        BOOST_TEST(!fine);
        BOOST_TEST(d2.remaining == 4);
    });
}

BOOST_AUTO_TEST_CASE(a_user_who_may_not_run_scripts_or_touch_the_keys_is_told_so) {
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"ACL", "SETUSER", "noscript", "on", ">pw", "~*", "+@all", "-evalsha", "-eval"});
    look.must({"ACL", "SETUSER", "nokeys", "on", ">pw", "~other:*", "+@all"});
    for (const std::string user : {"noscript", "nokeys"}) {
        auto l = live{"unix://" + user + ":pw@" + server.socket(), test::give_up_early};
        l.run([&]() -> asio::awaitable<void> {
            (void)co_await l.ready(); // however long that takes
            const auto [ec, d] = co_await l.allow("k", rules);
            BOOST_TEST((ec == errc::auth_failed), ec.message());
        });
    }
    BOOST_TEST(look.dbsize() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
