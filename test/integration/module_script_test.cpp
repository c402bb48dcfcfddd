// SPDX-License-Identifier: BSL-1.0
//
// Commands that the library never sends, and other clients may: the script and the server module
// reply the same, and leave the same values.

#include <base/bytes.hpp>
#include <core/bloom.hpp>
#include <core/policy_encoding.hpp>
#include <policy/policy_data.hpp>
#include <redis/protocol/script.hpp>
#include <redis/script/wire.hpp>
#include <server_module/check_words.hpp>
#include <support/raw_client.hpp>
#include <support/redis_server.hpp>
#include <support/server_module.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(module_script)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using detail::verb;
using test::call_bytes;
using test::check_words;
using words = std::vector<std::string>;

struct fixture {
    test::redis_server server{{.arguments = test::with_server_module()}};
    test::raw_client client = server.connect();

    /// Returns all texts of a reply, and the values of all keys.
    std::string run(const words& command) {
        auto bytes = std::string{};
        redis::resp::append_array(bytes, command.size());
        for (const auto& word : command)
            redis::resp::append_bulk(bytes, word);
        client.send(bytes);
        const auto reply = client.receive();
        auto all = "error: " + reply.text + '\n';
        for (const auto& e : reply.elements)
            all += e.text + '\n';
        return all;
    }

    std::string values() {
        auto all = std::string{};
        for (const auto& key : {"k", "l", "log", "log2", "s", "r", "r2", "new", "old"})
            all += std::string{key} + ": " + client.dump(key).value_or("none") + '\n';
        return all;
    }

    /// Makes the same with the script and with the module, each in an empty server.
    void compare(const std::vector<words>& commands) {
        client.must({"FLUSHALL"});
        auto expected = std::vector<std::string>{};
        for (auto command : commands) {
            if (command.front() == "COLIMIT.CHECK") {
                command.erase(command.begin());
                command.insert(command.begin(), {"EVAL", std::string{redis::check_script.body}});
            }
            expected.push_back(run(command));
            expected.push_back(values());
        }
        client.must({"FLUSHALL"});
        auto next = expected.begin();
        for (const auto& command : commands) {
            BOOST_TEST((run(command) == *next++));
            BOOST_TEST((values() == *next++));
        }
    }
};

const auto clock_of = std::vector<std::string>{"1700000000000000", "1700000001000000"};

const policy plain[] = {policy{"p", gcra(3, 1h)},
                        policy{"p", gcra(3, 1h), gcra(30, 24h).named("day")},
                        policy{"p", fixed_window(3, 1h)}, policy{"p", sliding_window(3, 1h)},
                        policy{"p", gcra(3, 1h), fixed_window(5, 1h)}};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_key_that_is_named_twice, fixture) {
    for (const auto& p : plain)
        for (const auto& calls :
             {std::string{}, std::string{"\1\2\1"}, std::string{"\2\1\3"},
              call_bytes(0, verb::allow, 1) + call_bytes(1, verb::allow, 2) +
                  call_bytes(2, verb::allow, 1),
              call_bytes(0, verb::charge, 1) + call_bytes(1, verb::allow, 1) +
                  call_bytes(0, verb::allow, 1) + call_bytes(2, verb::refund, 1)}) {
            const auto batch = [&](const std::string& clock) {
                return check_words(p, {"k", "l", "k"}, calls, clock);
            };
            compare({batch(clock_of[0]), batch(clock_of[1])});
            compare({check_words(p, {"k", "l"}, "", clock_of[0]), batch(clock_of[0]),
                     batch(clock_of[1]), batch(clock_of[1])});
        }
    const auto log = policy{"p", sliding_log(3, 1h)};
    const auto both = policy{"p", sliding_log(3, 1h), gcra(3, 1h)};
    for (const auto& p : {log, both})
        for (const auto& logs : {words{"k", "k", "log", "log2"}, words{"k", "k", "log", "log"}})
            compare({check_words(p, logs, "", clock_of[0]), check_words(p, logs, "", clock_of[0]),
                     check_words(p, logs, "", clock_of[1])});
}

/// The bytes from before a trial are restored from the last sketch to the first.
BOOST_FIXTURE_TEST_CASE(two_rules_with_one_sketch, fixture) {
    const auto p = policy{"p", distinct(2, 1h).named("a"), distinct(1, 1h).named("b")};
    const auto call_by = [&](const std::string& member) {
        auto calls = call_bytes(0, verb::allow, 1);
        detail::append_number(calls, static_cast<std::uint16_t>(member.size()));
        return check_words(p, {"k", "s", "s"}, calls + member, clock_of[0]);
    };
    compare({call_by("x"), call_by("y"), call_by("x"), call_by("z")});
    client.must({"FLUSHALL"});
    (void)run(call_by("x"));
    const auto before = client.must({"PFCOUNT", "s"}).integer;
    (void)run(call_by("y")); // denied
    BOOST_TEST(client.must({"PFCOUNT", "s"}).integer == before);
}

