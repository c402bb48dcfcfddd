// SPDX-License-Identifier: BSL-1.0
//
// Each fault of a call's arguments has its code, with a message that names the argument or rule,
// the problem and the allowed values.

#include <core/rule_kind.hpp>
#include <support/unit_test.hpp>

#include <colimit/bloom_filter.hpp>
#include <colimit/limiter.hpp>
#include <colimit/limits.hpp>
#include <colimit/local_limiter.hpp>
#include <core/call_fault.hpp>
#include <policy/policy_data.hpp>
#include <redis/multi/transaction.hpp>
#include <support/coroutine_run.hpp>

#include <boost/asio/as_tuple.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>
#include <vector>

BOOST_AUTO_TEST_SUITE(call_faults)

using namespace std::chrono_literals;
using namespace colimit;
using detail::fault;
namespace asio = boost::asio;

namespace {

const auto bucket = policy{"bucket", gcra(5, 1s)};
const auto window = policy{"window", gcra(5, 1s), fixed_window(5, 1min)};
const auto members = policy{"members", distinct(5, 1h)};
const auto together = policy{"together", gcra(5, 1s)}.with_storage(storage::shared_hash);

[[nodiscard]] std::string in_transaction_mode(const policy& p, detail::call_request request) {
    const auto ec = redis::error_of_transaction(*detail::access::data(p), request);
    BOOST_TEST((ec == errc::invalid_policy || ec == errc::invalid_argument));
    return ec.message();
}

/// An in-process limiter and the code that a call ends with.
struct trial {
    asio::io_context context{1};
    limiter l{context.get_executor(), "memory:"};

