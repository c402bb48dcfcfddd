// SPDX-License-Identifier: BSL-1.0
//
// What the script does with the records of calls with ids: with bytes of other programs and other
// versions, for several calls of one batch, and if the server refuses some of its commands.

#include "stores.hpp"

#include <core/request_record.hpp>
#include <policy/request_digest.hpp>
#include <redis/protocol/known_replies.hpp>
#include <redis/script/script_batch.hpp>
#include <support/fake_operation.hpp>
#include <support/script_double.hpp>
#include <support/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(records)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;
using core::verb;

const auto bucket = policy{"p", gcra(5, 24h)};
const auto packed = bucket.with_storage(storage::shared_hash);

[[nodiscard]] const policy& of(bool is_packed) {
    return is_packed ? packed : bucket;
}

struct call {
    std::string_view id;
    verb what = verb::allow;
    std::int64_t cost = 1;
    std::string_view key = "k";
};

/// Calls with ids that are made in one batch.
class batch {
  public:
    batch(const policy& p, const std::vector<call>& calls, std::int64_t now = detail::store_clock) {
        look().must({"SCRIPT", "LOAD", redis::check_script.body});
        batch_.start(detail::access::data(p), now, 1, redis::script_batch::any_group, true);
        for (const auto& c : calls) {
            const auto at_least = c.what == verb::allow ? c.cost : 1;
            ops.emplace_back(detail::call_request{
                .verb = c.what, .cost = c.cost, .at_least = at_least, .has_id = true, .id = c.id});
            batch_.add(ops.back(), "colimit", c.key);
        }
        batch_.encode(bytes_, "3600000 300000");
        const auto words = commands_of(bytes_).at(0);
        const auto keys = static_cast<std::ptrdiff_t>(std::stoul(words.at(2)));
        const auto all = static_cast<std::ptrdiff_t>(ops.size());
        records.assign(words.begin() + 3 + keys - all, words.begin() + 3 + keys);
    }

    /// Makes the calls. Returns the status of each, or "-".
    std::string make() {
        auto statuses = std::string{};
        look().send(bytes_);
        look().receive([&](const redis::resp::decoder& d, std::string_view reply) {
            const auto header = redis::read_header(d.text(d.nodes().back(), reply));
            if (!header || !batch_.read_reply(d, reply))
                throw std::runtime_error{"the reply is not one to this batch"};
            statuses = header->statuses;
            for (std::size_t i = 0; !batch_.policy()->compiled.packed && i < ops.size(); ++i)
                found.emplace_back(d.text(d.nodes()[i + 1], reply));
        });
        batch_.release([](detail::operation& one) { one.is_held = false; });
        return statuses;
    }

    std::deque<fake_operation> ops;
    std::vector<std::string> records; ///< their names
    std::vector<std::string> found;   ///< what the reply has for each, "" for nil

  private:
    redis::script_batch batch_{64};
    std::string bytes_;
};

/// Commands that the server's users may not call.
class forbidden {
  public:
    explicit forbidden(std::initializer_list<std::string_view> commands) : commands_(commands) {
        for (const auto c : commands_)
            look().must({"ACL", "SETUSER", "default", "-" + std::string{c}});
    }
    forbidden(const forbidden&) = delete;
    forbidden& operator=(const forbidden&) = delete;
    ~forbidden() {
        for (const auto c : commands_)
            look()({"ACL", "SETUSER", "default", "+" + std::string{c}});
    }

  private:
    std::vector<std::string_view> commands_;
};

void empty_server() {
    look().must({"FLUSHALL", "SYNC"});
}

[[nodiscard]] bool has(const std::string& key) {
    return look().must({"EXISTS", key}).integer == 1;
}

} // namespace

/// The script tests the size and the first byte, so that no reply is too long; the process reads
/// the rest.
BOOST_DATA_TEST_CASE(the_script_returns_what_may_be_a_record_and_nothing_else,
                     boost::unit_test::data::make({false, true}), is_packed) {
    empty_server();
    auto planted = std::vector<std::string>{};
    for (const auto size :
         {std::size_t{0}, std::size_t{1}, core::record_head_bytes - 1, core::record_head_bytes,
          core::record_head_bytes + 1, core::max_record_bytes - 1, core::max_record_bytes,
          core::max_record_bytes + 1, 2 * core::max_record_bytes})
        for (const auto first : {'q', 'r', 's', '\0'}) {
            auto bytes = std::string(size, 'r');
            if (size > 0)
                bytes[0] = first;
            planted.push_back(std::move(bytes));
        }
    auto ids = std::deque<std::string>{};
    auto calls = std::vector<call>{};
    for (std::size_t i = 0; i < planted.size(); ++i)
        calls.push_back({.id = ids.emplace_back(std::to_string(i))});
    calls.push_back({.id = "new"});
    auto b = batch{of(is_packed), calls};
    for (std::size_t i = 0; i < planted.size(); ++i)
        look().must({"SET", b.records[i], planted[i]});
    const auto statuses = b.make();
    BOOST_TEST_REQUIRE(statuses.size() == calls.size());
    for (std::size_t i = 0; i < planted.size(); ++i) {
        const auto is_like_record = core::is_like_record(planted[i]);
        BOOST_TEST(statuses[i] == (is_like_record ? 'r' : 'c'), planted[i].size());
        if (!b.found.empty())
            BOOST_TEST(b.found[i] == (is_like_record ? planted[i] : ""));
        BOOST_TEST((b.ops[i].ec == errc::key_conflict || b.ops[i].ec == errc::invalid_argument));
        BOOST_TEST((look().get(b.records[i]) == planted[i]));
    }
    BOOST_TEST(b.ops.back().is_allowed());
    BOOST_TEST(b.ops.back().result.remaining == 4);
}