/// A record and the state are the same, and so is the reply of a call that is known.
BOOST_FIXTURE_TEST_CASE(calls_with_ids, fixture) {
    using test::id_call_bytes;
    using test::request_words;
    const auto in_order = [&](const std::vector<words>& names, const policy& p,
                              std::optional<std::string_view> member = {},
                              const words& fields = {}) {
        for (const auto first : {verb::allow, verb::charge, verb::refund}) {
            auto commands = std::vector<words>{};
            for (const auto cost : {1, 2, 5, 0})
                for (const auto& n : names)
                    for (const auto& clock : clock_of)
                        commands.push_back(
                            request_words(p, n,
                                          id_call_bytes(0, first, cost, member) +
                                              id_call_bytes(1, verb::allow, 1, member),
                                          clock, fields));
            compare(commands);
        }
    };
    // Two keys and two ids, two ids of one key, one id of two keys or twice of one.
    const auto records = std::vector<words>{{"r", "r2"}, {"r2", "log2"}, {"r", "r"}};
    const auto with_records = [&](const std::vector<words>& keys) {
        auto all = std::vector<words>{};
        for (const auto& k : keys)
            for (const auto& r : records) {
                all.push_back(k);
                all.back().insert(all.back().end(), r.begin(), r.end());
            }
        return all;
    };
    for (const auto& p : plain)
        in_order(with_records({{"k", "l"}, {"k", "k"}, {"l", "k"}}), p);
    for (const auto& p : {policy{"p", sliding_log(3, 1h)},
                          policy{"p", sliding_log(3, 1h).count_denied(), gcra(3, 1h)}})
        in_order(with_records({{"k", "l", "log", "s"}, {"k", "k", "log", "log"}}), p);
    for (const auto& member : {"x", "y"})
        in_order(with_records({{"k", "l", "s", "log"}, {"k", "k", "s", "s"}}),
                 policy{"p", distinct(2, 1h)}, member);
    for (const auto& p :
         {policy{"p", gcra(3, 1h)}.with_storage(storage::shared_hash),
          policy{"p", gcra(3, 1h), fixed_window(4, 1h)}.with_storage(storage::shared_hash)})
        for (const auto& fields : {words{"a", "b"}, words{"a", "a"}})
            in_order(with_records({{"new", "old"}}), p, {}, fields);
}

/// A hash that cannot be written fails all calls on its fields, and none is remembered.
BOOST_FIXTURE_TEST_CASE(calls_with_ids_on_a_field_that_cannot_be_written, fixture) {
    using test::id_call_bytes;
    using test::request_words;
    const auto p = policy{"p", gcra(3, 1h)}.with_storage(storage::shared_hash);
    const auto one = id_call_bytes(0, verb::allow, 1);
    const auto four = one + id_call_bytes(1, verb::charge, 1) + id_call_bytes(2, verb::allow, 1) +
                      id_call_bytes(3, verb::allow, 5);
    const auto later = std::string{"1700036000000000"}; // after a generation
    compare({request_words(p, {"new", "old", "s"}, one, clock_of[0], {"a"}),
             {"RPUSH", "old", "x"},
             request_words(p, {"new", "old", "r", "r2", "r2", "log"}, four, later,
                           {"a", "a", "a", "a"})});
}

/// The missing bytes are clear.
BOOST_FIXTURE_TEST_CASE(a_bitmap_that_ends_within_a_word, fixture) {
    const auto shape = core::bloom_shape{.ttl = 3'600'000'000, .words = 1, .lines = 1, .blocks = 1};
    const auto now = std::int64_t{1'700'000'000'000'000};
    auto bitmap = std::string{};
    detail::append_double(bitmap, now / shape.ttl + 1);
    client.must({"SET", "even", bitmap + '\xff'});
    auto ids = std::string{};
    for (std::uint32_t bit = 0; bit < 32; ++bit) {
        redis::append_block(ids, 0, verb::peek);
        redis::append_mark(ids, shape, {.block = 0, .line = 0, .words = {1U << bit}});
    }
    const auto rest =
        words{"2", "even", "odd", core::encode_filter(shape), "7", std::to_string(now), "0", ids};
    auto script = words{"EVAL", std::string{redis::seen_script.body}};
    script.insert(script.end(), rest.begin(), rest.end());
    auto module = words{"COLIMIT.SEEN"};
    module.insert(module.end(), rest.begin(), rest.end());
    const auto expected = run(script);
    BOOST_TEST(expected.find('\n' + std::string(8, '1') + std::string(24, '0') + '\n') !=
                   std::string::npos,
               expected);
    BOOST_TEST(run(module) == expected);
}

BOOST_AUTO_TEST_SUITE_END()
