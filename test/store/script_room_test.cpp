// SPDX-License-Identifier: BSL-1.0
//
// Lua allows 200 local variables at a time per function, and the body of a script is one function;
// and a function may use 60 variables of those around it. Each script must stay far from these
// limits, so that a new kind of rule does not meet them.

#include <support/function_library.hpp>
#include <support/raw_client.hpp>
#include <support/redis_server.hpp>
#include <support/unit_test.hpp>

#include <redis/protocol/script.hpp>

#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(script_room)

namespace {

using namespace colimit;

constexpr int spare_locals = 60;
constexpr int spare_upvalues = 12;

[[nodiscard]] std::string with_more_locals(const redis::script& script, int more) {
    std::string text;
    for (int i = 0; i < more; ++i)
        text += "local spare_" + std::to_string(i) + " = 0\n";
    return text + std::string{script.body};
}

/// The library, in which each script has further locals.
[[nodiscard]] std::string library_with_more_locals(int more) {
    auto text = test::function_library_text();
    const auto head = std::string_view{"(redis, KEYS, ARGV)\n"}; // of a script's function
    for (auto at = text.find(head); at != std::string::npos; at = text.find(head, at + 1))
        for (int i = 0; i < more; ++i)
            text.insert(at + head.size(), "local spare_" + std::to_string(i) + " = 0\n");
    return text;
}

/// The script with functions of parts that use some of the variables around them.
[[nodiscard]] std::string with_more_upvalues(const redis::script& script, int more) {
    auto text = with_more_locals(script, more);
    auto use = std::string{"local used = nil"};
    for (int i = 0; i < more; ++i)
        use += " or spare_" + std::to_string(i);
    const auto part = std::string_view{"local function part()\n"};
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        text.insert(at + part.size(), use + '\n');
    return text;
}

void check_room(test::raw_client& server, const redis::script& script) {
    const auto reply = server({"SCRIPT", "LOAD", with_more_locals(script, spare_locals)});
    BOOST_TEST(!reply.is_error(), reply.text);
    const auto limit = server({"SCRIPT", "LOAD", with_more_locals(script, 200)});
    BOOST_TEST(limit.is_error());
}

} // namespace

BOOST_AUTO_TEST_CASE(each_script_has_room_for_sixty_more_locals) {
    const test::redis_server server;
    auto client = server.connect();
    check_room(client, redis::check_script);
    check_room(client, redis::seen_script);
}

BOOST_AUTO_TEST_CASE(each_function_has_room_for_sixty_more_locals) {
    const test::redis_server server;
    auto client = server.connect();
    const auto load = [&](int more) {
        return client({"FUNCTION", "LOAD", "REPLACE", library_with_more_locals(more)});
    };
    const auto reply = load(spare_locals);
    BOOST_TEST(!reply.is_error(), reply.text);
    BOOST_TEST(load(200).text.find("local variables") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(each_part_has_room_for_twelve_more_variables_of_others) {
    const test::redis_server server;
    auto client = server.connect();
    const auto load = [&](int more) {
        return client({"SCRIPT", "LOAD", with_more_upvalues(redis::check_script, more)});
    };
    const auto reply = load(spare_upvalues);
    BOOST_TEST(!reply.is_error(), reply.text);
    BOOST_TEST(load(spare_locals).text.find("upvalues") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
