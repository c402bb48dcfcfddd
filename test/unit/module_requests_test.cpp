// SPDX-License-Identifier: BSL-1.0
//
// Calls with ids in the server module, in a fake server.

#include <core/request_record.hpp>
#include <server_module/check_words.hpp>
#include <server_module/fake_server.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(module_requests)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using detail::verb;
using test::call_bytes;
using test::id_call_bytes;
using test::request_words;
using test::fake::server;
using test::fake::words;
namespace fake = test::fake;

const auto year = 24h * 365;

/// A command of one call, and the key of its state.
struct one_call {
    words command;
    std::string state;
};

[[nodiscard]] std::vector<one_call> one_of_each(verb v, double cost = 1) {
    const auto call = id_call_bytes(0, v, cost);
    const auto packed = policy{"p", gcra(3, year)}.with_storage(storage::shared_hash);
    return {
        {request_words(policy{"p", gcra(3, year)}, {"k", "r"}, call), "k"},
        {request_words(policy{"p", fixed_window(3, year), gcra(3, year)}, {"k", "r"}, call), "k"},
        {request_words(policy{"p", sliding_log(3, year)}, {"k", "log", "r"}, call), "log"},
        {request_words(policy{"p", distinct(3, year)}, {"k", "sketch", "r"},
                       id_call_bytes(0, v, cost, "m")),
         "sketch"},
        {request_words(packed, {"new", "old", "r"}, call, "", {"a"}), "new"}};
}

struct loaded : server {
    explicit loaded(const words& arguments = {}) { BOOST_TEST_REQUIRE(load(arguments)); }

