// SPDX-License-Identifier: BSL-1.0
//
// Lua allows 200 local variables at a time per function, and the body of a script is one function.
// Each script must stay far from that limit, so that a new kind of rule does not meet it.

#include <support/raw_client.hpp>
#include <support/redis_server.hpp>

#include <redis/script.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

BOOST_AUTO_TEST_SUITE(script_room)

namespace {

using namespace colimit;

constexpr int spare_locals = 40;

[[nodiscard]] std::string with_more_locals(const redis::script& script, int more) {
    std::string text;
    for (int i = 0; i < more; ++i)
        text += "local spare_" + std::to_string(i) + " = 0\n";
    return text + std::string{script.body};
}

void check_room(test::raw_client& server, const redis::script& script) {
    const auto reply = server({"SCRIPT", "LOAD", with_more_locals(script, spare_locals)});
    BOOST_TEST(!reply.is_error(), reply.text);
    const auto limit = server({"SCRIPT", "LOAD", with_more_locals(script, 200)});
    BOOST_TEST(limit.is_error());
}

} // namespace

BOOST_AUTO_TEST_CASE(each_script_has_room_for_forty_more_locals) {
    const test::redis_server server;
    auto client = server.connect();
    check_room(client, redis::check_script);
    check_room(client, redis::seen_script);
}

BOOST_AUTO_TEST_SUITE_END()
