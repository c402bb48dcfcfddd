// SPDX-License-Identifier: BSL-1.0
//
// Files of lines, plain and gzip, whole and broken; and logs put in the order of time.
#include <support/unit_test.hpp>
#include <tool/replay/history.hpp>
#include <tool/replay/lines.hpp>
#include <tool/replay/progress.hpp>
#include <tool/replay/statistics.hpp>

#include <colimit/policy_document.hpp>
#include <support/fresh_folder.hpp>

#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include <zlib.h>

BOOST_AUTO_TEST_SUITE(replay_history)

namespace {

namespace replay = tool::replay;
using namespace std::chrono_literals;
using replay::line_source;

/// A file in a folder of its own, which goes with it.
class scratch_file {
  public:
    explicit scratch_file(std::string_view bytes) {
        std::ofstream{path(), std::ios::binary} << bytes;
    }

    [[nodiscard]] std::string path() const { return folder_.path() + "/file"; }
    [[nodiscard]] std::string bytes() const {
        std::ifstream file{path(), std::ios::binary};
        return {std::istreambuf_iterator<char>{file}, {}};
    }

  private:
    colimit::test::fresh_folder folder_;
};

std::string compressed(std::string_view text) {
    const scratch_file file{""};
    auto* const out = gzopen(file.path().c_str(), "wb");
    BOOST_REQUIRE(out != nullptr);
    BOOST_REQUIRE(gzwrite(out, text.data(), static_cast<unsigned>(text.size())) ==
                  static_cast<int>(text.size()));
    BOOST_REQUIRE(gzclose(out) == Z_OK);
    return file.bytes();
}

std::vector<std::string> lines_of(std::string_view bytes) {
    const scratch_file file{bytes};
    line_source source{file.path()};
    std::vector<std::string> lines;
    while (const auto line = source.next())
        lines.push_back(std::string{line->text} + (line->is_cut ? "..." : ""));
    return lines;
}

std::string line(std::string_view client, std::string_view time) {
    return std::string{client} + " - - [12/Mar/2024:" + std::string{time} +
           " +0000] \"GET /\" 200 1\n";
}

replay::history load_file(const std::string& path,
                          const std::optional<replay::json_fields>& json = {}) {
    const replay::limits tried{colimit::policy{colimit::gcra(1, 1s)}};
    replay::progress unseen{false};
    return replay::load(path, tried, json, unseen);
}

replay::history load(std::string_view bytes) {
    const scratch_file file{bytes};
    return load_file(file.path());
}

/// Why this cannot be loaded, without the name of the file.
std::string load_problem(std::string_view bytes) {
    const scratch_file file{bytes};
    try {
        (void)load_file(file.path());
    } catch (const replay::input_error& e) {
        const std::string what = e.what();
        return what.substr(what.find(file.path()) + file.path().size());
    }
    return "nothing";
}

replay::request request_at(int seconds, std::uint32_t client) {
    return {std::chrono::sys_seconds{std::chrono::seconds{seconds}}, client};
}

} // namespace

BOOST_AUTO_TEST_CASE(plain_and_gzip_files_give_the_same_lines) {
    for (const std::string_view text : {"", "\n", "a", "a\n", "a\n\nb", "a\n\nb\n\n"})
        BOOST_TEST(lines_of(text) == lines_of(compressed(text)), boost::test_tools::per_element());
    BOOST_TEST(lines_of("a\n\nb") == (std::vector<std::string>{"a", "", "b"}),
               boost::test_tools::per_element());
    BOOST_TEST(lines_of("a\n\n").size() == 2U);
    BOOST_TEST(lines_of(compressed("a\n") + compressed("b\n")).size() == 2U); // logs joined by cat
}

BOOST_AUTO_TEST_CASE(a_byte_order_mark_is_not_part_of_the_first_line) {
    const std::string mark = "\xef\xbb\xbf";
    for (const std::string_view text : {"", "a", "a\nb", "\n"}) {
        BOOST_TEST(lines_of(mark + std::string{text}) == lines_of(text),
                   boost::test_tools::per_element());
        BOOST_TEST(lines_of(compressed(mark + std::string{text})) == lines_of(text),
                   boost::test_tools::per_element());
    }
    BOOST_TEST(lines_of("a\n" + mark + "b").at(1) == mark + "b");
    BOOST_TEST(lines_of(mark + mark).at(0) == mark);
    BOOST_TEST(lines_of("\xef\xbb").at(0) == "\xef\xbb");
}

