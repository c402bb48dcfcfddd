// SPDX-License-Identifier: BSL-1.0
//
// Lines of access logs as servers write them, and as they should not be.
#include <support/unit_test.hpp>
#include <tool/replay/access_log.hpp>

#include <chrono>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(replay_access_log)

namespace {

namespace replay = tool::replay;
using replay::read_log_line;
using namespace std::chrono;

constexpr std::string_view rest = " \"GET / HTTP/1.1\" 200 512";

/// A line with this client and otherwise ordinary.
std::string by(std::string_view client) {
    return std::string{client} + " - - [17/May/2015:10:05:03 +0000]" + std::string{rest};
}

/// A line with this time and otherwise ordinary.
std::string at(std::string_view time) {
    return "192.0.2.7 - - [" + std::string{time} + "]" + std::string{rest};
}

sys_seconds utc(int y, unsigned m, unsigned d, int h, int min, int s) {
    return sys_days{year{y} / month{m} / day{d}} + hours{h} + minutes{min} + seconds{s};
}

bool is_read(std::string_view text) {
    return read_log_line(text).line.has_value();
}

std::string_view problem(std::string_view text) {
    const auto read = read_log_line(text);
    BOOST_TEST(!read.line);
    return read.problem;
}

void expect_time(std::string_view written, sys_seconds meant) {
    const auto text = at(written);
    const auto read = read_log_line(text);
    BOOST_TEST_REQUIRE(read.line.has_value(), text << ": " << read.problem);
    BOOST_TEST((read.line->time == meant), written);
}

} // namespace

BOOST_AUTO_TEST_CASE(common_and_combined_lines_give_client_and_time) {
    for (const std::string_view end : {"", " \"http://a.example/\" \"Mozilla/5.0 (X11)\""}) {
        const auto text = by("192.0.2.7") + std::string{end};
        const auto read = read_log_line(text);
        BOOST_TEST_REQUIRE(read.line.has_value());
        BOOST_TEST(read.problem.empty());
        BOOST_TEST(read.line->client == "192.0.2.7");
        BOOST_TEST((read.line->time == utc(2015, 5, 17, 10, 5, 3)));
    }
}

BOOST_AUTO_TEST_CASE(user_and_request_are_read_if_they_are_there) {
    const auto line = [](std::string_view user, std::string_view request) {
        return "192.0.2.7 - " + std::string{user} + " [17/May/2015:10:05:03 +0000] \"" +
               std::string{request} + "\" 200 1";
    };
    const auto text = line("anna [x] b", "GET /a?b=c HTTP/1.1");
    const auto read = read_log_line(text);
    BOOST_TEST_REQUIRE(read.line.has_value());
    BOOST_TEST(read.line->user == "anna [x] b");
    BOOST_TEST(read.line->method == "GET");
    BOOST_TEST(read.line->target == "/a?b=c");
    const auto bare = line("-", "\\x16\\x03");
    BOOST_TEST(read_log_line(bare).line->user == "");
    BOOST_TEST(read_log_line(bare).line->target == "");
    const auto old = line("-", "GET /");
    BOOST_TEST(read_log_line(old).line->target == "/");
}