BOOST_AUTO_TEST_CASE(the_script_writes_the_record_that_this_process_would_write) {
    empty_server();
    auto now = std::int64_t{1'700'000'000'000'000};
    for (const auto& c : {call{.id = "1"}, call{.id = "2", .what = verb::charge, .cost = 9},
                          call{.id = "3", .cost = 2}, call{.id = "4", .what = verb::refund}}) {
        const auto value = look().get(name_of(bucket, "k"));
        auto b = batch{bucket, {c}, ++now};
        BOOST_TEST(b.make() == "-");
        const auto& made = b.ops[0].request;
        auto expected = std::string{};
        core::append_record(expected,
                            {.verb = made.verb,
                             .cost = made.cost,
                             .at_least = made.at_least,
                             .digests = detail::digests_of(*detail::access::data(bucket), made),
                             .now = now,
                             .value = value});
        BOOST_TEST((look().get(b.records[0]) == expected), c.id);
    }
}

BOOST_DATA_TEST_CASE(calls_of_a_batch_find_what_those_before_them_left,
                     boost::unit_test::data::make({false, true}), is_packed) {
    empty_server();
    const auto calls = std::vector<call>{{.id = "1", .cost = 5},
                                         {.id = "1", .cost = 2, .key = "l"},
                                         {.id = "2"},
                                         {.id = "3", .what = verb::refund, .cost = 5},
                                         {.id = "4", .cost = 2},
                                         {.id = "2", .cost = 2, .key = "l"},
                                         {.id = "5"},
                                         {.id = "1", .key = "m"},
                                         {.id = "2", .what = verb::refund, .key = "m"}};
    constexpr auto left = std::array{0, 3, 0, 5, 3, 1, 2, 4, 5};
    constexpr auto start = std::int64_t{1'700'000'000'000'000};
    for (auto times = 0; times < 2; ++times) {
        auto b = batch{of(is_packed), calls, start};
        BOOST_TEST(b.make() == (times == 0 ? "-" : "rrrrrrrrr"));
        for (std::size_t i = 0; i < calls.size(); ++i) {
            BOOST_TEST(b.ops[i].ended({}), b.ops[i].ec.message());
            BOOST_TEST(b.ops[i].result.allowed() == (i != 2));
            BOOST_TEST(b.ops[i].result.remaining == left[i], i);
        }
    }
    auto last = batch{
        of(is_packed), {{.id = "6"}, {.id = "6", .key = "l"}, {.id = "6", .key = "m"}}, start};
    last.make();
    BOOST_TEST(last.ops[0].result.remaining == 1);
    BOOST_TEST(last.ops[1].result.remaining == 0);
    BOOST_TEST(last.ops[2].result.remaining == 4);
}

BOOST_DATA_TEST_CASE(a_call_whose_record_cannot_be_read_or_written_is_not_made,
                     boost::unit_test::data::make({false, true}), is_packed) {
    for (const auto* command : {"mget", "set"}) {
        empty_server();
        (void)batch{of(is_packed), {{.id = "before"}}}.make();
        const auto before = take_picture();
        auto b = batch{of(is_packed), {{.id = "1"}, {.id = "2"}}};
        {
            const auto f = forbidden{command};
            BOOST_TEST(b.make() == "ee");
        }
        for (const auto& op : b.ops)
            BOOST_TEST((op.ec == errc::auth_failed), op.ec.message());
        BOOST_TEST((take_picture() == before));
        // They can be made later.
        auto again = batch{of(is_packed), {{.id = "1"}, {.id = "2"}}};
        BOOST_TEST(again.make() == "-");
        BOOST_TEST(again.ops[1].result.remaining == 2);
    }
}

BOOST_DATA_TEST_CASE(a_full_server_refuses_new_calls_and_knows_the_old_ones,
                     boost::unit_test::data::make({false, true}), is_packed) {
    empty_server();
    (void)batch{of(is_packed), {{.id = "old"}}}.make();
    const auto before = take_picture();
    auto b = batch{of(is_packed), {{.id = "old"}, {.id = "new"}}};
    look().must({"CONFIG", "SET", "maxmemory", "1"});
    const auto statuses = b.make();
    look().must({"CONFIG", "SET", "maxmemory", "0"});
    BOOST_TEST(statuses == "re");
    BOOST_TEST(b.ops[0].is_allowed());
    BOOST_TEST((b.ops[1].ec == errc::server_error));
    BOOST_TEST((take_picture() == before));
}

/// A state that exists is changed by SETRANGE, and deleted if nothing is owed any more.
BOOST_AUTO_TEST_CASE(a_call_whose_state_cannot_be_written_leaves_no_record) {
    empty_server();
    (void)batch{bucket, {{.id = "before", .cost = 3}}}.make();
    auto b =
        batch{bucket, {{.id = "1"}, {.id = "2"}, {.id = "1", .what = verb::refund, .cost = 3}}};
    {
        const auto f = forbidden{"setrange"};
        BOOST_TEST(b.make() == "ee.");
    }
    BOOST_TEST((b.ops[0].ec == errc::auth_failed));
    BOOST_TEST(!has(b.records[1]));
    BOOST_TEST(b.ops[2].ended({}));
    BOOST_TEST(has(b.records[2])); // of the same name as that of the first call
}

BOOST_AUTO_TEST_SUITE_END()
