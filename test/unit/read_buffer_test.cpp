// SPDX-License-Identifier: BSL-1.0
//
// The buffer of a connection against a string that holds the same bytes.

#include <redis/connection/read_buffer.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>

BOOST_AUTO_TEST_SUITE(read_buffers)

namespace {

using colimit::redis::read_buffer;

void receive(read_buffer& b, const std::string& bytes) {
    for (std::size_t at = 0; at != bytes.size();) {
        const auto room = b.prepare();
        BOOST_REQUIRE(room.size() >= read_buffer::usual_bytes / 2);
        const auto count = std::min(room.size(), bytes.size() - at);
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), count, room.begin());
        b.commit(count);
        at += count;
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(bytes_come_out_as_they_went_in_whatever_is_consumed_and_erased) {
    auto random = std::mt19937{7};
    auto buffer = read_buffer{};
    auto expected = std::string{};
    for (int i = 0; i < 2'000; ++i) {
        auto bytes = std::string(random() % 9'000, '\0');
        std::ranges::generate(bytes, [&] { return static_cast<char>(random()); });
        receive(buffer, bytes);
        expected += bytes;
        BOOST_TEST((buffer.unread() == expected));
        const auto at = expected.empty() ? 0 : random() % expected.size();
        const auto count = random() % 3 == 0 ? random() % 20'000 : 0;
        const auto erased = std::min<std::size_t>(count, expected.size() - at);
        BOOST_TEST(buffer.erase(at, count) == erased);
        expected.erase(at, erased);
        BOOST_TEST((buffer.unread() == expected));
        const auto consumed =
            random() % 5 == 0 ? expected.size() : random() % (expected.size() + 1);
        buffer.consume(consumed);
        expected.erase(0, consumed);
    }
}

BOOST_AUTO_TEST_CASE(a_reply_of_any_size_fits_and_what_was_read_makes_room) {
    auto buffer = read_buffer{};
    receive(buffer, std::string(10 * read_buffer::usual_bytes, 'x'));
    BOOST_TEST(buffer.unread().size() == 10 * read_buffer::usual_bytes);
    buffer.clear();
    BOOST_TEST(buffer.unread().empty());
    const auto room = buffer.prepare().size();
    for (int i = 0; i < 1'000; ++i) {
        receive(buffer, std::string(1'000, 'y'));
        buffer.consume(1'000);
    }
    BOOST_TEST(buffer.prepare().size() == room);
}

BOOST_AUTO_TEST_SUITE_END()