BOOST_AUTO_TEST_CASE(addresses_of_both_families_and_host_names_are_clients) {
    for (const std::string_view client :
         {"192.0.2.7", "2001:db8::1", "::1", "fe80::1%eth0", "::ffff:192.0.2.7", "a-b_c.example"}) {
        const auto text = by(client);
        const auto read = read_log_line(text);
        BOOST_TEST_REQUIRE(read.line.has_value(), text);
        BOOST_TEST(read.line->client == client);
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_client_is_refused) {
    const std::string_view no_address = "does not start with an address or a host name";
    BOOST_TEST(problem("") == "does not start with a client address");
    BOOST_TEST(problem(by("")) == "does not start with a client address");
    BOOST_TEST(problem(by("\x1b[31m")) == no_address);
    BOOST_TEST(problem(by("192.0.2.7,")) == no_address);
    BOOST_TEST(problem(by(std::string_view{"a\0b", 3})) == no_address);
    BOOST_TEST(problem(by(std::string(256, 'a'))) ==
               "the client address is longer than 255 characters");
    BOOST_TEST(is_read(by(std::string(255, 'a'))));
}

BOOST_AUTO_TEST_CASE(a_virtual_host_in_front_is_not_taken_for_the_client) {
    BOOST_TEST(problem("www.example:443 " + by("192.0.2.7")) ==
               "starts with HOST:PORT, where the address of the client should be");
}

BOOST_AUTO_TEST_CASE(whatever_programs_write_in_front_of_a_line_is_not_taken_for_the_client) {
    for (const std::string_view front : {"shop.example ",
                                         "shop.example - ",
                                         "10.0.0.5 ",
                                         "10.0.0.5 - ",
                                         "10.0.0.5 - - ",
                                         "May 24 14:17:00 web1 nginx: ",
                                         "May 24 14:17:00 web1 nginx[12]: ",
                                         "<134>1 2026-05-24T14:17:00Z web1 nginx - - - ",
                                         "2026-05-24T14:17:00.123Z ",
                                         "2026-05-24T14:17:00.123456789Z ",
                                         "2026-05-24 14:17:00 ",
                                         "1779632220 ",
                                         "1779632220.250 ",
                                         "web-1  | ",
                                         "web-1 | ",
                                         "web_1     | ",
                                         "[pod/web-0/nginx] ",
                                         "pod/web-0 ",
                                         "2026-05-24T14:17:00.123Z app[web.1]: ",
                                         "access.log:",
                                         "access.log.1:",

                                         "access.log:12:",
                                         "12 ",
                                         "   12 ",
                                         "12\t",
                                         "- ",
                                         "-",
                                         " ",
                                         "\t",
                                         "[",
                                         "\"",
                                         "INFO ",
                                         "stdout F ",
                                         "2026-05-24T14:17:00.123456789+00:00 stdout F ",
                                         "::1 - ",
                                         "198.51.100.7, ",
                                         "for=",
                                         "client=",
                                         "0 ",
                                         "a - b - "})
        for (const std::string_view client : {"192.0.2.7", "2001:db8::7"}) {
            const auto text = std::string{front} + by(client);
            BOOST_TEST(!is_read(text), text);
        }
    const std::string_view in_front = "has no - after its first word, so that may not be the "
                                      "client: remove what stands in front of the client, such as "
                                      "a virtual host, a time, or the name of a program or "
                                      "container";
    BOOST_TEST(problem("shop.example " + by("192.0.2.7")) == in_front);
    BOOST_TEST(problem("web-1  | " + by("192.0.2.7")) == in_front);
    BOOST_TEST(problem("10.0.0.5 - " + by("192.0.2.7")) ==
               "has a second address, so the first one may not be that of the client");
    for (const std::string_view client : {"unix:", "access.log:192.0.2.7", "1:192.0.2.7", "192.0.2",
                                          "192.0.2.256", "1779632220.250"})
        BOOST_TEST(problem(by(client)) ==
                       "starts with a text that is neither an address nor a host name",
                   client);
}

BOOST_AUTO_TEST_CASE(a_second_address_is_found_in_each_form) {
    const auto with_user = [](std::string_view user) {
        return "10.0.0.5 - " + std::string{user} + " [17/May/2015:10:05:03 +0000]" +
               std::string{rest};
    };
    for (const std::string_view user :
         {"203.0.113.7",          "203.0.113.7:1024",     "203.0.113.7, 10.0.0.7",
          "203.0.113.7,10.0.0.7", "203.0.113.7;10.0.0.7", "\"203.0.113.7, 10.0.0.7\"",
          "\"203.0.113.7\"",      "'203.0.113.7'",        "[203.0.113.7]",
          "(203.0.113.7)",        "<203.0.113.7>",        "{203.0.113.7}",
          "203.0.113.7|anna",     "for=203.0.113.7",      "for=\"[2001:db8::1]:44\"",
          "/203.0.113.7:1024",    "2001:db8::1",          "[2001:db8::1]",
          "[2001:db8::1]:44",     "unknown, 203.0.113.7", "anna\t203.0.113.7"})
        BOOST_TEST(problem(with_user(user)) ==
                       "has a second address, so the first one may not be that of the client",
                   user);
    for (const std::string_view user : {"anna", "anna@example.org", "a.b:c", "anna [x] (b)", "10",
                                        "CORP/anna", "1.2.3", "12:30", "cn=anna,ou=x"})
        BOOST_TEST(is_read(with_user(user)), user);
}

BOOST_AUTO_TEST_CASE(a_format_without_users_is_read) {
    for (const std::string_view middle : {"", " -"}) {
        const auto text =
            "192.0.2.7" + std::string{middle} + " [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\"";
        const auto read = read_log_line(text);
        BOOST_TEST_REQUIRE(read.line.has_value(), text << ": " << read.problem);
        BOOST_TEST(read.line->user == "");
    }
}

BOOST_AUTO_TEST_CASE(time_zones_become_utc) {
    expect_time("17/May/2015:10:05:03 +0200", utc(2015, 5, 17, 8, 5, 3));
    expect_time("17/May/2015:10:05:03 -0330", utc(2015, 5, 17, 13, 35, 3));
    expect_time("01/Jan/2016:00:30:00 +0545", utc(2015, 12, 31, 18, 45, 0));
    expect_time("31/Dec/2015:23:30:00 -0100", utc(2016, 1, 1, 0, 30, 0));
    expect_time("17/May/2015:10:05:03 +1400", utc(2015, 5, 16, 20, 5, 3));
}

BOOST_AUTO_TEST_CASE(leap_days_and_leap_seconds_exist_where_they_do) {
    expect_time("29/Feb/2024:00:00:00 +0000", utc(2024, 2, 29, 0, 0, 0));
    expect_time("29/Feb/2000:00:00:00 +0000", utc(2000, 2, 29, 0, 0, 0));
    expect_time("31/Dec/2016:23:59:60 +0000", utc(2017, 1, 1, 0, 0, 0));
    for (const auto* const time :
         {"29/Feb/2023:00:00:00 +0000", "29/Feb/2100:00:00:00 +0000", "31/Apr/2024:00:00:00 +0000",
          "00/May/2024:00:00:00 +0000", "32/May/2024:00:00:00 +0000", "01/may/2024:00:00:00 +0000",
          "01/Mai/2024:00:00:00 +0000"})
        BOOST_TEST(problem(at(time)) == "there is no such day");
}

BOOST_AUTO_TEST_CASE(every_month_has_its_name) {
    unsigned number = 0;
    for (const std::string name :
         {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"})
        expect_time("09/" + name + "/2024:01:02:03 +0000", utc(2024, ++number, 9, 1, 2, 3));
}

BOOST_AUTO_TEST_CASE(times_that_do_not_exist_are_refused) {
    BOOST_TEST(problem(at("17/May/2015:24:00:00 +0000")) == "there is no such time of day");
    BOOST_TEST(problem(at("17/May/2015:10:60:00 +0000")) == "there is no such time of day");
    BOOST_TEST(problem(at("17/May/2015:10:00:61 +0000")) == "there is no such time of day");
    BOOST_TEST(problem(at("17/May/2015:10:00:00 +1500")) == "there is no such time zone");
    BOOST_TEST(problem(at("17/May/2015:10:00:00 +0060")) == "there is no such time zone");
    for (const auto* const time : {"1/May/2015:10:05:03 +0000", "17/May/2015:10:05:03  0000",
                                   "17-May-2015:10:05:03 +0000", "17/May/2015:1a:05:03 +0000"})
        BOOST_TEST(!is_read(at(time)), time);
    BOOST_TEST(problem(at("17/May/2015 10:05:03 +0000")) ==
               "the time is not of the form [dd/Mon/yyyy:hh:mm:ss +hhmm]");
}

BOOST_AUTO_TEST_CASE(only_times_that_a_limiter_takes_as_its_clock_are_read) {
    expect_time("01/Jan/1970:00:00:00 +0000", sys_seconds{});
    expect_time("31/Dec/2111:23:59:59 +0000", utc(2111, 12, 31, 23, 59, 59));
    for (const auto* const time : {"01/Jan/1970:00:00:00 +0001", "31/Dec/1969:23:59:59 +0000",
                                   "01/Jan/2112:00:00:00 +0000", "31/Dec/2111:23:59:59 -0001"})
        BOOST_TEST(problem(at(time)) == "the year is not between 1970 and 2111");
}

BOOST_AUTO_TEST_CASE(whatever_a_client_asked_for_does_not_matter) {
    const std::string front = "192.0.2.7 - - [17/May/2015:10:05:03 +0000] \"";
    for (const std::string_view request :
         {"", "-\" 408 -", R"(GET /\"a\" HTTP/1.1" 200 1)", R"(\x16\x03\x01" 400 150)",
          "GET / [18/May/2015:10:05:03 +0000] \"", "GET /"})
        BOOST_TEST(is_read(front + std::string{request}), request);
}

BOOST_AUTO_TEST_CASE(a_user_name_cannot_forge_the_time) {
    const auto text =
        std::string{"192.0.2.7 - a [01/Jan/2000:00:00:00 +0000] "} +
        R"([01/Jan/2000:00:00:00 +0000] \" [17/May/2015:10:05:03 +0000] "GET /" 200 1)";
    const auto read = read_log_line(text);
    BOOST_TEST_REQUIRE(read.line.has_value());
    BOOST_TEST((read.line->time == utc(2015, 5, 17, 10, 5, 3)));
}

BOOST_AUTO_TEST_CASE(every_beginning_of_a_line_is_either_read_or_refused_with_a_reason) {
    const auto text = by("192.0.2.7");
    const auto needed = text.find('"') + 1;
    for (std::size_t size = 0; size <= text.size(); ++size) {
        const auto read = read_log_line(std::string_view{text}.substr(0, size));
        BOOST_TEST(read.line.has_value() == (size >= needed));
        BOOST_TEST(read.problem.empty() == read.line.has_value());
    }
}

BOOST_AUTO_TEST_SUITE_END()
