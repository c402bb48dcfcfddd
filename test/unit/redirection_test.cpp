// SPDX-License-Identifier: BSL-1.0
//
// MOVED and ASK: all forms of addresses that servers send, and nothing that only resembles them.

#include <redis/cluster/redirection.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(redirections)

namespace {

using colimit::redis::host_port;
using colimit::redis::read_redirection;
using colimit::redis::redirection;
using colimit::redis::redirection_kind;

constexpr std::string_view sender = "10.0.0.9";

void check(std::string_view text, redirection_kind kind, std::uint16_t slot,
           const host_port& target) {
    const auto read = read_redirection(text, sender);
    BOOST_TEST_CONTEXT(text) {
        BOOST_TEST_REQUIRE(read.has_value());
        BOOST_TEST((*read == redirection{kind, slot, target}));
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_redirection_names_a_slot_and_a_node) {
    using enum redirection_kind;
    check("MOVED 3999 127.0.0.1:6381", moved, 3999, {"127.0.0.1", 6381});
    check("ASK 3999 127.0.0.1:6381", ask, 3999, {"127.0.0.1", 6381});
    check("MOVED 0 a:1", moved, 0, {"a", 1});
    check("MOVED 16383 redis-0.redis_headless.svc:65535", moved, 16383,
          {"redis-0.redis_headless.svc", 65535});
    check("ASK 1 ::1:6381", ask, 1, {"::1", 6381});
}

BOOST_AUTO_TEST_CASE(without_a_host_the_node_has_that_of_the_one_that_replied) {
    using enum redirection_kind;
    check("MOVED 3999 :6381", moved, 3999, {std::string{sender}, 6381});
    BOOST_TEST(!read_redirection("MOVED 3999 :6381", "").has_value());
}

/// The sender has a host, and the target is another node, perhaps with the same port.
BOOST_AUTO_TEST_CASE(a_node_without_a_host_name_is_not_taken_for_the_one_that_replied) {
    using enum redirection_kind;
    check("MOVED 3999 ?:6381", moved, 3999, {"", 6381});
    check("ASK 3999 ?:6381", ask, 3999, {"", 6381});
}

BOOST_AUTO_TEST_CASE(a_text_that_only_resembles_a_redirection_is_none) {
    for (const auto* text : {"",
                             "MOVED",
                             "MOVED ",
                             "MOVED 3999",
                             "MOVED 3999 ",
                             "MOVED 3999 a",
                             "MOVED 3999 a:",
                             "MOVED 3999 a:0",
                             "MOVED 3999 a:01",
                             "MOVED 3999 a:65536",
                             "MOVED 3999 a:99999999999999999999",
                             "MOVED 3999 a:+1",
                             "MOVED 3999 a:-1",
                             "MOVED 3999 a:1 ",
                             "MOVED 3999 a:1 b",
                             "MOVED 3999 a b:1",
                             "MOVED 3999  a:1",
                             "MOVED  3999 a:1",
                             " MOVED 3999 a:1",
                             "MOVED 3999 [::1]:1",
                             "MOVED 3999 a\r:1",
                             "MOVED 3999 user@a:1",
                             "MOVED 3999 a/b:1",
                             "MOVED 3999 .a:1",
                             "MOVED 3999 fe80::1%eth0:1",
                             "MOVED 16384 a:1",
                             "MOVED -1 a:1",
                             "MOVED 03999 a:1",
                             "MOVED +1 a:1",
                             "MOVED x a:1",
                             "MOVED 1x a:1",
                             "MOVED  a:1",
                             "moved 3999 a:1",
                             "MOVEDX 3999 a:1",
                             "ASKING 3999 a:1",
                             "TRYAGAIN Multiple keys request during rehashing of slot",
                             "CLUSTERDOWN Hash slot not served"})
        BOOST_TEST(!read_redirection(text, sender).has_value(), text);
    BOOST_TEST(!read_redirection("MOVED 1 " + std::string(254, 'a') + ":1", sender).has_value());
    BOOST_TEST(read_redirection("MOVED 1 " + std::string(253, 'a') + ":1", sender).has_value());
}

BOOST_AUTO_TEST_CASE(a_changed_text_is_none_or_names_a_valid_node) {
    auto random = colimit::test::rng{2};
    auto valid = 0;
    for (int i = 0; i < 100'000; ++i) {
        auto text = std::string{random.percent(50) ? "MOVED 3999 127.0.0.1:6381" : "ASK 7 ::1:80"};
        for (auto changes = 1 + random.below(3); changes > 0; --changes) {
            const auto at = random.below(text.size());
            if (random.percent(30))
                text.erase(at, 1);
            else
                text[at] =
                    static_cast<char>(random.percent(50) ? random.bits() : 32 + random.below(95));
        }
        const auto read = read_redirection(text, sender);
        if (!read)
            continue;
        ++valid;
        BOOST_TEST_REQUIRE(read->slot < 16384U);
        BOOST_TEST_REQUIRE(read->target.port != 0U);
        const auto& host = read->target.host;
        BOOST_TEST_REQUIRE((host.empty() || colimit::redis::is_host(host)));
    }
    BOOST_TEST(valid > 1'000);
}

BOOST_AUTO_TEST_SUITE_END()
