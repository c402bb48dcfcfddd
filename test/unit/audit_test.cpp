// SPDX-License-Identifier: BSL-1.0
//
// The function for audit logs, with the store in process: one record per decision, or the exact
// part of them that was asked for.

#include <colimit/limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(audit_logs)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

/// A copy of a record, as a line.
[[nodiscard]] std::string line_of(const audit_record& r) {
    auto line = std::string{r.verb} + " " + std::string{r.policy} + " " + std::string{r.key} + " " +
                std::to_string(r.cost) + " ";
    if (r.ec)
        return line + "error " + std::to_string(r.ec.value());
    return line + std::string{to_string(r.result.outcome)} + " " + std::to_string(r.result.granted);
}

struct audited {
    explicit audited(audit_sampling sampling = {})
        : limiter(context.get_executor(), [&] {
              auto c = config{};
              c.on_decision = [this](const audit_record& r) {
                  lines.push_back(line_of(r));
                  weights += r.weight;
              };
              c.advanced.audit_sampling = sampling;
              return c;
          }()) {}

    void run() {
        context.restart();
        context.run();
    }
    void check(std::vector<std::string> expected) {
        BOOST_TEST(lines == expected, boost::test_tools::per_element());
        lines.clear();
    }

    std::vector<std::string> lines;
    std::uint64_t weights = 0;
    asio::io_context context{1};
    colimit::limiter limiter;
};

const policy two{"two", gcra(2, 1h).burst(2)};
const policy one{"one", gcra(1, 1h)};

} // namespace

BOOST_AUTO_TEST_CASE(every_verb_has_a_record_with_its_key_as_the_caller_stated_it) {
    auto a = audited{};
    const bloom_filter ids{"ids", {.capacity = 100}};
    const policy members{"members", distinct(5, 1h)};
    auto& l = a.limiter;
    l.allow("k", two, {.cost = 2}, asio::detached);
    l.allow("k", two, asio::detached);
    l.allow("k", two, {.cost = 3}, asio::detached);
    l.allow("k", two, {.cost = 4, .at_least = -1}, asio::detached);
    l.peek("k", two, asio::detached);
    l.refund("k", two, {.cost = 1}, asio::detached);
    l.charge("k", two, {.cost = 7}, asio::detached);
    l.reset("k", two, asio::detached);
    l.block("k", two, 1h, asio::detached);
    l.wait("w", two, asio::detached);
    l.wait("w", policy{"log", sliding_log(1, 1h)}, asio::detached);
    l.once("id", 1h, asio::detached);
    l.seen("an id", ids, asio::detached);
    l.probably_seen("an id", ids, asio::detached);
    l.count_distinct("m", members, asio::detached);
    l.ready(asio::detached);
    a.run();
    a.check({"allow two k 2 allowed 2", "allow two k 1 denied 0", "allow two k 3 never 0",
             "allow two k 4 error " + std::to_string(static_cast<int>(errc::invalid_argument)),
             "peek two k 1 denied 0", "refund two k 1 allowed 0", "charge two k 7 denied 0",
             "reset two k 0 allowed 0", "block two k 0 denied 0", "wait two w 1 allowed 1",
             "wait log w 1 allowed 1", "once  id 0 allowed 1", "seen ids an id 1 allowed 0",
             "probably_seen ids an id 1 denied 0", "count_distinct members m 0 allowed 0"});
}

BOOST_AUTO_TEST_CASE(parts_of_a_call_have_records_of_their_own) {
    auto a = audited{};
    auto each = std::array{check_item{"a", two}, check_item{"b", one}, check_item{"b", one}};
    a.limiter.allow_many(each, asio::detached);
    a.run();
    a.check({"allow two a 1 allowed 1", "allow one b 1 allowed 1", "allow one b 1 denied 0"});

    auto checks = std::array{check_item{"user", two, {.cost = 2}}, check_item{"tenant", one}};
    for (int i = 0; i < 2; ++i) {
        auto key = std::make_unique<std::string>(200, 't'); // need not live as long as its check
        checks[1].key = *key;
        a.limiter.allow_all(checks, asio::detached);
        key.reset();
        a.run();
    }
    const auto key = std::string(200, 't');
    a.check({"allow_all two user 2 allowed 2", "allow_all one " + key + " 1 allowed 1",
             "allow_all two user 2 denied 0", "allow_all one " + key + " 1 denied 0"});

    auto twice = std::array{check_item{"a", one}, check_item{"a", one}};
    a.limiter.allow_all(twice, asio::detached);
    a.limiter.allow_all(std::span<check_item>{}, asio::detached);
    a.run();
    const auto invalid = "error " + std::to_string(static_cast<int>(errc::invalid_argument));
    a.check({"allow_all one a 1 " + invalid, "allow_all one a 1 " + invalid});

    const policy members{"members", distinct(5, 1h)};
    const auto names = std::array<std::string_view, 2>{"x", "y"};
    a.limiter.charge_members("m", members, names, asio::detached);
    a.run();
    a.check({"charge members m 1 allowed 0", "charge members m 1 allowed 0"});
}

