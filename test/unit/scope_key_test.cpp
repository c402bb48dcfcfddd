// SPDX-License-Identifier: BSL-1.0
//
// Keys by scope: different ones never give the same bytes, and one address has one key, in whatever
// way it is written.

#include <colimit/error.hpp>
#include <colimit/key.hpp>
#include <colimit/limiter.hpp>
#include <support/coroutine_run.hpp>
#include <support/refusal.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(scope_keys)

namespace {

using namespace colimit;
using namespace std::string_view_literals;
namespace ip = boost::asio::ip;

[[nodiscard]] std::string text(const scoped_key& k) {
    return std::string{k.view()};
}

[[nodiscard]] std::string of_address(std::string_view client, address_prefixes bits = {}) {
    return text(key::address(client, bits));
}

/// The kinds of parts.
enum : int { global_scope, user_scope, route_part, other_part, common_tag };

/// A scope and its parts, by kind and text, which a key must distinguish. A tag comes last.
using meaning = std::vector<std::pair<int, std::string>>;

[[nodiscard]] scoped_key built(const meaning& m) {
    auto k = m[0].first == global_scope ? key::global() : key::user(m[0].second);
    for (std::size_t i = 1; i < m.size(); ++i) {
        const auto& [kind, bytes] = m[i];
        k = kind == route_part   ? k.route(bytes)
            : kind == other_part ? k.part(bytes)
                                 : k.tagged(bytes);
    }
    return k;
}

/// Few bytes, most of them with a meaning, so that keys that could collide are drawn.
struct random_meanings {
    test::rng random{7};

    [[nodiscard]] std::string bytes() {
        constexpr auto letters = ";=%#a3B25:/\0\n\xff"sv;
        auto out = std::string(random.below(6), ' ');
        if (random.below(20) == 0)
            out.resize(limits::max_key_part_bytes - 3 + random.below(6));
        for (auto& c : out)
            c = letters[random.below(letters.size())];
        return out;
    }