    /// Returns the number of grants and the statuses.
    std::string header_of(const words& command) {
        auto text = run(command);
        text.resize(text.size() - 2);
        text.erase(0, text.rfind('\n') + 1);
        for (auto left = 3; left > 0; --left)
            text.erase(0, text.find(' ') + 1);
        return text;
    }
    std::string bytes_of(const std::string& key) {
        auto* found = keys.find(key);
        auto* text = found == nullptr ? nullptr : std::get_if<fake::bytes>(&found->content);
        return text == nullptr ? "(none)" : std::string{text->view()};
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_known_call_changes_nothing_and_gets_its_record) {
    for (const auto v : {verb::allow, verb::charge, verb::refund})
        for (const auto& [command, state] : one_of_each(v)) {
            auto s = loaded{};
            s.has_backlog = true;
            const auto granted = std::string{v == verb::allow ? "1" : "0"};
            BOOST_TEST(s.header_of(command) == granted + " -");
            const auto record = s.bytes_of("r");
            BOOST_TEST(core::is_like_record(record));
            BOOST_TEST(record.substr(19, 16) == "policy..member..");
            BOOST_TEST(s.keys.find("r")->expires_ms == s.now_us / 1'000 + 60'000);
            const auto before = s.keys.text_of(state);
            for (auto times = 0; times < 3; ++times) {
                s.now_us += 1'000'000;
                const auto reply = s.run(command);
                BOOST_TEST(reply.find(record) != std::string::npos);
                BOOST_TEST(s.header_of(command) == "0 r");
                BOOST_TEST(s.keys.text_of(state) == before);
                BOOST_TEST(s.bytes_of("r") == record);
                BOOST_TEST(s.propagated.empty());
            }
            s.now_us += 60'000'000;
            BOOST_TEST(s.header_of(command) == granted + " -");
        }
}

BOOST_AUTO_TEST_CASE(a_denial_is_remembered) {
    for (const auto& [command, state] : one_of_each(verb::allow, 4)) {
        if (state == "sketch") // one member, whatever the cost
            continue;
        auto s = loaded{};
        BOOST_TEST(s.header_of(command) == "0 -");
        BOOST_TEST(s.keys.keys().size() == 1U); // the record
        BOOST_TEST(s.header_of(command) == "0 r");
    }
}

BOOST_AUTO_TEST_CASE(a_full_server_makes_no_call_that_it_cannot_remember) {
    for (const auto v : {verb::allow, verb::charge, verb::refund})
        for (const auto& [command, state] : one_of_each(v)) {
            auto s = loaded{};
            (void)s.run(command);
            const auto before = s.keys.text_of(state);
            auto other = command;
            other[static_cast<std::size_t>(std::stoi(command[1])) + 1] = "r2";
            s.is_full = true;
            s.flags = fake::is_over_maxmemory;
            BOOST_TEST(s.header_of(command) == "0 r");
            const auto refused = s.run(other);
            BOOST_TEST(refused.find("OOM command not allowed when used memory > 'maxmemory'.") !=
                       std::string::npos);
            BOOST_TEST(s.header_of(other) == "0 e");
            BOOST_TEST(s.keys.text_of(state) == before);
            BOOST_TEST(s.keys.find("r2") == nullptr);
            BOOST_TEST(s.dirty == 0);
        }
}

BOOST_AUTO_TEST_CASE(what_is_not_a_record_stays) {
    for (const auto& [command, state] : one_of_each(verb::charge))
        for (const auto& plant :
             {words{"SET", "r", "text"}, words{"SET", "r", std::string(2'000, 'r')},
              words{"RPUSH", "r", "x"}, words{"SET", "r", std::string(100, 'x')}}) {
            auto s = loaded{};
            BOOST_TEST(s.keys.execute(plant).has_value());
            const auto before = s.keys.text_of("r");
            BOOST_TEST(s.header_of(command) == "0 c");
            BOOST_TEST(s.keys.text_of("r") == before);
            BOOST_TEST(s.keys.keys().size() == 1U);
        }
}

/// If a state cannot be written, its call is not remembered.
BOOST_AUTO_TEST_CASE(a_call_that_fails_is_forgotten) {
    for (const auto& [command, state] : one_of_each(verb::charge)) {
        auto s = loaded{};
        BOOST_TEST(s.keys.execute({"RPUSH", state, "x"}).has_value());
        const auto header = s.header_of(command);
        BOOST_TEST((header == "0 c" || header == "0 e"), header);
        BOOST_TEST(s.keys.find("r") == nullptr);
    }
}

BOOST_AUTO_TEST_CASE(calls_on_one_key_follow_each_other) {
    const auto bucket = policy{"p", gcra(3, year)};
    const auto both = id_call_bytes(0, verb::charge, 1) + id_call_bytes(1, verb::allow, 2);
    auto s = loaded{};
    BOOST_TEST(s.header_of(request_words(bucket, {"k", "k", "r", "r2"}, both)) == "1 -");
    BOOST_TEST(s.header_of(request_words(bucket, {"k", "r3"}, id_call_bytes(0, verb::allow, 1))) ==
               "0 -");
    // The same id twice in one command.
    const auto same = id_call_bytes(0, verb::allow, 2) + id_call_bytes(1, verb::allow, 2);
    BOOST_TEST(s.header_of(request_words(bucket, {"l", "l", "s", "s"}, same)) == "1 .r");
    const auto packed = bucket.with_storage(storage::shared_hash);
    BOOST_TEST(s.header_of(request_words(packed, {"new", "old", "t", "t2"}, both, "",
                                         {"a", "a"})) == "1 -");
    BOOST_TEST(s.header_of(request_words(packed, {"new", "old", "t3"},
                                         id_call_bytes(0, verb::allow, 1), "", {"a"})) == "0 -");
    BOOST_TEST(s.header_of(request_words(packed, {"new", "old", "u", "u"}, same, "", {"b", "b"})) ==
               "1 .r");
}

/// The hash cannot be written, which shows after the calls: none of them was made.
BOOST_AUTO_TEST_CASE(all_calls_on_a_field_fail_with_its_write) {
    const auto packed = policy{"p", gcra(3, 1h)}.with_storage(storage::shared_hash);
    const auto clock = [](int hours) {
        return std::to_string(1'700'000'000'000'000 + hours * 3'600'000'000);
    };
    auto s = loaded{};
    auto calls = id_call_bytes(0, verb::allow, 1);
    (void)s.run(request_words(packed, {"new", "old", "r"}, calls, clock(0), {"a"}));
    BOOST_TEST(s.keys.execute({"RPUSH", "old", "x"}).has_value());
    for (std::uint16_t key = 1; key < 4; ++key)
        calls += id_call_bytes(key, verb::allow, 1);
    const auto before = s.keys.text_of("new");
    auto header = s.header_of(request_words(packed, {"new", "old", "r1", "r2", "r2", "r3"}, calls,
                                            clock(10), {"a", "a", "a", "a"}));
    BOOST_TEST(header.substr(header.find(' ')) == " eeee");
    BOOST_TEST(s.keys.text_of("new") == before);
    for (const auto* record : {"r1", "r2", "r3"})
        BOOST_TEST(s.keys.find(record) == nullptr);

    // Nothing is left of the state, so it is erased.
    calls = id_call_bytes(0, verb::allow, 1) + id_call_bytes(1, verb::refund, 2);
    header =
        s.header_of(request_words(packed, {"new", "old", "r4", "r5"}, calls, clock(0), {"a", "a"}));
    BOOST_TEST(header.substr(header.find(' ')) == " ee");
    BOOST_TEST(s.keys.text_of("new") == before);
    for (const auto* record : {"r4", "r5"})
        BOOST_TEST(s.keys.find(record) == nullptr);
}

BOOST_AUTO_TEST_CASE(wrong_arguments_name_what_is_expected) {
    const auto bucket = policy{"p", gcra(3, year)};
    const auto one = id_call_bytes(0, verb::allow, 1);
    struct refused {
        words command;
        std::string_view error;
    };
    auto joint = request_words(bucket, {"k", "r"}, one);
    joint.emplace_back("\1\0", 2);
    auto odd_ttl = request_words(bucket, {"k", "r"}, one);
    odd_ttl[7] = "0 0";
    auto long_ttl = odd_ttl;
    long_ttl[7] = "0 9007199254740991";
    const refused all[] = {
        {request_words(bucket, {"k", "r"}, ""), "call 1: missing"},
        {request_words(bucket, {"k", "r"}, "\1"), "call 1: cut off"},
        {request_words(bucket, {"k", "r"}, one + one), "call 2: "},
        {request_words(bucket, {"k", "l", "r", "r2"}, one), "call 2: missing"},
        {request_words(bucket, {"k", "l", "r", "r2"}, id_call_bytes(1, verb::allow, 1) + one),
         "call 1: not the next key, or made several times"},
        {request_words(bucket, {"k", "r"}, call_bytes(0, verb::allow, 1)),
         "call 1: the digests are cut off"},
        {request_words(bucket, {"k", "r"}, call_bytes(0, verb::allow, 1, 2) + std::string(16, 'x')),
         "call 1: not the next key, or made several times"},
        {request_words(bucket, {"k", "r"}, id_call_bytes(0, verb::peek, 0)),
         "call 1: not a verb that takes an id (expected allow, charge or refund)"},
        {request_words(bucket, {"k", "l", "r"}, one), "numkeys: more keys"},
        {request_words(bucket, {"k"}, one), "numkeys: too few keys"},
        {joint, "shortest TTL: calls of `all or nothing` have no ids"},
        {odd_ttl, "TTL of records: not a number in range"},
        {long_ttl, "TTL of records: too long"},
        {request_words(bucket.with_storage(storage::shared_hash), {"new", "old"}, one, "", {"a"}),
         "numkeys: not the number of hashes and records"},
    };
    auto s = loaded{};
    for (const auto& [command, error] : all) {
        const auto got = s.run(command);
        BOOST_TEST(got.starts_with("-ERR "));
        BOOST_TEST(got.find(error) != std::string::npos, got << " lacks " << error);
        BOOST_TEST(s.keys.keys().empty());
    }
}

BOOST_AUTO_TEST_SUITE_END()
