// SPDX-License-Identifier: BSL-1.0
//
// Which lines a logger writes, and of what they are composed.

#include <base/logger.hpp>
#include <support/unit_test.hpp>

#include <string>
#include <string_view>
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

BOOST_AUTO_TEST_SUITE_END()