    [[nodiscard]] meaning next() {
        auto m = meaning{{random.percent(50) ? global_scope : user_scope, ""}};
        if (m[0].first == user_scope)
            m[0].second = bytes();
        for (auto n = random.below(5); n > 0; --n)
            m.emplace_back(random.percent(50) ? route_part : other_part, bytes());
        if (random.percent(50))
            m.emplace_back(common_tag, bytes());
        return m;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_key_is_readable) {
    BOOST_TEST(text(key::global()) == "global");
    BOOST_TEST(text(key::user("42").part("eu")) == "user=42;part=eu");
    BOOST_TEST(text(key::user("42").route("/login")) == "user=42;route=/login");
    BOOST_TEST(text(key::address(ip::make_address("2001:db8:0:7::1")).route("/login")) ==
               "ip=2001:db8:0:7::/64;route=/login");
}

BOOST_AUTO_TEST_CASE(a_key_serves_wherever_a_text_does) {
    const std::string_view view = key::global();
    BOOST_TEST(view.size() == 6);
    BOOST_TEST((key::user("a") == key::user("a")));
    BOOST_TEST(!(key::user("a") == key::user("b")));
}

BOOST_AUTO_TEST_CASE(different_scopes_and_parts_never_give_the_same_bytes) {
    auto roll = random_meanings{};
    auto seen = std::map<std::string, meaning>{};
    auto collisions = 0;
    for (int i = 0; i < 200'000; ++i) {
        auto m = roll.next();
        const auto [found, is_new] = seen.try_emplace(text(built(m)), m);
        if (!is_new && found->second != m)
            ++collisions;
    }
    BOOST_TEST(collisions == 0);
    BOOST_TEST(seen.size() > 100'000);
}

BOOST_AUTO_TEST_CASE(a_tag_is_the_first_part_and_the_last_one_given_whenever_it_is_given) {
    const auto plain = key::user("a").route("/x").part("eu");
    BOOST_TEST(text(plain.tagged("t")) == "tag=t;user=a;route=/x;part=eu");
    BOOST_TEST((key::user("a").tagged("t").route("/x").part("eu") == plain.tagged("t")));
    BOOST_TEST((plain.tagged("s").tagged("t") == plain.tagged("t")));
    BOOST_TEST(text(key::global().tagged("")) == "tag=;global");
    BOOST_TEST(text(key::user("a").tagged("b;c=%")) == "tag=b%3Bc=%25;user=a");
    BOOST_TEST(text(key::address("::1").tagged("t")) == "tag=t;ip=::/64");
    const auto long_tag =
        text(key::user("a").tagged(std::string(limits::max_key_part_bytes + 1, 't')));
    BOOST_TEST(long_tag.starts_with("tag#"));
    BOOST_TEST(long_tag.size() == "tag#;user=a"sv.size() + 32);
}

BOOST_AUTO_TEST_CASE(the_digests_of_long_keys_do_not_depend_on_when_the_tag_is_given) {
    auto roll = random_meanings{};
    for (int i = 0; i < 2'000; ++i) {
        auto m = roll.next();
        if (m.back().first == common_tag)
            m.pop_back();
        for (auto n = 1 + roll.random.below(3); n > 0; --n)
            m.emplace_back(other_part, std::string(60 + roll.random.below(80), 'p'));
        const auto tag = std::string(roll.random.below(140), 't');
        auto first = m;
        first.insert(first.begin() + 1, {common_tag, tag});
        m.emplace_back(common_tag, tag);
        BOOST_TEST_REQUIRE(text(built(first)) == text(built(m)));
    }
}

BOOST_AUTO_TEST_CASE(the_order_the_kind_and_the_emptiness_of_parts_count) {
    const auto u = key::user("a");
    BOOST_TEST(text(u.part("x").part("y")) != text(u.part("y").part("x")));
    BOOST_TEST(text(u.part("x")) != text(u.route("x")));
    BOOST_TEST(text(u.part("")) != text(u));
    BOOST_TEST(text(u.part("").part("")) != text(u.part("")));
    BOOST_TEST(text(key::user("")) != text(key::global()));
    BOOST_TEST(text(key::user("1.2.3.4")) != of_address("1.2.3.4"));
}

BOOST_AUTO_TEST_CASE(separators_and_any_other_bytes_are_data) {
    BOOST_TEST(text(key::user("a;part=b")) == "user=a%3Bpart=b");
    BOOST_TEST(text(key::user("a%3Bpart=b")) == "user=a%253Bpart=b");
    BOOST_TEST(text(key::user("a\0b\r\n"sv)) == "user=a\0b\r\n"sv);
}

BOOST_AUTO_TEST_CASE(a_digest_stands_for_a_long_part_and_the_others_stay_readable) {
    const auto fits = std::string(limits::max_key_part_bytes, 'r');
    BOOST_TEST(text(key::user("a").route(fits)) == "user=a;route=" + fits);
    const auto k = text(key::user("a").route(fits + "r").part("eu"));
    BOOST_TEST(k.size() == "user=a;route#;part=eu"sv.size() + 32);
    BOOST_TEST(k.starts_with("user=a;route#"));
    BOOST_TEST(k.ends_with(";part=eu"));
    // One that is long only when it is escaped, and one of the same digest's digits.
    BOOST_TEST(text(key::user(std::string(50, ';'))).starts_with("user#"));
    BOOST_TEST(text(key::user(k.substr(13, 32))) != text(key::user(fits + "r")));
}

BOOST_AUTO_TEST_CASE(any_key_takes_an_address_in_its_canonical_form) {
    const auto u = key::user("a").route("/x");
    BOOST_TEST(text(u.address("2001:DB8:0:7:0::1")) == "user=a;route=/x;ip=2001:db8:0:7::/64");
    BOOST_TEST((u.address("2001:db8:0:7::9") == u.address(ip::make_address("2001:db8:0:7::1"))));
    BOOST_TEST(text(key::global().address("::ffff:192.0.2.1")) == "global;ip=192.0.2.1");
    BOOST_TEST(text(u.address("192.0.2.77", {.v4 = 24})) == "user=a;route=/x;ip=192.0.2.0/24");
    BOOST_TEST(text(u.address("192.0.2.1")) != text(u.part("192.0.2.1")));
    BOOST_CHECK_THROW((void)u.address("192.0.2.1:80"), error);
}

BOOST_AUTO_TEST_CASE(keys_stay_within_what_is_stored_as_it_is_however_many_parts_they_have) {
    const auto part = std::string(limits::max_key_part_bytes, 'p');
    auto k = key::user("a");
    auto seen = std::map<std::string, int>{};
    for (int i = 0; i < 50; ++i) {
        k = k.part(part);
        BOOST_TEST(k.view().size() <= limits::plain_key_bytes);
        BOOST_TEST((seen.try_emplace(text(k)).second));
    }
    BOOST_TEST(text(k).starts_with("all#"));
    BOOST_TEST(text(key::user("a").part(std::string(100'000, 'x'))).size() < 60U);
}

BOOST_AUTO_TEST_CASE(an_address_has_one_key_in_whatever_way_it_is_written) {
    constexpr auto whole = address_prefixes{.v6 = 128};
    for (const auto* way : {"2001:db8::a", "2001:DB8::A", "2001:0db8:0000:0000:0000:0000:0000:000a",
                            "2001:db8:0:0::a", "2001:db8::0:a"})
        BOOST_TEST(of_address(way, whole) == "ip=2001:db8::a");
    BOOST_TEST(of_address("0:0:0:0:0:0:0:0", whole) == "ip=::");
}

BOOST_AUTO_TEST_CASE(an_ipv4_address_in_ipv6_form_is_the_ipv4_address) {
    for (const auto* way :
         {"192.0.2.1", "::ffff:192.0.2.1", "::FFFF:c000:201", "0:0:0:0:0:ffff:192.0.2.1"})
        BOOST_TEST(of_address(way) == "ip=192.0.2.1");
    BOOST_TEST(of_address("::ffff:192.0.2.1", {.v4 = 24}) == "ip=192.0.2.0/24");
    BOOST_TEST(of_address("::fffe:c000:201", {.v6 = 128}) != "ip=192.0.2.1");
    BOOST_TEST(text(key::address(ip::make_address("::ffff:192.0.2.1"))) == "ip=192.0.2.1");
}

BOOST_AUTO_TEST_CASE(ipv6_addresses_share_a_key_by_their_first_64_bits) {
    BOOST_TEST(of_address("2001:db8:1:2:3:4:5:6") == of_address("2001:db8:1:2:ffff::"));
    BOOST_TEST(of_address("2001:db8:1:2::") != of_address("2001:db8:1:3::"));
    BOOST_TEST(of_address("::1") == "ip=::/64");
}

BOOST_AUTO_TEST_CASE(a_prefix_may_end_within_a_byte_and_be_none_or_all) {
    BOOST_TEST(of_address("2001:db8:ffff:ffff::", {.v6 = 49}) == "ip=2001:db8:ffff:8000::/49");
    BOOST_TEST(of_address("2001:db8:ffff:ffff::", {.v6 = 48}) == "ip=2001:db8:ffff::/48");
    BOOST_TEST(of_address("2001:db8::1", {.v6 = 0}) == "ip=::/0");
    BOOST_TEST(of_address("2001:db8::1", {.v6 = 127}) == "ip=2001:db8::/127");
    BOOST_TEST(of_address("192.0.2.255", {.v4 = 31}) == "ip=192.0.2.254/31");
    BOOST_TEST(of_address("192.0.2.255", {.v4 = 0}) == "ip=0.0.0.0/0");
}

BOOST_AUTO_TEST_CASE(networks_of_different_sizes_are_different_keys) {
    BOOST_TEST(of_address("2001:db8::", {.v6 = 64}) != of_address("2001:db8::", {.v6 = 48}));
    BOOST_TEST(of_address("10.0.0.0", {.v4 = 8}) != of_address("10.0.0.0"));
}

BOOST_AUTO_TEST_CASE(the_interface_of_a_link_local_address_does_not_count) {
    for (const auto* const interface : {"%eth0", "%1", "%25eth0", "%eth0%1", "% ", "%a:b"})
        BOOST_TEST(of_address("fe80::1" + std::string{interface}) == of_address("fe80::1"),
                   interface);
    BOOST_TEST(of_address("FEBF::1%x") == "ip=febf::1");
    auto scoped = ip::make_address_v6("fe80::1");
    scoped.scope_id(3);
    BOOST_TEST(text(key::address(scoped)) == of_address("fe80::1"));
}

/// Asio takes one after every IPv6 address. It says nothing there, so a text that has it is not
/// what it seems to be; of an address that a socket has, the key is that of the address.
BOOST_AUTO_TEST_CASE(the_interface_of_another_address_is_refused) {
    for (const auto* const no :
         {"2001:db8::1%eth0", "fc00::1%eth0", "fec0::1%eth0", "::1%lo", "ff02::1%eth0",
          "::ffff:192.0.2.1%eth0", "192.0.2.1%eth0", "192.0.2.1%a:b", "64:ff9b::192.0.2.1%eth0"})
        BOOST_TEST(test::refusal(errc::invalid_key, [no] { (void)key::address(no); })
                       .ends_with("without a port or brackets, and without an interface unless it "
                                  "is link-local (got '" +
                                  std::string{no} + "')"),
                   no);
    BOOST_TEST(ip::make_address_v6("2001:db8::1%7").scope_id() == 7U);
    BOOST_TEST(text(key::address(ip::make_address("2001:db8::1%7"))) == of_address("2001:db8::1"));
}

/// Clients that have nothing in common but where they are must not share a key.
BOOST_AUTO_TEST_CASE(hosts_of_a_link_and_clients_of_nat64_have_keys_of_their_own) {
    BOOST_TEST(of_address("fe80::1") == "ip=fe80::1");
    BOOST_TEST(of_address("fe80::1") != of_address("fe80::2"));
    BOOST_TEST(text(key::address("fe80::1", {.v6 = 8})) == "ip=fe00::/8");
    BOOST_TEST(of_address("64:ff9b::192.0.2.1") == "ip=192.0.2.1");
    BOOST_TEST(of_address("64:ff9b::c000:202") == of_address("192.0.2.2"));
    BOOST_TEST(text(key::address("64:ff9b::192.0.2.1", {.v4 = 24})) == "ip=192.0.2.0/24");
    BOOST_TEST(of_address("64:ff9b::1:192.0.2.1") == "ip=64:ff9b::/64"); // another network
}

BOOST_AUTO_TEST_CASE(what_is_no_address_is_refused_with_the_reason) {
    for (const auto no : {""sv, "localhost"sv, "1.2.3"sv, "1.2.3.256"sv, "01.2.3.4"sv,
                          "1.2.3.4:80"sv, "[::1]"sv, "::1::"sv, "1.2.3.4\0"sv, " 1.2.3.4"sv,
                          "1.2.3.4/24"sv, "1.2.3.4%eth0"sv, "fe80::1%"sv, "12345::"sv}) {
        const auto refused = [no] { (void)key::address(no); };
        BOOST_CHECK_EXCEPTION(refused(), error, [](const error& e) {
            return e.code() == errc::invalid_key && e.reason().find("IPv4") != std::string::npos;
        });
    }
    const auto binary = std::string(1000, '\x1b');
    BOOST_CHECK_EXCEPTION((void)key::address(binary), error, [](const error& e) {
        return e.reason().find('\x1b') == std::string::npos && e.reason().size() < 250;
    });
}

BOOST_AUTO_TEST_CASE(a_prefix_out_of_its_range_is_refused_with_the_range) {
    const auto refusal = [](address_prefixes bits) {
        return test::refusal(errc::invalid_argument,
                             [bits] { (void)key::address("1.2.3.4", bits); });
    };
    for (const auto bits : {33, -1})
        BOOST_TEST(refusal({.v4 = bits}) == "address_prefixes::v4: out of range (got " +
                                                std::to_string(bits) + ", expected 0 to 32)");
    for (const auto bits : {129, -1})
        BOOST_TEST(refusal({.v6 = bits}) == "address_prefixes::v6: out of range (got " +
                                                std::to_string(bits) + ", expected 0 to 128)");
}

BOOST_AUTO_TEST_CASE(a_key_made_in_the_same_expression_lives_until_its_call_is_initiated) {
    auto context = boost::asio::io_context{1};
    auto limiter = colimit::limiter{context.get_executor(), "memory:"};
    const auto rules = policy{"p", gcra(2, std::chrono::hours{1})};
    test::run(context, [&]() -> boost::asio::awaitable<void> {
        const auto client = ip::make_address("2001:db8::1");
        auto d = co_await limiter.allow(key::address(client).route("/x").part("eu"), rules);
        BOOST_TEST(d.remaining == 1);
        d = co_await limiter.allow("ip=2001:db8::/64;route=/x;part=eu", rules);
        BOOST_TEST(d.remaining == 0);
        d = co_await limiter.allow(key::address("2001:db8::2").route("/x"), rules);
        BOOST_TEST(d.remaining == 1);
    });
}

BOOST_AUTO_TEST_SUITE_END()
