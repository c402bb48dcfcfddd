// SPDX-License-Identifier: BSL-1.0
//
// The client behind proxies: header fields are believed as far as trusted proxies wrote them, and
// no text of a client changes what these wrote.

#include <colimit/client_address.hpp>
#include <colimit/error.hpp>
#include <colimit/limits.hpp>
#include <support/http_message.hpp>
#include <support/refusal.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(client_addresses)

namespace {

using namespace colimit;
using http::network;
using http::trusted_proxies;
using test::http_message;

const auto* const xff = "X-Forwarded-For";
const auto* const fwd = "Forwarded";

using lines = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] std::string client(const trusted_proxies& trusted, lines fields,
                                 std::string peer = "10.0.0.1") {
    const auto m = http_message{.peer = std::move(peer), .fields = std::move(fields)};
    return http::client_address(m.view(), trusted).to_string();
}

/// Returns the client behind one proxy that wrote this list.
[[nodiscard]] std::string behind_one(std::string list) {
    return client(trusted_proxies{1}, {{xff, std::move(list)}});
}
[[nodiscard]] std::string forwarded(std::string list) {
    return client(trusted_proxies{1}, {{fwd, std::move(list)}});
}

[[nodiscard]] trusted_proxies networks(std::vector<std::string> texts) {
    auto made = std::vector<http::network>{};
    for (const auto& t : texts)
        made.emplace_back(t);
    return trusted_proxies{made};
}

[[nodiscard]] bool contains(std::string_view network, std::string_view address) {
    return http::network{network}.contains(boost::asio::ip::make_address(address));
}

[[nodiscard]] std::string refusal(std::string_view network) {
    return test::refusal(errc::invalid_config, [network] { http::network{network}; });
}

} // namespace

BOOST_AUTO_TEST_CASE(without_trusted_proxies_the_peer_is_the_client) {
    const auto fields = lines{{xff, "1.2.3.4"}, {fwd, "for=1.2.3.4"}};
    BOOST_TEST(client(trusted_proxies{}, fields) == "10.0.0.1");
    BOOST_TEST(client(trusted_proxies{0}, fields) == "10.0.0.1");
    BOOST_TEST(client(networks({}), fields) == "10.0.0.1");
    BOOST_TEST(client(networks({"10.0.0.2"}), fields) == "10.0.0.1");
    BOOST_TEST(client(trusted_proxies{}, {}, "::ffff:192.0.2.1") == "192.0.2.1");
}

BOOST_AUTO_TEST_CASE(a_number_of_proxies_is_counted_from_the_right) {
    const auto list = lines{{xff, "6.6.6.6, 1.2.3.4"}, {xff, "10.0.0.3,10.0.0.2"}};
    BOOST_TEST(client(trusted_proxies{1}, list) == "10.0.0.2");
    BOOST_TEST(client(trusted_proxies{2}, list) == "10.0.0.3");
    BOOST_TEST(client(trusted_proxies{3}, list) == "1.2.3.4");
    BOOST_TEST(client(trusted_proxies{4}, list) == "6.6.6.6");
    BOOST_TEST(client(trusted_proxies{5}, list) == "6.6.6.6"); // a proxy was bypassed
    BOOST_TEST(client(trusted_proxies{1}, {}) == "10.0.0.1");
}

BOOST_AUTO_TEST_CASE(proxies_in_networks_are_passed_until_the_first_other_host) {
    const auto trusted = networks({"10.0.0.0/8", "2001:db8::/32"});
    const auto list = lines{{xff, "6.6.6.6, 1.2.3.4, [2001:db8::9]:443, 10.0.0.2"}};
    BOOST_TEST(client(trusted, list) == "1.2.3.4");
    BOOST_TEST(client(trusted, list, "::ffff:10.9.9.9") == "1.2.3.4");
    BOOST_TEST(client(trusted, list, "11.0.0.1") == "11.0.0.1");
    BOOST_TEST(client(trusted, {{xff, "10.0.0.3, 10.0.0.2"}}) == "10.0.0.3");
}

