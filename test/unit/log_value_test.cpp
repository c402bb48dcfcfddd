// SPDX-License-Identifier: BSL-1.0
//
// The bytes of a log, as they are documented.

#include <core/log_value.hpp>
#include <support/unit_test.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::log_value_test {
namespace {

using core::logged_event;
using namespace std::string_view_literals;

BOOST_AUTO_TEST_SUITE(log_value)

[[nodiscard]] std::string log_of(const std::vector<logged_event>& events, core::log_head head) {
    auto bytes = std::string{};
    core::append_log_head(bytes, head);
    for (const auto& e : events)
        core::append_event(bytes, e);
    return bytes;
}

[[nodiscard]] bool has(std::string_view value, const std::vector<logged_event>& events) {
    return core::kept_events(value) == events;
}

BOOST_AUTO_TEST_CASE(each_number_has_its_place) {
    const auto bytes = log_of(
        {{.t = 0x07060504030201, .sum = 0x0c0b0a0908}},
        {.expires = 1, .longest = 0x17161514131211, .before = 0x1c1b1a1918, .first = 0x1f1e1d});
    BOOST_TEST((bytes == "\0\0\0\0\0\0\xf0\x3f"
                         "l"
                         "\x11\x12\x13\x14\x15\x16\x17"
                         "\x18\x19\x1a\x1b\x1c"
                         "\x1d\x1e\x1f"
                         "\x01\x02\x03\x04\x05\x06\x07"
                         "\x08\x09\x0a\x0b\x0c"sv));
    const auto head = core::read_log_head(bytes);
    BOOST_REQUIRE(head.has_value());
    BOOST_TEST(head->expires == 1);
    BOOST_TEST(head->longest == 0x17161514131211);
    BOOST_TEST(head->before == 0x1c1b1a1918);
    BOOST_TEST(head->first == 0x1f1e1d);
    BOOST_TEST((core::read_event(&bytes[core::log_head_bytes]) ==
                logged_event{.t = 0x07060504030201, .sum = 0x0c0b0a0908}));
}

BOOST_AUTO_TEST_CASE(only_whole_events_make_a_log) {
    for (std::size_t size = 0; size < 100; ++size) {
        const auto is_one = size >= 36 && (size - 24) % 12 == 0;
        BOOST_TEST(core::events_in(size) ==
                   (is_one ? (static_cast<std::int64_t>(size) - 24) / 12 : 0));
    }
    const auto bytes = log_of({{.t = 1, .sum = 1}}, {.longest = 9});
    BOOST_TEST(!core::read_log_head(bytes.substr(0, 23)));
    for (const auto mark : {'\0', 'k', 'm', 'r'}) {
        auto other = bytes;
        other[8] = mark;
        BOOST_TEST(!core::read_log_head(other));
        BOOST_TEST(has(other, {}));
    }
}

BOOST_AUTO_TEST_CASE(room_and_what_is_forgotten_are_no_events) {
    const auto events = std::vector<logged_event>{
        {.t = 10, .sum = 103}, {.t = 20, .sum = 104}, {.t = 25, .sum = 106}, {.t = 29, .sum = 107}};
    auto bytes = log_of(events, {.longest = 100, .before = 100});
    core::append_room(bytes, 3);
    BOOST_TEST(core::events_in(bytes.size()) == 7);
    BOOST_TEST(has(bytes, {{10, 3}, {20, 4}, {25, 6}, {29, 7}}));
    // The newest event has made those forgotten that are a period older.
    BOOST_TEST(has(log_of(events, {.longest = 10, .before = 100}), {{20, 1}, {25, 3}, {29, 4}}));
    BOOST_TEST(has(log_of(events, {.longest = 9, .before = 100}), {{25, 2}, {29, 3}}));
    BOOST_TEST(has(log_of(events, {.longest = 100, .before = 103, .first = 1}),
                   {{20, 1}, {25, 3}, {29, 4}}));
    BOOST_TEST(has(log_of(events, {.longest = 100, .before = 0, .first = 4}), {}));
    BOOST_TEST(has(log_of({}, {.longest = 100}), {}));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace colimit::log_value_test
