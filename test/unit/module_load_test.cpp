// SPDX-License-Identifier: BSL-1.0
//
// The server module in a fake server: what it needs to be loaded, and when it is not unloaded.

#include <server_module/api.hpp>
#include <server_module/fake_server.hpp>
#include <support/unit_test.hpp>

#include <string>

BOOST_AUTO_TEST_SUITE(module_load)

namespace {

using namespace colimit;
using test::fake::server;
using test::fake::words;

#define COLIMIT_NAME(name, text, result, types) "RedisModule_" text,
const words required = {COLIMIT_API_REQUIRED(COLIMIT_NAME)};
const words optional = {COLIMIT_API_OPTIONAL(COLIMIT_NAME)};
#undef COLIMIT_NAME

const words allow = {"COLIMIT.ALLOW", "k", "2", "1", "60"};

[[nodiscard]] bool logs(const server& s, std::string_view text) {
    return s.log.find(text) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(each_required_function_is_named_if_it_is_missing) {
    for (const auto& name : required) {
        auto s = server{{name}};
        BOOST_TEST(!s.load(), name);
        BOOST_TEST(!s.has("colimit.check"), name);
        if (name == "RedisModule_Log")
            BOOST_TEST(s.log.empty());
        else
            BOOST_TEST(s.log == "warning: colimit: this server has no " + name +
                                    ": the module needs Redis 6.2.2 or Valkey 7.2, or later\n");
    }
}

BOOST_AUTO_TEST_CASE(optional_functions_may_be_missing) {
    for (const auto& name : optional) {
        auto s = server{{name}};
        BOOST_TEST_REQUIRE(s.load(), name);
        BOOST_TEST(s.run(allow).starts_with("*10\r\n"), name);
    }
    auto s = server{{optional.begin(), optional.end()}};
    BOOST_TEST_REQUIRE(s.load());
    BOOST_TEST(s.run(allow).starts_with("*10\r\n"));
    BOOST_TEST(s.run({"COLIMIT.CHECK"}) == "-ERR colimit.check: arguments: none (expected numkeys "
                                           "and the keys)\r\n");
}

BOOST_AUTO_TEST_CASE(arguments_are_understood_or_named) {
    for (const auto& good : {words{}, words{"replicate", "effects"}, words{"replicate", "command"}})
        BOOST_TEST(server{}.load(good));
    for (const auto& bad : {words{"replicate"}, words{"replicate", ""}, words{"replicate", "both"},
                            words{"effects"}, words{"replicate", "effects", "now"}, words{""}}) {
        auto s = server{};
        BOOST_TEST(!s.load(bad));
        BOOST_TEST(logs(s, "arguments not understood (expected none, `replicate effects` or"));
        BOOST_TEST(!s.has("colimit.check"));
    }
}

/// The server refuses them by these flags.
BOOST_AUTO_TEST_CASE(commands_have_their_flags) {
    auto s = server{};
    BOOST_TEST_REQUIRE(s.load());
    BOOST_TEST(s.flags_of("colimit.check") == "write getkeys-api 0");
    BOOST_TEST(s.flags_of("colimit.seen") == "write getkeys-api 0");
    BOOST_TEST(s.flags_of("colimit.allow") == "write deny-oom fast 1");
    BOOST_TEST(s.flags_of("cl.throttle") == "write deny-oom fast 1");
}

BOOST_AUTO_TEST_CASE(names_that_are_taken) {
    auto s = server{};
    s.occupy("cl.throttle");
    BOOST_TEST(s.load());
    BOOST_TEST(logs(s, "notice: colimit: cl.throttle stays the command of another module"));
    BOOST_TEST(!s.load()); // it is loaded already

    auto other = server{};
    other.occupy("colimit.seen");
    BOOST_TEST(!other.load());
    BOOST_TEST(logs(other, "warning: colimit: the server refuses the command colimit.seen"));
}

BOOST_AUTO_TEST_CASE(it_stays_while_rules_of_users_name_its_commands) {
    const words refused = {"user a on nopass ~* +colimit.check", "user a on -COLIMIT.ALLOW",
                           "user a on (+cl.throttle ~k)", "user a on +@all -cl.throttle"};
    for (const auto& rules : refused) {
        auto s = server{};
        BOOST_TEST_REQUIRE(s.load());
        s.users = {"user default on nopass ~* &* +@all", rules};
        BOOST_TEST(!s.unload(), rules);
        BOOST_TEST(logs(s, "not unloaded, as rules of users name its commands"));
        BOOST_TEST(s.has("colimit.check"));
    }
    const words fine = {"user default on nopass ~* &* +@all", "user a+colimit.check on +@write",
                        "user b on ~-colimit.seen +get"};
    auto s = server{};
    BOOST_TEST_REQUIRE(s.load());
    s.users = fine;
    BOOST_TEST(s.unload());
}

BOOST_AUTO_TEST_SUITE_END()