BOOST_AUTO_TEST_CASE(an_address_may_have_a_port_and_brackets) {
    for (const auto* text : {"1.2.3.4", " 1.2.3.4\t", "1.2.3.4:80", "::ffff:1.2.3.4",
                             "[::ffff:1.2.3.4]:80", "1.2.3.4:_p.1-x", ",, 1.2.3.4 , ,"})
        BOOST_TEST(behind_one(text) == "1.2.3.4");
    for (const auto* text : {"2001:DB8::1", "[2001:db8::1]", "[2001:db8:0::1]:65535"})
        BOOST_TEST(behind_one(text) == "2001:db8::1");
    for (const auto* text : {"fe80::7%eth0", "[fe80::7%25eth0]:80", "fe80::7%1"})
        BOOST_TEST(behind_one(text) == "fe80::7");
}

BOOST_AUTO_TEST_CASE(a_text_that_is_not_an_address_ends_the_way_at_the_proxy_that_wrote_it) {
    for (const auto* text : {"",
                             ",",
                             "unknown",
                             "_hidden",
                             "1.2.3",
                             "1.2.3.256",
                             "2001:db8::1%eth0",
                             "[2001:db8::1%eth0]:80",
                             "::ffff:1.2.3.4%eth0",
                             "1.2.3.4%a::b",
                             "01.2.3.4",
                             "1.2.3.4:",
                             "1.2.3.4:x",
                             "1.2.3.4:123456",
                             "1.2.3.4:_",
                             "1.2.3.4:_a;",
                             "[::1]:_",
                             "1.2.3.4:1_",
                             "[1.2.3.4]",
                             "[::1",
                             "::1]",
                             "[::1]x",
                             "[::1]:",
                             "[::1]80",
                             "\"1.2.3.4\"",
                             "1.2.3.4 5",
                             "1.2.3.4;",
                             "http://1.2.3.4",
                             "1.2.3.4/32",
                             "for=1.2.3.4",
                             "1.2.3.4\x01"})
        BOOST_TEST_CONTEXT(text) {
            BOOST_TEST(behind_one(text) == "10.0.0.1");
            BOOST_TEST(client(networks({"10.0.0.0/8"}), {{xff, text}}) == "10.0.0.1");
            if (std::string_view{text}.size() > 1)
                BOOST_TEST(client(trusted_proxies{3}, {{xff, "6.6.6.6," + std::string{text} +
                                                                 ", 10.0.0.2"}}) == "10.0.0.2");
        }
}

BOOST_AUTO_TEST_CASE(forwarded_is_read_as_its_rfc_has_it) {
    for (const auto* text :
         {"for=1.2.3.4", "For=\"1.2.3.4\"", "for=\"1.2.3.4:80\"", "proto=http;for=1.2.3.4;by=_x",
          " for=1.2.3.4 ; proto=https ", "host=\"a, for=6.6.6.6;b\";for=1.2.3.4",
          R"(host="a\", for=6.6.6.6;x=\"";for=1.2.3.4)", "for=6.6.6.6, for=1.2.3.4,",
          "for=\"1.2.3.4:_p\"", "for=1.2.3.4:80;proto=http"})
        BOOST_TEST_CONTEXT(text)
    BOOST_TEST(forwarded(text) == "1.2.3.4");
    for (const auto* text : {R"(for="[2001:db8:cafe::17]:4711")", R"(for="[2001:db8:cafe::17]:_a")",
                             R"(for="2001:db8:cafe::17")", "for=[2001:db8:cafe::17]:80;by=_x",
                             "for=2001:db8:cafe::17"}) // without the quotes that it needs
        BOOST_TEST(forwarded(text) == "2001:db8:cafe::17");
    for (const auto* text : {"",
                             "for",
                             "for=",
                             "for=;",
                             "1.2.3.4",
                             "for=unknown",
                             "for=_x",
                             "by=1.2.3.4",
                             "for=1.2.3.4;for=1.2.3.4",
                             "for=\"1.2.3.4",
                             "for=1.2.3.4\"",
                             "for=1.2.3.4 x",
                             "for=1.2.3.4;",
                             "for =1.2.3.4",
                             "for=[::1",
                             R"(for="1.2.3\.4")",
                             "for=2001:db8::g",
                             "for=\"\"",
                             "=1.2.3.4",
                             "for=\"[::1]:_\""})
        BOOST_TEST_CONTEXT(text)
    BOOST_TEST(forwarded(text) == "10.0.0.1");
}

