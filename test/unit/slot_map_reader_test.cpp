// SPDX-License-Identifier: BSL-1.0
//
// Replies of CLUSTER SLOTS: those of all versions of servers, the largest that a cluster can send,
// and those that are not a map: each is an error that says why.

#include <redis/cluster/slot_map_reader.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(slot_map_readers)

namespace {

using namespace colimit::redis;
using colimit::test::rng;
using resp::progress;

[[nodiscard]] std::string number(std::int64_t n) {
    return ":" + std::to_string(n) + "\r\n";
}

[[nodiscard]] std::string bulk(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string{text} + "\r\n";
}

[[nodiscard]] std::string array(std::initializer_list<std::string> elements) {
    auto out = "*" + std::to_string(elements.size()) + "\r\n";
    for (const auto& e : elements)
        out += e;
    return out;
}

const auto id = bulk(std::string(40, 'a'));

[[nodiscard]] std::string text_of_node(std::string_view host, std::int64_t port) {
    return array({bulk(host), number(port), id, array({})});
}

/// A cluster of three masters with a replica each, as Redis 7 describes it.
[[nodiscard]] std::string usual_reply() {
    return array({array({number(0), number(5'460), text_of_node("10.0.0.1", 7'000),
                         text_of_node("10.0.0.4", 7'003)}),
                  array({number(5'461), number(10'922), text_of_node("10.0.0.2", 7'001),
                         text_of_node("10.0.0.5", 7'004)}),
                  array({number(10'923), number(16'383), text_of_node("10.0.0.3", 7'002),
                         text_of_node("10.0.0.6", 7'005)})});
}

/// A reply with one range, whose master is given.
[[nodiscard]] std::string reply_with(const std::string& master) {
    return array({array({number(0), number(9), master})});
}

/// The result of a complete reply.
[[nodiscard]] slot_map_result read(std::string_view bytes) {
    auto decoder = resp::decoder{resp::decoder::long_bulks::empty, map_bounds};
    BOOST_TEST_REQUIRE((decoder.feed(bytes) == progress::complete));
    BOOST_TEST(decoder.consumed() == bytes.size());
    return read_slot_map(decoder, bytes, "asked");
}

[[nodiscard]] std::string problem_of(std::string_view bytes) {
    const auto result = read(bytes);
    BOOST_TEST(!result.map.has_value());
    return result.problem;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_usual_reply_is_a_map) {
    const auto result = read(usual_reply());
    BOOST_TEST_REQUIRE(result.map.has_value(), result.problem);
    const auto expected = slot_map{{{"10.0.0.1", 7'000}, {"10.0.0.2", 7'001}, {"10.0.0.3", 7'002}},
                                   {{"10.0.0.4", 7'003}, {"10.0.0.5", 7'004}, {"10.0.0.6", 7'005}},
                                   {{0, 5'460, 0}, {5'461, 10'922, 1}, {10'923, 16'383, 2}}};
    BOOST_TEST((*result.map == expected));
}

BOOST_AUTO_TEST_CASE(what_follows_a_reply_is_not_read) {
    auto decoder = resp::decoder{};
    const auto bytes = usual_reply() + "*1\r\n*3\r\n:16384\r\n";
    BOOST_TEST_REQUIRE((decoder.feed(bytes) == progress::complete));
    const auto result = read_slot_map(decoder, bytes, "asked");
    BOOST_TEST((result.map == read(usual_reply()).map));
}

BOOST_AUTO_TEST_CASE(nodes_have_two_three_or_four_elements_and_the_rest_is_not_read) {
    const auto expected = slot_map{{{"h", 1}}, {}, {{0, 9, 0}}};
    const auto further_facts = {
        array({bulk("h"), number(1)}),
        array({bulk("h"), number(1), id}),
        array({bulk("h"), number(1), id, array({})}),
        array({bulk("h"), number(1), id, array({bulk("ip"), bulk("10.0.0.1")})}),
        array({bulk("h"), number(1), id, "%1\r\n" + bulk("ip") + bulk("10.0.0.1")}), // RESP3
        array({bulk("h"), number(1), id, "%0\r\n"}),
        array({bulk("h"), number(1), array({array({number(-1), array({})})}), "_\r\n"}),
    };
    for (const auto& master : further_facts) {
        const auto result = read(reply_with(master));
        BOOST_TEST_REQUIRE(result.map.has_value(), result.problem);
        BOOST_TEST((*result.map == expected));
        // A replica after it is found.
        const auto replica = array({bulk("r"), number(2)});
        const auto both = read(array({array({number(0), number(9), master, replica})}));
        BOOST_TEST_REQUIRE(both.map.has_value(), both.problem);
        BOOST_TEST((*both.map == slot_map{{{"h", 1}}, {{"r", 2}}, {{0, 9, 0}}}));
    }
}

BOOST_AUTO_TEST_CASE(an_unknown_host_is_that_of_the_node_that_was_asked) {
    const auto facts = array({bulk("ip"), bulk("10.0.0.1")});
    for (const auto& host : {std::string{"$-1\r\n"}, std::string{"_\r\n"}, bulk("")})
        for (const auto& node :
             {array({host, number(7'000), id}), array({host, number(7'000), id, facts})}) {
            const auto result = read(reply_with(node));
            BOOST_TEST_REQUIRE(result.map.has_value(), result.problem);
            BOOST_TEST((*result.map->owner(0) == host_port{"asked", 7'000}));
        }
}

/// Host names are preferred, and a node has none: its address is among the facts.
BOOST_AUTO_TEST_CASE(a_node_without_a_host_name_has_the_address_that_its_facts_name) {
    const auto host_of = [](const std::string& facts) {
        const auto result = read(reply_with(array({bulk("?"), number(7'000), id, facts})));
        return result.map ? result.map->owner(0)->host : result.problem;
    };
    const auto named = bulk("hostname") + bulk("h");
    const auto address = bulk("ip") + bulk("10.0.0.7");
    BOOST_TEST(host_of("*2\r\n" + address) == "10.0.0.7");
    BOOST_TEST(host_of("*4\r\n" + named + address) == "10.0.0.7");
    BOOST_TEST(host_of("%2\r\n" + named + address) == "10.0.0.7");
    // The node that was asked may not know its own.
    for (const auto& without : {std::string{"*0\r\n"}, "*2\r\n" + named, "*1\r\n" + bulk("ip"),
                                "*2\r\n" + bulk("ip") + bulk(""), "*2\r\n" + bulk("ip") + "_\r\n",
                                bulk("ip"), "*2\r\n" + number(1) + address.substr(0, 8)})
        BOOST_TEST(host_of(without) == "asked");
    BOOST_TEST(host_of("*2\r\n" + bulk("ip") + bulk("a b")) ==
               "range 1: a host that is neither a name nor an IP address");
}

/// As a node that lost its disk is in the maps of the others, and one with a mistake in its
/// configuration.
BOOST_AUTO_TEST_CASE(a_node_that_cannot_be_reached_is_left_out_and_the_rest_is_a_map) {
    const auto lost = {text_of_node("", 0), text_of_node("10.0.0.9", 0), text_of_node("a b", 1),
                       array({std::string{"$-1\r\n"}, number(0), id, array({})})};
    const auto good = array({number(0), number(9), text_of_node("m", 1), text_of_node("r", 1)});
    const auto expected = slot_map{{{"m", 1}}, {{"r", 1}}, {{0, 9, 0}}};
    for (const auto& node : lost) {
        const auto as_master = read(array({good, array({number(10), number(19), node})}));
        BOOST_TEST_REQUIRE(as_master.map.has_value(), as_master.problem);
        BOOST_TEST((*as_master.map == expected));
        const auto first = read(array({array({number(10), number(19), node}), good}));
        BOOST_TEST_REQUIRE(first.map.has_value(), first.problem);
        BOOST_TEST((*first.map == expected));
        for (const auto& replicas : {node + text_of_node("r", 1), text_of_node("r", 1) + node}) {
            const auto both =
                read("*1\r\n*5\r\n" + number(0) + number(9) + text_of_node("m", 1) + replicas);
            BOOST_TEST_REQUIRE(both.map.has_value(), both.problem);
            BOOST_TEST((*both.map == expected));
        }
        // Its replica is known, and may be asked for the map.
        const auto left =
            read(array({good, array({number(10), number(19), node, text_of_node("s", 1)})}));
        BOOST_TEST_REQUIRE(left.map.has_value(), left.problem);
        BOOST_TEST((*left.map == slot_map{{{"m", 1}}, {{"r", 1}, {"s", 1}}, {{0, 9, 0}}}));
        // Its slots are its own.
        BOOST_TEST(problem_of(array({good, array({number(9), number(19), node})})) ==
                   "range 2: slot 9 is in another range, too");
    }
}

BOOST_AUTO_TEST_CASE(a_map_has_the_ids_of_its_nodes_once) {
    const auto node = [](std::string_view host, const std::string& its_id) {
        return array({bulk(host), number(1), its_id});
    };
    const auto result = read(array(
        {array({number(0), number(0), node("m", bulk("B")), node("r", bulk("A"))}),
         array({number(1), number(1), node("n", bulk("C")), node("r", bulk("A")),
                node("s", bulk("")), node("t", number(1)), node("u", bulk(std::string(65, 'x')))}),
         array({number(2), number(2), array({bulk("m"), number(1)})})}));
    BOOST_TEST_REQUIRE(result.map.has_value(), result.problem);
    BOOST_TEST(result.ids == (std::vector<std::string>{"A", "B", "C"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(slots_without_an_owner_and_a_cluster_without_slots_are_valid) {
    BOOST_TEST((*read("*0\r\n").map == slot_map{}));
    const auto gaps = read(array({array({number(5), number(5), text_of_node("a", 1)}),
                                  array({number(7), number(9), text_of_node("a", 1)})}));
    BOOST_TEST((*gaps.map == slot_map{{{"a", 1}}, {}, {{5, 5, 0}, {7, 9, 0}}}));
}

BOOST_AUTO_TEST_CASE(ranges_may_come_in_any_order_and_a_master_may_be_a_replica_elsewhere) {
    const auto result = read(
        array({array({number(100), number(199), text_of_node("b", 1), text_of_node("a", 1)}),
               array({number(0), number(99), text_of_node("a", 1), text_of_node("c", 1)}),
               array({number(200), number(200), text_of_node("b", 1), text_of_node("c", 1)})}));
    BOOST_TEST(
        (*result.map == slot_map{{{"a", 1}, {"b", 1}}, {{"c", 1}}, {{0, 99, 0}, {100, 200, 1}}}));
}

BOOST_AUTO_TEST_CASE(the_problem_of_a_reply_that_is_not_a_map_is_named) {
    const auto node = text_of_node("a", 1);
    const auto range = [&](std::int64_t first, std::int64_t last) {
        return array({number(first), number(last), node});
    };
    BOOST_TEST(problem_of("+OK\r\n") == "expected an array of ranges, got a status");
    BOOST_TEST(problem_of("$-1\r\n") == "expected an array of ranges, got null");
    BOOST_TEST(problem_of("*-1\r\n") == "expected an array of ranges, got null");
    BOOST_TEST(problem_of("%0\r\n") == "expected an array of ranges, got a map");
    BOOST_TEST(problem_of(array({number(1)})) == "range 1: expected an array, got an integer");
    BOOST_TEST(problem_of(array({range(0, 1), array({})})) ==
               "range 2: expected its first and last slot and its master, got 0 values");
    BOOST_TEST(problem_of(array({array({number(0), number(1)})})) ==
               "range 1: expected its first and last slot and its master, got 2 values");
    BOOST_TEST(problem_of(array({array({bulk("0"), number(1), node})})) ==
               "range 1: expected a slot, got a string");
    BOOST_TEST(problem_of(array({array({array({number(0)}), number(1), node})})) ==
               "range 1: expected a slot, got an array");
    BOOST_TEST(problem_of(array({array({number(0), array({}), node})})) ==
               "range 1: expected a slot, got an array");
    BOOST_TEST(problem_of(array({range(-1, 1)})) == "range 1: slot -1 is not 0 to 16383");
    BOOST_TEST(problem_of(array({range(0, 16'384)})) == "range 1: slot 16384 is not 0 to 16383");
    BOOST_TEST(problem_of(array({range(9, 8)})) == "range 1: slot 9 comes after the last one, 8");
    BOOST_TEST(problem_of(array({range(0, 5), range(7, 9), range(5, 6)})) ==
               "range 3: slot 5 is in another range, too");
    BOOST_TEST(problem_of(reply_with(number(3))) == "range 1: expected a node, got an integer");
    BOOST_TEST(problem_of(reply_with("_\r\n")) == "range 1: expected a node, got null");
    BOOST_TEST(problem_of(reply_with(array({}))) == "range 1: a node without a host and a port");
    BOOST_TEST(problem_of(reply_with(array({bulk("a")}))) ==
               "range 1: a node without a host and a port");
    BOOST_TEST(problem_of(reply_with(array({number(1), number(1)}))) ==
               "range 1: expected a host, got an integer");
    BOOST_TEST(problem_of(reply_with(array({array({}), number(1)}))) ==
               "range 1: expected a host, got an array");
    for (const auto* host : {"a b", "a\r\nb", "[::1]", "user@a", "a/b", "a\xff"})
        BOOST_TEST(problem_of(reply_with(text_of_node(host, 1))) ==
                   "range 1: a host that is neither a name nor an IP address");
    BOOST_TEST(problem_of(reply_with(array({bulk("a"), bulk("1")}))) ==
               "range 1: expected a port, got a string");
    BOOST_TEST(problem_of(reply_with(text_of_node("a", 0))) == "range 1: port 0 is not 1 to 65535");
    BOOST_TEST(problem_of(reply_with(text_of_node("a", 65'536))) ==
               "range 1: port 65536 is not 1 to 65535");
    BOOST_TEST(problem_of(reply_with(text_of_node("a", -1))) ==
               "range 1: port -1 is not 1 to 65535");
    auto many = std::string{"*16385\r\n"};
    for (std::size_t i = 0; i <= hash_slot_count; ++i)
        many += "_\r\n";
    BOOST_TEST(problem_of(many) == "16385 ranges, more than 16384");
    BOOST_TEST(problem_of(array({number(1), array({}), bulk("x")})) ==
               "range 1: expected an array, got an integer"); // the first problem
    // A replica is checked like a master.
    BOOST_TEST(problem_of(array({array({number(0), number(1), node, text_of_node("b", -1)})})) ==
               "range 1: port -1 is not 1 to 65535");
    // No master is left.
    const auto lost = text_of_node("", 0);
    BOOST_TEST(problem_of(array({array({number(0), number(1), lost}),
                                 array({number(2), number(3), text_of_node("a b", 1)})})) ==
               "range 1: port 0 is not 1 to 65535");
}

BOOST_AUTO_TEST_CASE(an_error_of_the_server_is_told_in_its_own_words) {
    for (const auto* text : {"ERR This instance has cluster support disabled",
                             "NOPERM this user has no permissions to run the 'cluster|slots' "
                             "command"}) {
        const auto result = read("-" + std::string{text} + "\r\n");
        BOOST_TEST(result.is_refused);
        BOOST_TEST(result.problem == text);
        BOOST_TEST(!result.map.has_value());
    }
    BOOST_TEST(!read("+OK\r\n").is_refused);
}

/// The map of a cluster that has assigned its slots in turn: 16,384 ranges.
BOOST_AUTO_TEST_CASE(a_map_may_have_each_slot_in_a_range_of_its_own) {
    constexpr std::size_t masters = 500;
    auto bytes = std::string{"*16384\r\n"};
    for (std::int64_t slot = 0; slot < std::int64_t{hash_slot_count}; ++slot) {
        const auto port = slot % std::int64_t{masters} + 1;
        bytes += array({number(slot), number(slot), text_of_node("10.100.100.1", port),
                        text_of_node("10.100.100.2", port), text_of_node("10.100.100.3", port)});
    }
    BOOST_TEST(bytes.size() > 2 * resp::reply_bytes);
    const auto result = read(bytes);
    BOOST_TEST_REQUIRE(result.map.has_value(), result.problem);
    BOOST_TEST(result.map->masters().size() == masters);
    BOOST_TEST(result.map->replicas().size() == 2 * masters);
    BOOST_TEST(result.map->ranges().size() == hash_slot_count);
    for (std::uint16_t slot = 0; slot < hash_slot_count;
         slot = static_cast<std::uint16_t>(slot + 97))
        BOOST_TEST(result.map->owner(slot)->port == slot % masters + 1);
}

BOOST_AUTO_TEST_CASE(a_reply_that_claims_to_be_larger_than_any_map_is_refused_at_once) {
    auto decoder = resp::decoder{resp::decoder::long_bulks::empty, map_bounds};
    for (const auto* const claim : {"*1000001\r\n", "*1\r\n*3\r\n:0\r\n:1\r\n*4294967296\r\n"}) {
        BOOST_TEST((decoder.feed(claim) == progress::malformed));
        decoder.reset();
    }
}

BOOST_AUTO_TEST_CASE(a_reply_names_at_most_as_many_replicas_as_there_are_slots) {
    const auto reply = [](std::size_t replicas) {
        constexpr std::size_t each = 1'000; // of one range
        auto ranges = std::string{};
        auto count = std::size_t{0};
        for (std::size_t named = 0; named < replicas; ++count) {
            const auto here = std::min(each, replicas - named);
            ranges += "*" + std::to_string(3 + here) + "\r\n";
            ranges += number(std::int64_t(count)) + number(std::int64_t(count));
            ranges += text_of_node("m", 1);
            for (std::size_t i = 0; i < here; ++i, ++named)
                ranges += text_of_node("r" + std::to_string(named), 1);
        }
        return "*" + std::to_string(count) + "\r\n" + ranges;
    };
    BOOST_TEST(read(reply(hash_slot_count)).map.value().replicas().size() == hash_slot_count);
    BOOST_TEST(problem_of(reply(hash_slot_count + 1)) == "range 17: more than 16384 replicas");
}

BOOST_AUTO_TEST_CASE(a_changed_reply_is_a_valid_map_or_has_a_problem) {
    auto random = rng{4};
    auto counts = std::array<int, 4>{}; // map, problem, malformed, incomplete
    const auto valid = usual_reply();
    for (int i = 0; i < 60'000; ++i) {
        auto bytes = valid;
        for (auto changes = 1 + random.below(3); changes > 0; --changes) {
            const auto at = random.below(bytes.size());
            switch (random.below(4)) {
            case 0: // another digit is often another valid reply
                if (const auto digit = bytes.find_first_of("0123456789", at); digit != bytes.npos)
                    bytes[digit] = static_cast<char>('0' + random.below(10));
                break;
            case 1:
                bytes[at] = random.pick("*:$+-_%~>#,(!|?\r\n{x");
                break;
            case 2:
                bytes[at] = static_cast<char>(random.bits());
                break;
            case 3: { // a line is removed or doubled
                const auto end = bytes.find('\n', at);
                const auto begin = bytes.rfind('\n', at) + 1; // 0 if there is none
                if (end == bytes.npos || begin > end)
                    break;
                const auto line = bytes.substr(begin, end + 1 - begin);
                random.percent(50) ? bytes.erase(begin, line.size()) : bytes.insert(begin, line);
                break;
            }
            }
        }
        auto decoder = resp::decoder{resp::decoder::long_bulks::empty, map_bounds};
        const auto own = std::vector<char>(bytes.begin(), bytes.end()); // for sanitizers
        const auto state = decoder.feed({own.data(), own.size()});
        if (state != progress::complete) {
            ++counts[state == progress::malformed ? 2 : 3];
            continue;
        }
        const auto result = read_slot_map(decoder, {own.data(), own.size()}, "asked");
        BOOST_TEST_REQUIRE(result.problem.empty() == result.map.has_value());
        ++counts[result.map ? 0 : 1];
        if (!result.map)
            continue;
        auto next = std::size_t{0};
        auto serves = std::bitset<8>{};
        for (const auto& r : result.map->ranges()) {
            BOOST_TEST_REQUIRE(r.first >= next);
            BOOST_TEST_REQUIRE(r.last >= r.first);
            BOOST_TEST_REQUIRE(r.last < hash_slot_count);
            BOOST_TEST_REQUIRE(r.master < result.map->masters().size());
            serves[r.master] = true;
            next = r.last + std::size_t{1};
        }
        BOOST_TEST_REQUIRE(serves.count() == result.map->masters().size());
        for (const auto nodes : {result.map->masters(), result.map->replicas()}) {
            BOOST_TEST_REQUIRE(std::ranges::is_sorted(nodes));
            for (const auto& n : nodes) {
                BOOST_TEST_REQUIRE(is_host(n.host));
                BOOST_TEST_REQUIRE(n.port > 0U);
            }
        }
    }
    for (const auto n : counts)
        BOOST_TEST(n > 1'000);
}

BOOST_AUTO_TEST_SUITE_END()