BOOST_AUTO_TEST_CASE(of_a_line_that_is_too_long_only_the_beginning_is_kept) {
    constexpr auto longest = line_source::longest;
    for (const std::size_t size :
         {longest - 1, longest, longest + 1, 2 * longest, 2 * longest + 1, 7 * longest}) {
        const auto lines = lines_of("a\n" + std::string(size, 'x') + "\nb");
        BOOST_TEST_REQUIRE(lines.size() == 3U, size);
        BOOST_TEST(lines[0] == "a");
        BOOST_TEST(
            (lines[1] == std::string(std::min(size, longest), 'x') + (size > longest ? "..." : "")),
            size);
        BOOST_TEST(lines[2] == "b");
    }
    BOOST_TEST(lines_of(std::string(5 * longest, 'x')).size() == 1U);
    BOOST_TEST(lines_of(std::string(longest, 'x')).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_gzip_file_that_ends_early_is_an_error_wherever_it_ends) {
    std::string text;
    for (int i = 0; i < 300; ++i)
        text += line("192.0.2." + std::to_string(i % 99), "10:00:0" + std::to_string(i % 10));
    const auto whole = compressed(text);
    BOOST_TEST(load(whole).requests.size() == 300U);
    for (std::size_t size = 2; size < whole.size(); size += 7)
        BOOST_TEST(load_problem(whole.substr(0, size)) == ": the gzip file is truncated", size);
}

BOOST_AUTO_TEST_CASE(a_damaged_gzip_file_is_an_error) {
    auto whole = compressed(line("192.0.2.1", "10:00:00"));
    whole[whole.size() - 6] ^= 1; // in the checksum
    BOOST_TEST(load_problem(whole) == ": the gzip file is damaged (incorrect data check)");
}

BOOST_AUTO_TEST_CASE(nothing_that_follows_a_gzip_member_is_lost) {
    const auto one = line("192.0.2.1", "10:00:00");
    const auto packed = compressed(one);
    const std::string zeros(1000, '\0');
    for (const auto& rest : {std::string{}, zeros, compressed(""), zeros + compressed("")})
        BOOST_TEST(load(packed + rest).requests.size() == 1U);
    BOOST_TEST(load(packed + zeros + packed).requests.size() == 2U);
    const std::string other = ": something that is not gzip follows the gzip data (expected the "
                              "end of the file, more gzip data or zero bytes)";
    for (const auto& rest : {one, std::string{"\n"}, zeros + one, std::string(70'000, '\0') + one})
        BOOST_TEST(load_problem(packed + rest) == other);
    auto damaged = packed;
    damaged[1] = '\0';
    BOOST_TEST(load_problem(packed + damaged) ==
               ": the gzip file is damaged (incorrect header check)");
    BOOST_TEST(load_problem(packed + packed.substr(0, 1)) == ": the gzip file is truncated");
}

BOOST_AUTO_TEST_CASE(what_is_no_log_is_refused_with_the_reason) {
    BOOST_TEST(load_problem("") == " is empty");
    BOOST_TEST(load_problem(compressed("")) == " is empty");
    BOOST_TEST(load_problem(std::string_view{"\x7f"
                                             "ELF\0\0\1\n",
                                             8}) == " is binary, not a log");
    BOOST_TEST(load_problem("# my notes\n") ==
               " is not an access log in the common or combined format: line 1 does not start "
               "with an address or a host name");
    BOOST_CHECK_THROW((void)load_file("/nonexistent/log"), replay::input_error);
    BOOST_CHECK_THROW((void)load_file("/"), replay::input_error);
}

BOOST_AUTO_TEST_CASE(lines_that_cannot_be_read_are_counted_and_the_first_kept) {
    std::string text = line("192.0.2.1", "10:00:00");
    for (int i = 0; i < 9; ++i)
        text += "\x1b[2J " + std::to_string(i) + '\n';
    text += line("192.0.2.2", "10:00:01");
    const auto log = load(text);
    BOOST_TEST(log.requests.size() == 2U);
    BOOST_TEST(log.unreadable == 9U);
    BOOST_TEST_REQUIRE(log.first_unreadable.size() == replay::history::unreadable_kept);
    BOOST_TEST(log.first_unreadable[0].number == 2U);
    BOOST_TEST(log.first_unreadable[0].text == "\\x1b[2J 0");
    BOOST_TEST(log.first_unreadable[4].number == 6U);
}

BOOST_AUTO_TEST_CASE(json_lines_are_read_and_bad_ones_kept) {
    const scratch_file file{"{\"client\": \"a\", \"time\": 10.5}\n"
                            "{\"client\": \"a\"}\n"
                            "\n"
                            "{\"client\": 7, \"time\": 10.25}\n"};
    const auto log = load_file(file.path(), replay::json_fields{});
    BOOST_TEST_REQUIRE(log.requests.size() == 2U);
    BOOST_TEST(log.clients[log.requests[0].client] == "7");
    BOOST_TEST(log.out_of_order == 1U);
    BOOST_TEST(log.unreadable == 2U);
    BOOST_TEST(log.first_unreadable[0].number == 2U);
    BOOST_TEST(log.first_unreadable[0].problem == "has no text or number 'time'");
}

BOOST_AUTO_TEST_CASE(equal_checks_of_routes_are_kept_once) {
    const replay::limits tried{colimit::parse_policy_document(
        R"({"policies": {"a": "1/s"}, "routes": [{"path": "/x/*", "policy": "a"}]})")};
    const scratch_file file{"192.0.2.1 - - [12/Mar/2024:10:00:00 +0000] \"GET /x/1\" 200 1\n"
                            "192.0.2.1 - - [12/Mar/2024:10:00:00 +0000] \"GET /x/2\" 200 1\n"
                            "192.0.2.1 - - [12/Mar/2024:10:00:00 +0000] \"GET /y\" 200 1\n"
                            "192.0.2.2 - - [12/Mar/2024:10:00:00 +0000] \"GET /x\" 200 1\n"};
    replay::progress unseen{false};
    const auto log = replay::load(file.path(), tried, std::nullopt, unseen);
    BOOST_TEST_REQUIRE(log.calls.size() == 3U);
    BOOST_TEST(log.requests[0].call == log.requests[1].call);
    BOOST_TEST(log.calls[log.requests[2].call].empty());
    BOOST_TEST(log.calls[log.requests[3].call].at(0).key == "ip=192.0.2.2");
}

BOOST_AUTO_TEST_CASE(a_client_is_known_again) {
    const auto log = load(line("192.0.2.1", "10:00:00") + line("2001:db8::1", "10:00:00") +
                          line("::ffff:192.0.2.1", "10:00:01") + line("2001:db8::2", "10:00:02"));
    BOOST_TEST_REQUIRE(log.clients.size() == 2U);
    BOOST_TEST(log.clients[1] == "2001:db8::/64");
    BOOST_TEST(log.requests[3].client == 1U);
    BOOST_TEST(log.requests[0].client == 0U);
    BOOST_TEST(log.requests[1].client == 1U);
    BOOST_TEST(log.requests[2].client == 0U);
}

BOOST_AUTO_TEST_CASE(a_log_whose_clients_are_mostly_no_hosts_is_refused) {
    const auto log_of = [](const std::vector<std::string>& clients) {
        std::string text;
        for (const auto& client : clients)
            text += line(client, "10:00:00");
        return text;
    };
    using names = std::vector<std::string>;
    for (const auto& clients :
         {names{"a1b2c300", "a1b2c301"}, names{"web-0"}, names{"u4000", "u4001", "192.0.2.1"},
          names{"unknown"}, names{"_"}, names{"a1b2c300", "unknown", "2001:db8::1"}})
        BOOST_TEST(load_problem(log_of(clients)) ==
                   " has words such as '" + clients[0] +
                       "' where the client should be: most are neither addresses nor host names, "
                       "which have a dot");
    for (const auto& clients : {names{"localhost"}, names{"a.example", "printer"},
                                names{"192.0.2.1", "2001:db8::1", "printer"}})
        BOOST_TEST(load(log_of(clients)).clients.size() == clients.size());
}

BOOST_AUTO_TEST_CASE(requests_are_sorted_by_time_and_those_of_one_second_keep_their_order) {
    std::vector<replay::request> requests{request_at(5, 0), request_at(3, 1), request_at(5, 2),
                                          request_at(3, 3), request_at(4, 4), request_at(6, 5)};
    BOOST_TEST(replay::put_in_order(requests) == 3U);
    const std::vector<replay::request> sorted{request_at(3, 1), request_at(3, 3), request_at(4, 4),
                                              request_at(5, 0), request_at(5, 2), request_at(6, 5)};
    BOOST_TEST((requests == sorted));
    BOOST_TEST(replay::put_in_order(requests) == 0U);
    BOOST_TEST((requests == sorted));
}

BOOST_AUTO_TEST_CASE(lines_of_different_time_zones_are_sorted_by_what_they_mean) {
    const auto log = load("192.0.2.1 - - [12/Mar/2024:10:00:00 +0000] \"GET /\" 200 1\n"
                          "192.0.2.2 - - [12/Mar/2024:10:30:00 +0100] \"GET /\" 200 1\n");
    BOOST_TEST(log.out_of_order == 1U);
    BOOST_TEST(log.requests.front().client == 1U);
}

BOOST_AUTO_TEST_CASE(statistics_list_the_most_limited_first) {
    replay::history log;
    log.clients = {"a", "b", "c"};
    for (int i = 0; i < 9; ++i)
        log.requests.push_back(request_at(i, static_cast<std::uint32_t>(i % 3)));
    // a is denied at 6, b never, c at 2 (by the second rule), 5 and 8.
    const std::vector<replay::verdict> verdicts{-1, -1, 1, -1, -1, 0, 0, -1, 0};
    const auto found = replay::count(log, verdicts, 2);
    BOOST_TEST(found.requests == 9U);
    BOOST_TEST(found.limited == 4U);
    BOOST_TEST(found.limited_by_rule == (std::vector<std::size_t>{3, 1}),
               boost::test_tools::per_element());
    BOOST_TEST_REQUIRE(found.clients_limited.size() == 2U);
    const auto& c = found.clients_limited[0];
    BOOST_TEST(c.client == 2U);
    BOOST_TEST(c.requests == 3U);
    BOOST_TEST(c.limited == 3U);
    BOOST_TEST((c.first_limited == request_at(2, 0).time));
    BOOST_TEST((c.last_limited == request_at(8, 0).time));
    BOOST_TEST(found.clients_limited[1].client == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