BOOST_AUTO_TEST_CASE(long_keys_are_truncated_and_their_length_is_known) {
    auto context = asio::io_context{1};
    auto settings = config{};
    auto seen = std::vector<std::pair<std::string, std::size_t>>{};
    settings.on_decision = [&](const audit_record& r) { seen.emplace_back(r.key, r.key_size); };
    auto limiter = colimit::limiter{context.get_executor(), settings};
    const auto key = std::string(limits::plain_key_bytes, 'k');
    for (const auto& k : {key, key + "l", std::string(limits::max_key_bytes + 1, 'k'),
                          std::string{"\0\xff\n", 3}, std::string{}})
        limiter.allow(k, two, asio::detached);
    context.run();
    BOOST_TEST(seen.size() == 5U);
    BOOST_TEST((seen[0] == std::pair{key, std::size_t{256}}));
    BOOST_TEST((seen[1] == std::pair{key, std::size_t{257}}));
    BOOST_TEST((seen[2] == std::pair{key, std::size_t{65'537}}));
    BOOST_TEST((seen[3] == std::pair{std::string{"\0\xff\n", 3}, std::size_t{3}}));
    BOOST_TEST((seen[4] == std::pair{std::string{}, std::size_t{0}}));
}

BOOST_AUTO_TEST_CASE(grants_denials_and_errors_are_sampled_separately) {
    auto a = audited{{.allowed = 10, .denied = 1, .failed = 3}};
    for (int i = 0; i < 95; ++i)
        a.limiter.allow("key " + std::to_string(i), one, asio::detached);
    for (int i = 0; i < 7; ++i)
        a.limiter.allow("key 0", one, asio::detached);
    for (int i = 0; i < 7; ++i)
        a.limiter.allow("key 0", one, {.cost = -1}, asio::detached);
    a.run();
    auto kinds = std::array<int, 3>{};
    for (const auto& line : a.lines)
        ++kinds[line.find("allowed") != std::string::npos  ? 0
                : line.find("denied") != std::string::npos ? 1
                                                           : 2];
    BOOST_TEST(kinds[0] == 9);
    BOOST_TEST(kinds[1] == 7);
    BOOST_TEST(kinds[2] == 2);
    BOOST_TEST(a.lines.front() == "allow one key 9 1 allowed 1"); // the tenth
    BOOST_TEST(a.weights == 9U * 10 + 7 + 2U * 3);

    auto denials = audited{{.allowed = 0, .denied = 1, .failed = 0}};
    for (int i = 0; i < 3; ++i)
        denials.limiter.allow("k", two, asio::detached);
    denials.limiter.allow("k", two, {.cost = -1}, asio::detached);
    denials.run();
    denials.check({"allow two k 1 denied 0"});
}

BOOST_AUTO_TEST_CASE(the_function_runs_just_before_the_handler_and_may_call_the_limiter) {
    auto context = asio::io_context{1};
    auto order = std::string{};
    std::optional<colimit::limiter> limiter;
    auto settings = config{};
    settings.on_decision = [&](const audit_record& r) {
        order += r.key;
        if (r.key == "a")
            limiter->allow("c", one, [&](error_code, const decision&) { order += "C"; });
        BOOST_TEST(limiter->statistics().ended() > 0U); // it is counted by then
        if (r.key == "c")
            limiter.reset();
    };
    limiter.emplace(context.get_executor(), settings);
    limiter->allow("a", one, [&](error_code, const decision&) { order += "A"; });
    limiter->allow("b", one, [&](error_code, const decision&) { order += "B"; });
    BOOST_TEST(order.empty());
    context.run();
    BOOST_TEST(order == "aAbBcC");
    BOOST_TEST(!limiter);
}

BOOST_AUTO_TEST_CASE(an_exception_of_the_function_leaves_run_and_loses_no_call) {
    auto context = asio::io_context{1};
    auto settings = config{};
    settings.counted_policies = 10;
    settings.on_decision = [](const audit_record& r) {
        if (r.key == "bad")
            throw std::runtime_error{"full disk"};
    };
    auto limiter = colimit::limiter{context.get_executor(), settings};
    auto done = 0;
    for (const auto* key : {"a", "bad", "b"})
        limiter.allow(key, one, [&done](error_code ec, const decision& d) {
            BOOST_TEST(!ec);
            BOOST_TEST(d.allowed());
            ++done;
        });
    BOOST_CHECK_EXCEPTION(context.run(), std::runtime_error, [](const std::runtime_error& e) {
        return std::string_view{e.what()} == "full disk";
    });
    BOOST_TEST(done == 2);
    context.run();
    BOOST_TEST(done == 3);
    BOOST_TEST(limiter.statistics().allowed == 3U);
    BOOST_TEST(limiter.policy_statistics().front().allowed == 3U);
}

BOOST_AUTO_TEST_CASE(a_cancelled_call_has_one_record) {
    auto a = audited{};
    asio::cancellation_signal stop;
    a.limiter.allow("k", one, asio::detached);
    a.limiter.wait("k", one, {.max_wait = 2h},
                   asio::bind_cancellation_slot(stop.slot(), asio::detached));
    while (a.lines.empty())
        a.context.run_one();
    stop.emit(asio::cancellation_type::terminal);
    a.run();
    BOOST_TEST(a.lines.size() == 2U); // its release has none
    BOOST_TEST(a.lines[1].starts_with("wait one k 1 error"));
}

BOOST_AUTO_TEST_CASE(calls_that_are_destroyed_with_their_context_have_no_record) {
    auto records = 0;
    {
        auto context = asio::io_context{1};
        auto settings = config{};
        settings.on_decision = [&](const audit_record&) { ++records; };
        auto limiter = colimit::limiter{context.get_executor(), settings};
        limiter.allow("k", one, asio::detached);
    }
    BOOST_TEST(records == 0);
}

BOOST_AUTO_TEST_CASE(threads_lose_and_repeat_no_record) {
    constexpr auto calls = 20'000U;
    std::atomic<std::uint64_t> weights{0};
    std::atomic<std::uint64_t> denials{0};
    auto settings = config{};
    settings.thread_safe = true;
    settings.counted_policies = 4;
    settings.advanced.audit_sampling.allowed = 100;
    settings.on_decision = [&](const audit_record& r) {
        if (r.result.allowed())
            weights += r.weight;
        else
            ++denials;
    };
    auto pool = asio::thread_pool{4};
    auto limiter = colimit::limiter{pool.get_executor(), settings};
    const policy wide{"wide", gcra(100'000, 1h).burst(15'000)};
    auto pending = std::vector<std::future<decision>>{};
    for (unsigned i = 0; i < calls; ++i)
        pending.push_back(limiter.allow("k", wide, asio::use_future));
    for (auto& one_of_them : pending)
        (void)one_of_them.get();
    pool.join();
    const auto counted = limiter.policy_statistics().front();
    BOOST_TEST(counted.ended() == calls);
    BOOST_TEST(denials == counted.denied);
    BOOST_TEST(weights == counted.allowed / 100 * 100);
    BOOST_TEST(counted.denied > 0U);
}

/// Whatever a client sends is one text on one line, from which it can be read back.
BOOST_AUTO_TEST_CASE(the_text_of_a_client_is_one_field_of_a_log) {
    BOOST_TEST(log_text("ip=192.0.2.1") == R"("ip=192.0.2.1")");
    BOOST_TEST(log_text("a\nallow login \"x\" denied\r\x1b[2J\\") ==
               R"("a\x0aallow login \"x\" denied\x0d\x1b[2J\\")");
    auto all = std::string{};
    for (int c = 0; c < 256; ++c)
        all += static_cast<char>(c);
    auto text = std::string_view{};
    const auto escaped = log_text(all);
    text = escaped;
    BOOST_TEST((text.front() == '"' && text.back() == '"'));
    text = text.substr(1, text.size() - 2);
    auto read = std::string{};
    while (!text.empty()) {
        BOOST_TEST_REQUIRE((text[0] >= ' ' && text[0] <= '~' && text[0] != '"'));
        if (text[0] != '\\') {
            read += text[0];
            text.remove_prefix(1);
        } else if (text.at(1) == 'x') {
            read += static_cast<char>(std::stoi(std::string{text.substr(2, 2)}, nullptr, 16));
            text.remove_prefix(4);
        } else {
            read += text[1];
            text.remove_prefix(2);
        }
    }
    BOOST_TEST((read == all));
}

BOOST_AUTO_TEST_SUITE_END()
