// SPDX-License-Identifier: BSL-1.0
//
// Which lines a logger writes, and of what they are composed.

#include <base/logger.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(logger)

namespace {

using colimit::log_level;

} // namespace

BOOST_AUTO_TEST_CASE(a_level_includes_those_before_it) {
    for (const auto most : {log_level::warning, log_level::info, log_level::debug}) {
        auto said = std::vector<std::string>{};
        const auto log =
            colimit::detail::logger{{.level = most, .write = [&](log_level, std::string_view line) {
                                         said.emplace_back(line);
                                     }}};
        for (const auto l : {log_level::warning, log_level::info, log_level::debug}) {
            BOOST_TEST(log.logs(l) == (l <= most));
            log.write(l, to_string(l), " ", 7, " of ", std::size_t{8});
        }
        BOOST_TEST(said.size() == static_cast<std::size_t>(most) + 1);
        BOOST_TEST(said.back() == std::string{to_string(most)} + " 7 of 8");
    }
}

BOOST_AUTO_TEST_CASE(other_bytes_than_printable_ascii_are_escaped) {
    auto said = std::string{};
    const auto log =
        colimit::detail::logger{{.level = log_level::debug,
                                 .write = [&](log_level, std::string_view line) { said = line; }}};
    log.write(log_level::info, std::string_view{"a\n\x1b\0\xff~", 6});
    BOOST_TEST(said == "a\\x0a\\x1b\\x00\\xff~");
}

BOOST_AUTO_TEST_CASE(a_logger_without_a_function_is_off) {
    const auto log = colimit::detail::logger{{.level = log_level::debug}};
    BOOST_TEST(!log.logs(log_level::warning));
    log.write(log_level::warning, "not written");
}

BOOST_AUTO_TEST_CASE(a_part_without_memory_loses_the_line) {
    auto lines = 0;
    const auto log = colimit::detail::logger{
        {.level = log_level::info, .write = [&](log_level, std::string_view) { ++lines; }}};
    const auto failing = []() -> std::string { throw std::bad_alloc{}; };
    log.write(log_level::info, failing);
    log.write(log_level::debug, failing); // not composed
    BOOST_TEST(lines == 0);
    log.write(log_level::info, colimit::make_error_code(colimit::errc::closed), [] { return ""; });
    BOOST_TEST(lines == 1);
}

/// A socket's handlers write without the limiter's lock.
BOOST_AUTO_TEST_CASE(threads_write_one_after_the_other) {
    constexpr auto lines = 2'000;
    auto inside = std::atomic{0};
    auto all = 0; // without the mutex, a data race
    auto most = 0;
    const auto options =
        colimit::log_options{.level = log_level::info, .write = [&](log_level, std::string_view) {
                                 most = std::max(most, ++inside);
                                 ++all;
                                 std::this_thread::yield();
                                 --inside;
                             }};
    const auto write = [&options] { // a limiter has several loggers
        const auto log = colimit::detail::logger{options};
        for (auto n = 0; n < lines; ++n)
            log.write(log_level::info, "a line");
    };
    auto other = std::thread{write};
    write();
    other.join();
    BOOST_TEST(most == 1);
    BOOST_TEST(all == 2 * lines);
}

BOOST_AUTO_TEST_SUITE_END()