    template<class Call>
    void check(Call call, const std::string& message) {
        test::run(context, [&]() -> asio::awaitable<void> {
            const auto [ec, d] = co_await call(l, asio::as_tuple(asio::use_awaitable));
            BOOST_TEST((ec == errc::invalid_argument), ec.message());
            BOOST_TEST((ec == make_error_code(errc::invalid_argument)));
            BOOST_TEST((ec.category() == error_category()));
            BOOST_TEST((ec == condition::permanent));
            BOOST_TEST(ec.message() == message);
            // As documented: a standard code equals a condition, but not the code without a
            // message.
            const std::error_code standard = ec;
            const std::error_code plain = make_error_code(errc::invalid_argument);
            const std::error_condition to_fix = make_error_condition(condition::permanent);
            BOOST_TEST((standard == to_fix));
            BOOST_TEST((standard != plain));
            BOOST_TEST(standard.message() == message);
        });
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_call_ends_with_the_reason) {
    auto t = trial{};
    t.check([](limiter& l, auto token) { return l.allow("k", bucket, {.cost = -1}, token); },
            "cost: out of range (expected 0 to 9007199254740991)");
    t.check([](limiter& l, auto token) { return l.allow("k", bucket, {.at_least = 2}, token); },
            "at_least: out of range (expected 0 to the cost)");
    t.check([](limiter& l, auto token) { return l.wait("k", bucket, {.max_wait = -1s}, token); },
            "max_wait: out of range (expected 0 to 366 days)");
    t.check([](limiter& l, auto token) { return l.wait("k", window, {.max_wait = -1s}, token); },
            "max_wait: out of range (expected 0 to 366 days)");
    t.check([](limiter& l, auto token) { return l.wait("k", members, token); },
            "member: missing, and the policy has a distinct rule (expected check_options::member)");
    t.check([](limiter& l, auto token) { return l.block("k", bucket, -1s, token); },
            "duration: out of range (expected a whole number of microseconds, 0 to 100 years)");
    t.check([](limiter& l, auto token) { return l.allow("k", members, check_options{}, token); },
            "member: missing, and the policy has a distinct rule (expected check_options::member)");
    t.check(
        [](limiter& l, auto token) { return l.block("k", together, 1s, token); },
        "policy: block keeps state for longer than packed storage does (expected a policy without "
        "storage::shared_hash)");
    t.check([](limiter& l,
               auto token) { return l.allow("k", bucket, {.now = time_point{} - 1s}, token); },
            "now: out of range (expected 1970 to 2112)");
    t.check([](limiter& l, auto token) { return l.count_distinct("k", bucket, token); },
            "policy: nothing to count (expected a policy with a distinct rule)");
    t.check(
        [](limiter& l, auto token) { return l.count_distinct("k", members, {.rule = "x"}, token); },
        "rule: not a distinct rule of the policy (expected the name of a distinct rule, or "
        "none for the first one)");
}

BOOST_AUTO_TEST_CASE(a_store_says_how_many_filters_it_keeps) {
    auto t = trial{};
    auto plain = local_limiter{};
    const auto named = [](std::size_t i) {
        return bloom_filter{std::to_string(i), {.capacity = 1, .ttl = 1h}};
    };
    const auto more = named(limits::max_local_filters);
    test::run(t.context, [&]() -> asio::awaitable<void> {
        for (std::size_t i = 0; i < limits::max_local_filters; ++i)
            BOOST_TEST(!co_await t.l.seen("id", named(i)));
    });
    for (std::size_t i = 0; i < limits::max_local_filters; ++i)
        BOOST_TEST(!plain.seen("id", named(i)));
    const auto message = std::string{
        "filter: one more than this store keeps (expected at most 1000 filters that know ids)"};
    t.check([&](limiter& l, auto token) { return l.seen("id", more, token); }, message);
    BOOST_CHECK_EXCEPTION((void)plain.seen("id", more), colimit::error,
                          [&](const auto& e) { return e.what() == message; });
}

BOOST_AUTO_TEST_CASE(checks_together_say_which_of_them_has_which_fault) {
    const auto packed = policy{"q", gcra(5, 1s)}.with_storage(storage::shared_hash);
    const auto other_time = check_options{.now = time_point{5s}};
    struct sample {
        std::vector<check_item> checks;
        std::string message;
        std::size_t at;
    };
    auto samples = std::vector<sample>{
        {{}, "checks: wrong number (expected 1 to 64)", 0},
        {{{.key = "a", .policy = bucket}, {.key = "a", .policy = packed}},
         "checks: allow_all cannot use packed storage (expected policies without "
         "storage::shared_hash)",
         1},
        {{{.key = "a", .policy = bucket}, {.key = "b", .policy = bucket, .options = other_time}},
         "checks: several values of now (expected one for all checks)",
         1},
        {{{.key = "a", .policy = bucket}, {.key = "a", .policy = bucket}},
         "checks: two are for one key under one policy (expected one check per key and policy)",
         1},
        {{{.key = "a", .policy = bucket, .options = {.cost = -1}}},
         "cost: out of range (expected 0 to 9007199254740991)",
         0}};
    auto t = trial{};
    for (auto& s : samples) {
        t.check([&](limiter& l, auto token) { return l.allow_all(s.checks, token); }, s.message);
        for (std::size_t i = 0; i < s.checks.size(); ++i) // the checks behind it were not looked at
            BOOST_TEST((s.checks[i].ec == errc::invalid_argument) == (i == s.at));
    }
}

BOOST_AUTO_TEST_CASE(transaction_mode_says_which_rule_and_why) {
    const auto needs_script = [](const rule& r) {
        return in_transaction_mode(policy{"p", sliding_log(5, 1s), r}, {});
    };
    const auto text = [](std::string_view name) {
        return "execution_mode::multi: rule 2, a " + std::string{name} +
               ", needs a script (expected sliding_log and fixed_window rules only)";
    };
    BOOST_TEST(needs_script(gcra(5, 1s)) == text("gcra"));
    BOOST_TEST(needs_script(cell(5, 1, 1s)) == text("cell"));
    BOOST_TEST(needs_script(token_bucket(5, 1, 1s).stepwise()) == text("token_bucket"));
    BOOST_TEST(needs_script(sliding_window(5, 1s)) == text("sliding_window"));
    BOOST_TEST(needs_script(calendar(5, calendar_unit::day)) == text("calendar"));
    BOOST_TEST(needs_script(distinct(5, 1s)) == text("distinct"));
    BOOST_TEST(in_transaction_mode(window, {}).find("rule 1, a gcra, ") != std::string::npos);
    BOOST_TEST(in_transaction_mode(policy{"p", gcra(5, 1s)}, {.verb = detail::verb::reserve})
                   .starts_with("execution_mode::multi: rule 1, a gcra, needs a script"));
    BOOST_TEST(in_transaction_mode(policy{"p", sliding_log(5, 1s)}.prevent_duplicate(1s), {}) ==
               "execution_mode::multi: prevent_duplicate needs a script (expected sliding_log and "
               "fixed_window rules only)");
}

BOOST_AUTO_TEST_CASE(transaction_mode_has_no_filters) {
    const auto f = bloom_filter{"f"};
    const auto ec = redis::error_of_transaction(*detail::access::data(f), {});
    BOOST_TEST((ec == errc::invalid_policy));
    BOOST_TEST(
        ec.message().starts_with("execution_mode::multi: the policy or filter has no rules"));
}

BOOST_AUTO_TEST_CASE(transaction_mode_says_what_it_cannot_do_with_logs) {
    using detail::verb;
    const auto log = policy{"p", sliding_log(5, 1s).count_denied()};
    BOOST_TEST(
        in_transaction_mode(log, {.verb = verb::block}) ==
        "execution_mode::multi: this verb needs a script (expected allow, peek, charge, refund, "
        "reset, wait or allow_many)");
    BOOST_TEST(in_transaction_mode(log, {.verb = verb::charge, .cost = 100'001}) ==
               "cost: too many events for execution_mode::multi (expected 0 to 100000)");
    BOOST_TEST(in_transaction_mode(log, {.cost = 5, .at_least = 1})
                   .starts_with("at_least: a policy with count_denied makes no partial grants"));
}

BOOST_AUTO_TEST_CASE(transaction_mode_says_what_it_cannot_do_with_windows) {
    using detail::verb;
    const auto both = policy{"p", sliding_log(5, 1s), fixed_window(5, 1min)};
    BOOST_TEST(in_transaction_mode(both, {.verb = verb::refund}) ==
               "refund: execution_mode::multi cannot return tokens to a policy with a fixed_window "
               "(expected sliding_log rules only)");
    BOOST_TEST(in_transaction_mode(both, {.now = 5'000'000}) ==
               "now: the server's clock ends a fixed_window in execution_mode::multi "
               "(expected no time)");
    BOOST_TEST(in_transaction_mode(policy{"p", fixed_window(5, 1500us).from_first()}, {}) ==
               "execution_mode::multi: the period of rule 1, a fixed_window with from_first(), is "
               "counted by the server (expected whole milliseconds)");
    const auto packed = policy{"p", fixed_window(5, 1s)}.with_storage(storage::shared_hash);
    BOOST_TEST(in_transaction_mode(packed, {}) ==
               "execution_mode::multi: packed storage needs a script (expected a policy without "
               "storage::shared_hash)");
    // A window has no events, so it takes any cost.
    const auto alone = policy{"p", fixed_window(5, 1s)};
    const auto any = detail::call_request{.verb = verb::charge, .cost = 100'001};
    BOOST_TEST(!redis::error_of_transaction(*detail::access::data(alone), any));
}

BOOST_AUTO_TEST_CASE(every_fault_of_every_rule_has_a_message_and_is_the_code_that_it_was) {
    for (auto f = 1; f <= static_cast<int>(fault::multi_time); ++f)
        for (std::size_t rule = 0; rule < limits::max_rules_per_policy; ++rule)
            for (auto kind = 0; kind <= static_cast<int>(core::kind::lockout); ++kind) {
                const auto ec =
                    detail::error_of(static_cast<fault>(f), {rule, static_cast<core::kind>(kind)});
                const auto may_pass = f == static_cast<int>(fault::request_room) ||
                                      f == static_cast<int>(fault::holder_room);
                BOOST_TEST((may_pass ? ec == errc::server_error
                                     : ec == errc::invalid_argument || ec == errc::invalid_policy));
                BOOST_TEST((ec == (may_pass ? condition::transient : condition::permanent)));
                BOOST_TEST(ec.message().find("(expected ") != std::string::npos);
            }
    const auto plain = make_error_code(errc::closed);
    BOOST_TEST((plain.category() == detail::error_of(fault::cost).category()));
    BOOST_TEST((detail::error_of(fault::cost) != errc::invalid_policy));
    BOOST_TEST(detail::error_of(fault::cost).category().message(plain.value()) == plain.message());
}

BOOST_AUTO_TEST_SUITE_END()
