// SPDX-License-Identifier: BSL-1.0
//
// Server addresses: valid ones, errors and their messages, and that no secret is shown.

#include <colimit/limits.hpp>
#include <redis/connection/address.hpp>
#include <support/address_text.hpp>
#include <support/refusal.hpp>
#include <support/rounds.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <random>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(server_address)

namespace {

using colimit::redis::address;
using colimit::redis::parse_address;

[[nodiscard]] std::string reason(std::string_view text) {
    return colimit::test::refusal(colimit::errc::invalid_config,
                                  [&] { return parse_address(text); });
}

void check_reason(std::string_view text, std::string_view expected) {
    BOOST_TEST_CONTEXT(text) {
        BOOST_TEST(reason(text) == "server address, character " + std::string{expected});
    }
}

[[nodiscard]] address tcp(std::string_view host, std::uint16_t port = 6379) {
    auto a = address{};
    a.kind = address::kind::tcp;
    a.host = host;
    a.port = port;
    return a;
}

[[nodiscard]] address socket_at(std::string_view path, int database = 0) {
    auto a = address{};
    a.kind = address::kind::unix_socket;
    a.path = path;
    a.database = database;
    return a;
}

[[nodiscard]] address with(address a, std::string user, std::string password, int database = 0) {
    a.user = std::move(user);
    a.password = std::move(password);
    a.database = database;
    return a;
}

void check_address(std::string_view text, const address& expected) {
    BOOST_TEST_CONTEXT(text) {
        const auto read = parse_address(text);
        BOOST_TEST((read == expected), colimit::test::address_text(read)
                                           << " != " << colimit::test::address_text(expected));
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(memory_is_an_address_of_its_own) {
    check_address("memory:", {});
    check_address("Memory:", {});
    check_reason("memory://", "8: nothing may follow memory:");
}

BOOST_AUTO_TEST_CASE(redis_addresses_have_defaults_for_all_but_the_host) {
    check_address("redis://localhost", tcp("localhost"));
    check_address("REDIS://127.0.0.1/", tcp("127.0.0.1"));
    check_address("redis://a-b_c.example.org:1", tcp("a-b_c.example.org", 1));
    check_address("redis://h:65535/1000000", with(tcp("h", 65'535), "", "", 1'000'000));
    check_address("redis://[::1]", tcp("::1"));
    check_address("redis://u:p@[2001:DB8::1.2.3.4]:6380/3",
                  with(tcp("2001:DB8::1.2.3.4", 6380), "u", "p", 3));
}

BOOST_AUTO_TEST_CASE(credentials_are_user_and_password_or_a_lone_password) {
    check_address("redis://alice:secret@h", with(tcp("h"), "alice", "secret"));
    check_address("redis://:secret@h", with(tcp("h"), "", "secret"));
    check_address("redis://secret@h", with(tcp("h"), "", "secret"));
    check_address("redis://alice:@h", with(tcp("h"), "alice", ""));
    check_address("redis://alice:a:b?c#d@h", with(tcp("h"), "alice", "a:b?c#d"));
    check_address("unix://alice:secret@/s?db=1", with(socket_at("/s"), "alice", "secret", 1));
    check_reason("redis://@h", "9: before the '@' there must be a user or a password");
    check_reason("redis://:@h", "9: before the '@' there must be a user or a password");
}

BOOST_AUTO_TEST_CASE(user_password_and_path_are_percent_decoded) {
    using namespace std::string_literals;
    check_address("redis://a%3Ab:%40%2f%25%00%0D%0a+@h", with(tcp("h"), "a:b", "@/%\0\r\n+"s));
    check_address("unix:/a%20b%3Fc", socket_at("/a b?c"));
    const std::string expected = ": a '%' must be followed by two hexadecimal digits (a '%' "
                                 "itself is written %25)";
    check_reason("redis://a:b%@h", "12" + expected);
    check_reason("redis://a:%4@h", "11" + expected);
    check_reason("redis://a:%g0@h", "11" + expected);
    check_reason("redis://a%:b@h", "10" + expected);
    check_reason("unix:/s%", "8" + expected);
    check_reason("unix:/s%-1", "8" + expected);
}

BOOST_AUTO_TEST_CASE(unix_addresses_have_an_absolute_path) {
    check_address("unix:/run/redis.sock", socket_at("/run/redis.sock"));
    check_address("unix:///run/redis.sock", socket_at("/run/redis.sock"));
    check_address("unix:/run/a@b?db=7", socket_at("/run/a@b", 7));
    check_address("unix:/" + std::string(106, 'x'), socket_at("/" + std::string(106, 'x')));
    check_reason("unix:/" + std::string(107, 'x'),
                 "6: the path must have at most 107 bytes, has 108");
    check_reason("unix:", "6: expected '/': the path of a unix socket is absolute");
    check_reason("unix:run/s", "6: expected '/': the path of a unix socket is absolute");
    check_reason("unix://", "8: expected '/': the path of a unix socket is absolute");
    check_reason("unix://a:b@", "12: expected '/': the path of a unix socket is absolute");
    check_reason("unix://run/s", "8: expected '/': the path of a unix socket is absolute, and has "
                                 "no host before it");
    check_reason("unix://a:b@run/s", "12: expected '/': the path of a unix socket is absolute, "
                                     "and has no host before it");
    check_reason("unix:/s%00", "6: the path has a zero byte");
}

BOOST_AUTO_TEST_CASE(the_only_parameter_is_the_database) {
    check_reason("unix:/s?", "9: expected db=N (a '?' in the path must be written %3F)");
    check_reason("unix:/s?x=1", "9: expected db=N (a '?' in the path must be written %3F)");
    check_reason("unix:/s?db=", "12: database: empty (expected 0 to 1000000)");
    check_reason("unix:/s?db=1&x=2", "13: database: not a digit (expected 0 to 1000000)");
    check_reason("redis://h?db=1",
                 "10: invalid character in host name (allowed: A-Z a-z 0-9 . _ -)");
}

BOOST_AUTO_TEST_CASE(numbers_are_in_range_or_refused_never_wrapped) {
    check_reason("redis://cache:99999", "15: port: out of range (expected 1 to 65535); if this is "
                                        "a password, '@' and the host must follow it");
    check_reason("redis://cache:0", "15: port: out of range (expected 1 to 65535); if this is a "
                                    "password, '@' and the host must follow it");
    check_reason("redis://cache:65536", "15: port: out of range (expected 1 to 65535); if this is "
                                        "a password, '@' and the host must follow it");
    check_reason("redis://cache:", "15: port: empty (expected 1 to 65535); if this is a password, "
                                   "'@' and the host must follow it");
    check_reason("redis://cache:-1", "15: port: not a digit (expected 1 to 65535); if this is a "
                                     "password, '@' and the host must follow it");
    check_reason("redis://cache:63 79", "17: port: not a digit (expected 1 to 65535); if this is a "
                                        "password, '@' and the host must follow it");
    check_reason("redis://cache:71915", "15: port: out of range (expected 1 to 65535); if this is "
                                        "a password, '@' and the host must follow it"); // 6379+2^16
    check_reason("redis://cache:18446744073709557995",
                 "15: port: out of range (expected 1 to 65535); if this is a password, '@' and the "
                 "host must follow it");
    check_reason("redis://h/1000001",
                 "11: database: out of range (got 1000001, expected 0 to 1000000)");
    check_reason("redis://h/4294967296", "11: database: out of range (expected 0 to 1000000)");
    check_reason("redis://h/0/1", "12: database: not a digit (expected 0 to 1000000)");
}

BOOST_AUTO_TEST_CASE(a_number_that_may_be_a_password_is_not_shown) {
    const std::string hint = "; if this is a password, '@' and the host must follow it";
    check_reason("redis://alice:99999", "15: port: out of range (expected 1 to 65535)" + hint);
    check_reason("redis://alice:0123456789/3",
                 "15: port: out of range (expected 1 to 65535)" + hint);
    check_reason("redis://alice:pw@cache:99999",
                 "24: port: out of range (got 99999, expected 1 to 65535)");
}

BOOST_AUTO_TEST_CASE(hosts_are_names_or_addresses) {
    const std::string no_host = "invalid character in host name (allowed: A-Z a-z 0-9 . _ -)";
    check_reason("redis://", "9: expected a host");
    check_reason("redis:///0", "9: expected a host");
    check_reason("redis://:6379", "9: expected a host");
    check_reason("redis://a b", "10: " + no_host);
    check_reason("redis://h\n", "10: " + no_host);
    check_reason("redis://h\xc3\xb6st", "10: " + no_host);
    check_reason(std::string_view{"redis://h\0", 10}, "10: " + no_host);
    check_reason("redis://fe80:0::1",
                 "9: two ':' in the host and port; an IPv6 address is written in brackets");
    check_reason("redis://[::1", "9: the '[' of an IPv6 address has no ']'");
    check_reason("redis://[::1]6379",
                 "14: expected ':' and a port, '/' and a database, or the end");
    check_reason("redis://[]", "10: expected a host");
    check_reason("redis://[1.2.3.4]", "10: expected an IPv6 address in the brackets");
    check_reason("redis://[::g]",
                 "12: invalid character in IPv6 address (allowed: 0-9 A-F a-f : .)");
    // A certificate for ".h" would be one for any host below h.
    check_reason("rediss://.example.org", "10: a host name cannot begin with a dot");
    BOOST_TEST(parse_address("redis://" + std::string(253, 'h')).host.size() == 253U);
    check_reason("redis://" + std::string(254, 'h'), "9: the host is longer than 253 characters");
}

BOOST_AUTO_TEST_CASE(rediss_is_redis_by_tls) {
    for (const std::string rest :
         {"h", "h:6380", "h/3", "alice:s%40@[::1]:1/2", "pw@10.0.0.1", ":p@h"}) {
        auto by_tls = parse_address("rediss://" + rest);
        BOOST_TEST(by_tls.tls);
        by_tls.tls = false;
        BOOST_TEST((by_tls == parse_address("redis://" + rest)));
    }
    BOOST_TEST(parse_address("REDISS://h").tls);
    BOOST_TEST(parse_address("rediss://h").port == 6379);
    BOOST_TEST(!parse_address("unix:/s").tls);
    check_reason("rediss://", "10: expected a host");
    check_reason("rediss://h:0", "12: port: out of range (expected 1 to 65535); if this is a "
                                 "password, '@' and the host must follow it");
    check_reason("rediss://a:b@c@h", "13: an '@' in a user or password must be written %40");
}

BOOST_AUTO_TEST_CASE(sentinels_are_a_list_of_hosts_and_the_name_of_a_master) {
    using colimit::redis::host_port;
    auto expected = address{};
    expected.kind = address::kind::sentinel;
    expected.hosts = {{"a", 26'379}};
    expected.master = "mymaster";
    check_address("redis+sentinel://a/mymaster", expected);
    check_address("REDIS+SENTINEL://a/mymaster/", expected);
    expected.tls = true;
    check_address("rediss+sentinel://a/mymaster/0", expected);
    expected.tls = false;
    expected.hosts = {{"a", 1}, {"::1", 26'379}, {"10.0.0.1", 26'380}};
    expected.master = "my master/1";
    check_address("redis+sentinel://ann:s%2Fx@a:1,[::1],10.0.0.1:26380/my%20master%2F1/3",
                  with(expected, "ann", "s/x", 3));
    check_address("redis+sentinel://a:1,a:2/m", [] {
        auto twice = address{};
        twice.kind = address::kind::sentinel;
        twice.hosts = {{"a", 1}, {"a", 2}};
        twice.master = "m";
        return twice;
    }());
    const auto tcp_of_it = expected.at({"b", 7});
    BOOST_TEST((tcp_of_it == tcp("b", 7)));
}

BOOST_AUTO_TEST_CASE(a_list_of_sentinels_that_is_not_valid_is_refused_with_its_position) {
    const std::string no_master = "expected '/' and the name of the master, as in sentinel.conf: "
                                  "redis+sentinel://host1,host2/mymaster";
    check_reason("redis+sentinel://a,b", "21: " + no_master);
    check_reason("redis+sentinel://a/", "20: " + no_master);
    check_reason("redis+sentinel://a//1", "20: the name of the master is empty");
    check_reason("redis+sentinel://a/m%00", "20: the name of the master has a zero byte");
    check_reason("redis+sentinel:///m", "18: expected a host");
    check_reason("redis+sentinel://a,,b/m", "20: expected a host");
    check_reason("redis+sentinel://a,/m", "20: expected a host");
    check_reason("redis+sentinel://a,b c/m",
                 "21: invalid character in host name (allowed: A-Z a-z 0-9 . _ -)");
    check_reason("redis+sentinel://a,b,a:26379/m", "22: this host and port were given before");
    check_reason("redis+sentinel://x@a:99999/m",
                 "22: port: out of range (got 99999, expected 1 to 65535)");
    check_reason("redis+sentinel://a/m/x", "22: database: not a digit (expected 0 to 1000000)");
    check_reason("redis+sentinel://a/m/1/2", "23: database: not a digit (expected 0 to 1000000)");
    auto many = std::string{"redis+sentinel://h0"};
    for (std::size_t i = 1; i < colimit::limits::max_hosts; ++i)
        many += ",h" + std::to_string(i);
    BOOST_TEST(parse_address(many + "/m").hosts.size() == colimit::limits::max_hosts);
    BOOST_TEST(reason(many + ",x/m").ends_with("too many hosts (at most 64)"));
    check_reason("redis://a,b", "10: several hosts; those of a cluster are "
                                "redis+cluster://host,host, and those of Sentinels "
                                "redis+sentinel://host,host/master");
}

BOOST_AUTO_TEST_CASE(a_cluster_is_a_list_of_nodes) {
    auto expected = address{};
    expected.kind = address::kind::cluster;
    expected.hosts = {{"a", 6379}};
    check_address("redis+cluster://a", expected);
    check_address("Redis+Cluster://a/", expected);
    expected.hosts = {{"a", 1}, {"::1", 6379}};
    check_address("redis+cluster://ann:s%2Fx@a:1,[::1]/3", with(expected, "ann", "s/x", 3));
    expected.tls = true;
    check_address("rediss+cluster://a:1,[::1]", expected);
    BOOST_TEST((expected.at({"b", 7}).hosts.empty()));
    check_reason("redis+cluster://", "17: expected a host");
    check_reason("redis+cluster://a,", "19: expected a host");
    check_reason("redis+cluster://a,a:6379", "19: this host and port were given before");
    check_reason("redis+cluster://a/x", "19: database: not a digit (expected 0 to 1000000)");
    check_reason("redis+cluster://alice:secret",
                 "23: port: not a digit (expected 1 to 65535); if this is a password, '@' and the "
                 "host must follow it");
}

BOOST_AUTO_TEST_CASE(the_text_of_a_host_and_port_is_as_in_an_address) {
    using colimit::redis::host_port;
    BOOST_TEST(to_string(host_port{"h", 6'379}) == "h:6379");
    BOOST_TEST(to_string(host_port{"::1", 6'379}) == "[::1]:6379");
}

BOOST_AUTO_TEST_CASE(separators_in_credentials_must_be_encoded) {
    check_reason("redis://a:b@c@h", "12: an '@' in a user or password must be written %40");
    check_reason("redis://a:b/c@h", "12: a '/' in a user or password must be written %2F");
}

BOOST_AUTO_TEST_CASE(other_schemes_are_refused_with_those_that_there_are) {
    const std::string forms =
        "expected memory:, redis://[user:password@]host[:port][/db], "
        "redis+sentinel://host,host/master[/db], redis+cluster://host,host, each with rediss the "
        "same over TLS, or unix:/path[?db=N]";
    for (const auto* const text : {"", "localhost:6379", "http://h", "redis:h", "memory", "redis",
                                   "valkey://h", " redis://h", "secret"})
        check_reason(text, "1: " + forms);
}

BOOST_AUTO_TEST_CASE(an_address_above_the_limit_is_refused_unread) {
    const auto most = colimit::limits::max_address_bytes;
    BOOST_TEST(parse_address("redis://:" + std::string(most - 11, 'p') + "@h").password.size() ==
               most - 11);
    check_reason("redis://:" + std::string(most - 10, 'p') + "@h",
                 "4097: the address is longer than 4096 characters");
}

BOOST_AUTO_TEST_CASE(a_password_where_something_else_belongs_is_not_shown) {
    for (const auto* const text :
         {"redis://alice:Zq7Xv9Wk", "redis://alice:h@Zq7Xv9Wk!", "redis://h/Zq7Xv9Wk",
          "Zq7Xv9Wk:x@h", "Zq7Xv9Wk://h", "unix:/s?Zq7Xv9Wk", "unix:Zq7Xv9Wk@/s",
          "unix:/s?db=Zq7Xv9Wk", "memory:Zq7Xv9Wk", "redis://alice:Zq7Xv9Wk/x@h",
          "redis://alice:123456", "redis://alice:12345678/0", "unix:/alice:Zq7Xv9Wk@/run/s",
          "unix:///Zq7Xv9Wk@/run/s?db=1"}) {
        const auto said = reason(text);
        BOOST_TEST(said.starts_with("server address, character "));
        BOOST_TEST(said.find("Zq7") == std::string::npos, said);
        BOOST_TEST(said.find("123456") == std::string::npos, said);
    }
}

BOOST_AUTO_TEST_CASE(no_mutation_of_an_address_shows_user_or_password) {
    const std::array<std::string, 5> whole{"redis://Jy4Ud8Rf:Zq7Xv9Wk@cache.example.org:6380/3",
                                           "redis://:Zq7Xv9Wk@[::1]:6379", "redis://Zq7Xv9Wk@h/1",
                                           "unix://Jy4Ud8Rf:Zq7Xv9Wk@/run/s?db=2",
                                           "rediss://Jy4Ud8Rf:Zq7Xv9Wk@h"};
    using namespace std::string_view_literals;
    constexpr auto special = "@/:?%[]#;=&. \0\n\xff"
                             "09azunix"sv;
    auto random = std::mt19937_64{3};
    const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    auto refused = 0;
    for (int i = 0; i < colimit::test::rounds(200'000); ++i) {
        auto text = whole[below(whole.size())];
        for (auto changes = 1 + below(4); changes > 0 && !text.empty(); --changes) {
            const auto at = below(text.size());
            switch (below(5)) {
            case 0:
                text.erase(at, 1 + below(12));
                break;
            case 1:
                text[at] = special[below(special.size())];
                break;
            case 2:
                text.insert(at, 1, special[below(special.size())]);
                break;
            case 3:
                text.insert(at, text.substr(below(text.size()), 1 + below(20)));
                break;
            default:
                text.insert(at, std::to_string(below(1'000'000)));
                break;
            }
        }
        const auto said = reason(text);
        if (said == "not refused")
            continue;
        ++refused;
        // Any three characters of a secret would be too much.
        for (const std::string_view secret : {"Jy4Ud8Rf", "Zq7Xv9Wk"})
            for (std::size_t at = 0; at + 3 <= secret.size(); ++at)
                BOOST_REQUIRE_MESSAGE(said.find(secret.substr(at, 3)) == std::string::npos,
                                      text << ": " << said);
    }
    BOOST_TEST(refused > colimit::test::rounds(50'000));
}

BOOST_AUTO_TEST_SUITE_END()