BOOST_AUTO_TEST_CASE(two_fields_are_believed_if_they_agree) {
    const auto one = trusted_proxies{1};
    BOOST_TEST(client(one, {{xff, "1.2.3.4"}, {fwd, "for=1.2.3.4"}}) == "1.2.3.4");
    BOOST_TEST(client(one, {{xff, "::ffff:1.2.3.4"}, {fwd, "for=\"1.2.3.4:1\""}}) == "1.2.3.4");
    BOOST_TEST(client(one, {{xff, "1.2.3.4"}, {fwd, "for=6.6.6.6"}}) == "0.0.0.0");
    BOOST_TEST(client(one, {{xff, "1.2.3.4"}, {fwd, "nonsense"}}) == "0.0.0.0");
    BOOST_TEST(client(one, {{xff, "1.2.3.4"}, {fwd, " , "}}) == "1.2.3.4"); // an empty list
}

/// Whatever a client writes into the other field, it is counted as it is without it: it neither
/// gets another key nor takes the proxy's.
BOOST_AUTO_TEST_CASE(the_field_that_proxies_do_not_write_is_not_read) {
    using enum http::forwarding_field;
    auto random = test::rng{7};
    const std::string_view texts[] = {"6.6.6.6", "for=6.6.6.6", "for=\"", "unknown", ",", "x"};
    for (int i = 0; i < 1'000; ++i) {
        const auto own = "6.6.6.6, 1.2.3.4";
        auto other = std::string{random.pick(texts)};
        other.append(", ").append(random.pick(texts));
        for (const auto& t : {trusted_proxies{1, x_forwarded_for},
                              trusted_proxies{{http::network{"10.0.0.1"}}, x_forwarded_for}}) {
            BOOST_TEST(client(t, {{xff, own}, {fwd, other}}) == "1.2.3.4");
            BOOST_TEST(client(t, {{fwd, other}}) == "10.0.0.1"); // the proxy itself
        }
        const auto t = trusted_proxies{1, forwarded};
        BOOST_TEST(client(t, {{xff, other}, {fwd, "for=6.6.6.6, for=1.2.3.4"}}) == "1.2.3.4");
        BOOST_TEST(client(t, {{xff, other}}) == "10.0.0.1");
    }
    BOOST_TEST((trusted_proxies{1, forwarded} != trusted_proxies{1}));
}

/// If it is not known which one they write, a client that adds a field is never counted as the
/// proxy, as another client, or with a key of its choice.
BOOST_AUTO_TEST_CASE(an_unknown_client_has_a_key_of_its_own) {
    for (const auto& fields : {lines{{xff, "1.2.3.4"}, {fwd, "for=6.6.6.6"}},
                               lines{{xff, "6.6.6.6"}, {fwd, "for=1.2.3.4"}},
                               lines{{xff, "7.7.7.7"}, {fwd, "for=unknown"}}})
        for (const auto& t : {trusted_proxies{1}, networks({"10.0.0.0/8"})})
            BOOST_TEST(client(t, fields) == "0.0.0.0");
}

BOOST_AUTO_TEST_CASE(no_more_hops_are_followed_than_the_limit) {
    auto list = std::string{};
    for (int i = 100; i > 0; --i)
        list += "10.0.1." + std::to_string(i) + (i > 1 ? "," : "");
    const auto all = networks({"10.0.0.0/8"});
    BOOST_TEST(client(all, {{xff, list}}) == "10.0.1." + std::to_string(limits::max_proxies));
    auto fields = lines{};
    for (int i = 100; i > 0; --i)
        fields.emplace_back(xff, "10.0.1." + std::to_string(i));
    BOOST_TEST(client(all, fields) == "10.0.1." + std::to_string(limits::max_proxies));
    BOOST_TEST(client(all, {{xff, std::string(100'000, ',') + "1.2.3.4"}}) == "1.2.3.4");
}

BOOST_AUTO_TEST_CASE(no_text_of_a_client_changes_what_its_proxy_wrote) {
    auto random = test::rng{5};
    const std::string_view pieces[] = {
        "for=", "6.6.6.6", "\"", "\\",  ",",        ";", "=",    " ",
        "[",    "]",       ":",  "by=", "10.0.0.9", "x", "\x01", "unknown"};
    const std::string_view written[] = {"for=1.2.3.4", "for=\"1.2.3.4\"",
                                        "for=\"1.2.3.4:77\";proto=http",
                                        R"(by=_a;for=1.2.3.4;host="a\"b, \\")"};
    const auto trusted = {trusted_proxies{1}, networks({"10.0.0.1"})};
    for (int i = 0; i < 100'000; ++i) {
        auto spoofed = std::string{};
        for (auto n = random.below(8); n > 0; --n)
            spoofed += random.pick(pieces);
        const auto is_pairs = random.percent(70);
        const auto* const name = is_pairs ? fwd : xff;
        const auto own = std::string{is_pairs ? random.pick(written) : "1.2.3.4"};
        const auto fields = random.percent(50) ? lines{{name, spoofed}, {name, own}}
                                               : lines{{name, spoofed + ", " + own}};
        for (const auto& t : trusted)
            BOOST_TEST_REQUIRE(client(t, fields) == "1.2.3.4", spoofed);
    }
}

BOOST_AUTO_TEST_CASE(a_host_that_a_proxy_copies_into_its_element_cannot_add_an_element) {
    auto random = test::rng{6};
    const std::string_view pieces[] = {"\"", "\\", ", ", ";", "for=6.6.6.6", "x=", "a"};
    for (int i = 0; i < 100'000; ++i) {
        auto quoted = std::string{};
        for (auto n = random.below(9); n > 0; --n)
            for (const auto c : random.pick(pieces)) {
                if (c == '"' || c == '\\')
                    quoted += '\\';
                quoted += c;
            }
        const auto found = forwarded("for=1.2.3.4;host=\"" + quoted + "\"");
        BOOST_TEST_REQUIRE(found == "1.2.3.4", quoted);
    }
}

BOOST_AUTO_TEST_CASE(a_network_contains_the_addresses_with_its_prefix) {
    BOOST_TEST(contains("10.0.0.0/8", "10.255.0.1"));
    BOOST_TEST(contains("10.0.0.0/8", "::ffff:10.1.1.1"));
    BOOST_TEST(!contains("10.0.0.0/8", "11.0.0.0"));
    BOOST_TEST(contains("192.0.2.128/25", "192.0.2.255"));
    BOOST_TEST(!contains("192.0.2.128/25", "192.0.2.127"));
    BOOST_TEST(contains("192.0.2.1", "192.0.2.1"));
    BOOST_TEST(!contains("192.0.2.1", "192.0.2.2"));
    BOOST_TEST(contains("2001:db8::/33", "2001:db8:7fff::1"));
    BOOST_TEST(!contains("2001:db8::/33", "2001:db8:8000::1"));
    BOOST_TEST(contains("::ffff:10.0.0.0/104", "10.1.1.1"));
    BOOST_TEST(!contains("::/8", "10.1.1.1")); // no IPv4 address, whatever the form
    BOOST_TEST(!contains("::/8", "::ffff:10.1.1.1"));
    BOOST_TEST(contains("::/8", "::1"));
    BOOST_TEST(!contains("::1", "0.0.0.1"));
}

BOOST_AUTO_TEST_CASE(what_is_no_network_is_refused_with_the_reason) {
    for (const auto* text : {"", "/8", "localhost", "10.0.0/8", "10.0.0.0:80", "[::1]"})
        BOOST_TEST(refusal(text) == "invalid network (got '" + std::string{text} +
                                        "', expected an address or a network, such as 10.0.0.0/8 "
                                        "or 2001:db8::/32)");
    for (const auto* text :
         {"10.0.0.0/", "10.0.0.0/0", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/-1"})
        BOOST_TEST(refusal(text) == "invalid network (got '" + std::string{text} +
                                        "', expected a prefix length of 1 to 32)");
    BOOST_TEST(refusal("::/0") ==
               "invalid network (got '::/0', expected a prefix length of 1 to 128)");
    for (const auto* text : {"10.0.0.1/8", "10.0.0.128/24", "2001:db8::1/127"})
        BOOST_TEST(refusal(text) ==
                   "invalid network (got '" + std::string{text} +
                       "', expected an address of which all bits after the prefix are 0)");
}

BOOST_AUTO_TEST_CASE(addresses_of_nat64_are_those_of_ipv4) {
    const auto v6 = [](const char* text) { return boost::asio::ip::make_address(text); };
    BOOST_TEST(network{"10.0.0.0/8"}.contains(v6("64:ff9b::10.1.2.3")));
    BOOST_TEST(network{"64:ff9b::10.0.0.0/104"}.contains(v6("10.1.2.3")));
    BOOST_TEST(!network{"64:ff9b::10.0.0.0/104"}.contains(v6("11.1.2.3")));
    BOOST_TEST(!network{"64:ff9b::/32"}.contains(v6("64:ff9b::10.1.2.3")));
    BOOST_TEST(network{"64:ff9b::/32"}.contains(v6("64:ff9b:1::1")));
    const auto trusted = networks({"10.0.0.1"});
    BOOST_TEST(client(trusted, {{xff, "198.51.100.7, 64:ff9b::10.0.0.1"}}) == "198.51.100.7");
}

BOOST_AUTO_TEST_CASE(a_network_has_no_interface) {
    BOOST_TEST(test::refusal(errc::invalid_config, [] { (void)network{"fe80::1%eth0"}; }) ==
               "invalid network (got 'fe80::1%eth0', expected an address or a network, such as "
               "10.0.0.0/8 or 2001:db8::/32)");
}

/// All addresses in one network are refused, and so they are in several, or in another form.
BOOST_AUTO_TEST_CASE(networks_with_most_addresses_are_refused) {
    const auto refused = [](const std::vector<std::string>& texts) {
        return test::refusal(errc::invalid_config, [&] { (void)networks(texts); });
    };
    const std::string start =
        "networks of trusted proxies: too large (expected less than half of the ";
    const auto v4 = start + "IPv4 addresses)";
    const auto v6 = start + "global IPv6 addresses)";
    BOOST_TEST(refused({"0.0.0.0/1"}) == v4);
    BOOST_TEST(refused({"10.0.0.0/8", "128.0.0.0/1", "0.0.0.0/1"}) == v4);
    BOOST_TEST(refused({"::ffff:0.0.0.0/96"}) == v4);
    BOOST_TEST(refused({"0.0.0.0/2", "::ffff:128.0.0.0/98"}) == v4);
    BOOST_TEST(refused({"64:ff9b::/96"}) == v4); // all of IPv4, behind NAT64
    BOOST_TEST(refused({"::/1"}) == v6);
    BOOST_TEST(refused({"8000::/1", "::/1"}) == v6);
    BOOST_TEST(refused({"2000::/3"}) == v6);
    BOOST_TEST(refused({"2000::/5", "2800::/5"}) == v6);
    auto bytes = std::vector<std::string>{};
    for (int i = 0; i < 128; ++i)
        bytes.push_back(std::to_string(i) + ".0.0.0/8");
    BOOST_TEST(refused(bytes) == v4);

    bytes.pop_back();
    for (int i = 0; i < 100; ++i)
        bytes.push_back(bytes.front()); // twice is not more
    BOOST_TEST(refused(bytes) == "not refused");
    BOOST_TEST(refused({"64.0.0.0/2", "64.0.0.0/3", "65.0.0.0/8"}) == "not refused");
    BOOST_TEST(refused({"8000::/1", "fc00::/7", "fe80::/10", "10.0.0.0/8"}) == "not refused");
    BOOST_TEST(refused({"2000::/5", "2000::/5", "2001:db8::/32", "64.0.0.0/2"}) == "not refused");
}

BOOST_AUTO_TEST_CASE(numbers_out_of_range_are_refused) {
    const auto refused = [](auto of) {
        return test::refusal(errc::invalid_config, [&of] { trusted_proxies{of}; });
    };
    BOOST_TEST(refused(-1) == "trusted proxies: out of range (got -1, expected 0 to 32)");
    BOOST_TEST(refused(33) == "trusted proxies: out of range (got 33, expected 0 to 32)");
    BOOST_TEST(refused(32) == "not refused");
    BOOST_TEST((trusted_proxies{std::vector<http::network>(256, http::network{"::1"})} !=
                trusted_proxies{}));
    const auto many = std::vector<http::network>(257, http::network{"::1"});
    BOOST_TEST(refused(many) ==
               "networks of trusted proxies: out of range (got 257, expected 0 to 256)");
}

BOOST_AUTO_TEST_SUITE_END()
