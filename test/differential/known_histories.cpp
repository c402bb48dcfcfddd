// SPDX-License-Identifier: BSL-1.0
//
// Each with what was wrong.

#include "known_histories.hpp"

#include <colimit/limits.hpp>
#include <core/rule_kind.hpp>
#include <policy/policy_data.hpp>
#include <redis/script/wire.hpp>
#include <support/stored_value.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace colimit::differential {
namespace {

using core::verb;

/// The debt and the cost are 1.1 times 2^53 ticks together; added before the capacity is
/// subtracted, they are one tick too many, and the wait a millisecond too long.
[[nodiscard]] history a_wait_beside_a_large_debt() {
    constexpr std::int64_t now = 1'109'564'204'312'498;
    constexpr std::int64_t wait = 13'046'399'998'501;
    const auto all = std::int64_t{2'341'254};
    return {.versions = {policy{"p", token_bucket(all, all, std::chrono::hours{24} * 151)}},
            .steps = {
                {.calls = {{0, {verb::allow, 1'929'842, 1, now}},
                           {0, {verb::charge, 1'985'169, 1'985'169, now}}}},
                {.calls = {{0, {verb::reserve, all, wait, now + 1'001}}}},
            }};
}

constexpr std::int64_t noon = 1'700'000'001'234'567;

/// The wait is as long as the most that a quicker bucket may owe, or a microsecond longer, and that
/// is not a whole number of its ticks.
[[nodiscard]] history a_wait_as_long_as_a_debt_can_be(std::int64_t longer) {
    constexpr auto wait = (std::int64_t{1} << 52) / 1000;
    const auto slow = std::chrono::microseconds{wait + longer};
    const auto quick = token_bucket(1'000'000, 1'000'000'000, std::chrono::seconds{1});
    return {.versions = {policy{"p", quick.named("quick"), gcra(1, slow).named("slow")}},
            .steps = {
                {.calls = {{0, {verb::allow, 1, 1, noon}}}},
                {.calls = {{0, {verb::reserve, 1, 2 * wait, noon}}}},
            }};
}

/// The largest debt is no whole number of tokens.
[[nodiscard]] history a_charge_up_to_the_largest_debt() {
    const auto seven = std::chrono::microseconds{7};
    const auto most = limits::max_repayment.count() / 7;
    auto told = history{.versions = {policy{"p", gcra(1, seven).named("a"),
                                            token_bucket(5, 1, seven).stepwise().named("b"),
                                            token_bucket(5, 1, seven).aligned().named("c")}},
                        .steps = {}};
    for (const auto cost : {most - 1, most, most + 1}) {
        told.steps.push_back({.calls = {{0, {verb::charge, cost, cost, noon}}}});
        told.steps.push_back({.calls = {{0, {verb::reset, 0, 0, noon}}}});
    }
    return told;
}

/// A foreign value has more debt than is possible.
[[nodiscard]] history more_than_the_largest_debt(const rule& r) {
    const auto p = policy{"p", r};
    const auto& l = detail::access::data(p)->compiled.limits[0];
    auto state = core::key_state{};
    state.states[0] = {
        .t = noon + 1'000, .debt = l.debt_max + 5, .num = l.num, .capacity = l.capacity};
    return {.versions = {p},
            .steps = {
                {.kind = step_kind::plant,
                 .bytes = test::encode_value(detail::access::data(p)->compiled, state, 0)},
                {.calls = {{0, {verb::refund, 1, 1, noon}}}},
            }};
}

/// Where a number of a slot is: t, debt, num or capacity.
[[nodiscard]] char* number_of(std::string& value, std::size_t slot, std::size_t field) {
    const auto slots = (value.size() - 8) / 36;
    return value.data() + 8 +
           (field < 2 ? 20 * slots + 16 * slot + 8 * field : 20 * slot + 4 + 8 * (field - 2));
}

void set_number(std::string& value, std::size_t slot, std::size_t field, double number) {
    std::memcpy(number_of(value, slot, field), &number, sizeof number);
}

void patch(std::string& value, std::size_t slot, std::size_t field, double by) {
    auto number = 0.0;
    std::memcpy(&number, number_of(value, slot, field), sizeof number);
    set_number(value, slot, field, number + by);
}

/// Values that are nearly regular ones, each before an allow of one token.
[[nodiscard]] history almost_regular_values(const policy& p) {
    const auto& rules = detail::access::data(p)->compiled;
    auto state = core::key_state{};
    for (std::size_t i = 0; i < rules.size; ++i) {
        const auto& l = rules.limits[i];
        const auto is_window = l.kind > core::kind::aligned;
        const auto length = l.period * l.unit;
        state.states[i] = {.t = l.kind != core::kind::bucket ? (noon / length + 1) * length
                                                             : noon - 7,
                           .debt = l.debt_limit - l.num,
                           .num = l.kind == core::kind::counter ? length
                                  : is_window                   ? 1
                                                                : l.num,
                           .capacity = l.kind == core::kind::counter ? 1
                                       : is_window                   ? 1
                                                                     : l.capacity};
    }
    const auto regular = test::encode_value(rules, state, 0);
    auto values = std::vector<std::string>{regular, regular + '\0', regular.substr(1)};
    // One slot, or all of them.
    for (std::size_t slot = 0; slot <= rules.size; ++slot) {
        const auto change = [&](auto how) {
            auto& value = values.emplace_back(regular);
            for (std::size_t i = 0; i < rules.size; ++i)
                if (slot == i || slot == rules.size)
                    how(value, i);
        };
        change([](std::string& value, std::size_t i) { value[8 + 20 * i] ^= 1; }); // its tag
        for (std::size_t field = 0; field < 4; ++field)
            for (const auto by : {-0.5, 0.5, 1.0, -1.0, 1e16}) {
                change([&](std::string& value, std::size_t i) { patch(value, i, field, by); });
                for (std::size_t other = 0; other < field; ++other)
                    change([&](std::string& value, std::size_t i) {
                        patch(value, i, field, by);
                        patch(value, i, other, -0.5);
                    });
            }
        for (std::size_t field = 0; field < 4; ++field)
            change([&](std::string& value, std::size_t i) { set_number(value, i, field, -0.0); });
        for (const auto from_now : {-1.0, 0.0, 1.0}) {
            const auto t = static_cast<double>(noon) + from_now;
            change([&](std::string& value, std::size_t i) { set_number(value, i, 0, t); });
            change([&](std::string& value, std::size_t i) {
                set_number(value, i, 0, t);
                set_number(value, i, 1, -0.0);
            });
        }
    }
    auto told = history{.versions = {p}, .steps = {}};
    for (const auto& value : values) {
        told.steps.push_back({.kind = step_kind::plant, .bytes = value});
        told.steps.push_back({.calls = {{0, {verb::allow, 1, 1, noon}}}});
    }
    return told;
}

/// One call and ten at once, where one bucket, each in its turn, has room for half of one, and for
/// three and a half.
[[nodiscard]] history some_of_equal_calls(std::size_t buckets) {
    constexpr std::string_view names[] = {"a", "b", "c", "d", "e"};
    auto wide = std::vector<rule>{};
    for (std::size_t i = 0; i < buckets; ++i)
        wide.push_back(gcra(100, std::chrono::hours{1}).named(names[i]));
    const auto p = policy{"p", wide};
    const auto& rules = detail::access::data(p)->compiled;
    auto told = history{.versions = {p}, .steps = {}};
    for (std::size_t turn = 0; turn < 4 * buckets; ++turn) {
        auto state = core::key_state{};
        const auto fit = turn % 2 == 0 ? 0 : 3;
        for (std::size_t i = 0; i < buckets; ++i) {
            const auto& l = rules.limits[i];
            const auto room = i == turn / 4 ? fit * l.num + l.num / 2 : l.debt_limit;
            state.states[i] = {
                .t = noon, .debt = l.debt_limit - room, .num = l.num, .capacity = l.capacity};
        }
        told.steps.push_back(
            {.kind = step_kind::plant, .bytes = test::encode_value(rules, state, 0)});
        told.steps.push_back({.calls = std::vector<key_call>(turn % 4 < 2 ? 1 : 10,
                                                             {0, {verb::allow, 1, 1, noon}})});
    }
    return told;
}

/// In the last unit of a window that is counted in units, what was before weighs one more unit.
[[nodiscard]] history the_last_unit_of_a_window() {
    const auto p = policy{"p", sliding_window(3'000'000'000, std::chrono::hours{720})};
    const auto& l = detail::access::data(p)->compiled.limits[0];
    const auto length = l.period * l.unit;
    const auto end = (noon / length + 1) * length;
    auto state = core::key_state{};
    state.states[0] = {.t = end, .debt = l.debt_limit - 1, .num = length, .capacity = 1};
    return {.versions = {p},
            .steps = {
                {.kind = step_kind::plant,
                 .bytes = test::encode_value(detail::access::data(p)->compiled, state, 0)},
                {.calls = {{0, {verb::allow, 1, 1, end - 1}}}},
            }};
}

/// Such a bucket's key lives on until it would be full again.
[[nodiscard]] history buckets_that_begin_full_by_name(const policy& p) {
    return {.server_clock = true,
            .versions = {p},
            .steps = {{.calls = {{0, {verb::allow, 1, 1, detail::store_clock}}}}}};
}

/// The key has come to its end when a call is made again, which then does not look for it.
[[nodiscard]] history a_call_again_after_the_end_of_its_key() {
    auto allow = core::call_request{verb::allow, 1, 1, detail::store_clock};
    allow.has_id = true;
    allow.id = "id";
    const auto begins_with_debt = gcra(51, std::chrono::microseconds{673}).initially(49);
    return {.server_clock = true,
            .versions = {policy{"p", begins_with_debt}},
            .steps = {{.calls = {{0, allow}}},
                      {.kind = step_kind::pause, .milliseconds = 1'200},
                      {.calls = {{0, allow}}}}};
}

/// Around every day on which the rule for leap years has a case of its own, and month 12 ends.
[[nodiscard]] history turns_of_the_calendar() {
    using namespace std::chrono;
    auto told = history{.versions = {policy{"p", calendar(3, calendar_unit::day).named("d"),
                                            calendar(9, calendar_unit::week).named("w"),
                                            calendar(30, calendar_unit::month).named("m"),
                                            calendar(300, calendar_unit::year).named("y")}},
                        .steps = {}};
    for (const auto in : {1970, 1999, 2000, 2001, 2003, 2004, 2099, 2100, 2101, 2111})
        for (const sys_days around :
             {sys_days{year{in} / January / 3}, sys_days{year{in} / March / 2},
              sys_days{year{in} / December / 30}})
            for (auto day = around - days{in == 1970 ? 2 : 5}; day <= around + days{5}; ++day) {
                const auto now = microseconds{(day + hours{12}).time_since_epoch()}.count();
                told.steps.push_back({.calls = {{0, {verb::allow, 1, 1, now}}}});
            }
    return told;
}

/// More charges than a log keeps events, and most of them given back.
[[nodiscard]] history a_refund_of_more_than_a_log_keeps(const rule& r) {
    auto told = history{.versions = {policy{"p", r}}, .steps = {}};
    auto now = noon;
    const auto call = [&](verb v, std::int64_t cost) {
        told.steps.push_back({.calls = {{0, {v, cost, cost, ++now}}}});
    };
    for (int i = 0; i < 100; ++i)
        call(i % 3 == 0 ? verb::allow : verb::charge, 1);
    for (const auto given_back : {50, 20, 10, 9, 8, 7, 6, 5, 4}) {
        call(verb::refund, given_back);
        for (int i = 0; i < 4; ++i)
            call(verb::allow, 1);
    }
    return told;
}

/// Many events come to lie after now: for every verb that moves them.
[[nodiscard]] history a_clock_set_back_behind_a_log(const rule& r) {
    auto told = history{.versions = {policy{"p", r}}, .steps = {}};
    auto now = noon;
    for (const auto v : {verb::allow, verb::charge, verb::refund, verb::block, verb::peek}) {
        for (int i = 0; i < 12; ++i)
            told.steps.push_back({.calls = {{0, {verb::charge, 2, 2, now += 10}}}});
        now -= 75;
        told.steps.push_back({.calls = {{0, {v, 1, 1, now}}}});
        told.steps.push_back({.calls = {{0, {verb::refund, 3, 3, now + 1}}}});
        told.steps.push_back({.calls = {{0, {verb::allow, 1, 1, now + 2}}}});
    }
    return told;
}

/// An aligned bucket finds debt that a continuous one left, waits for the boundary after the next,
/// and is charged above its capacity: the second call of the batch must see what the next batch
/// will.
[[nodiscard]] history a_charge_of_what_a_continuous_bucket_left(std::int64_t ahead) {
    const auto period = std::chrono::microseconds{1'377};
    return {.versions = {policy{"p", token_bucket(46, 1'673, period).named("k")},
                         policy{"p", token_bucket(2, 1'673, period).aligned().named("k")}},
            .steps = {
                {.calls = {{0, {verb::allow, 2, 2, noon + ahead}, 0}}},
                {.calls = {{0, {verb::charge, 1, 1, noon}, 1}, {0, {verb::allow, 0, 0, noon}, 1}}},
            }};
}

/// A member that is charged changes the state, so the wait that a longer prevent_duplicate has left
/// is shown as it is stored then: the second call of the batch must see it.
[[nodiscard]] history a_charged_member_beside_a_longer_gap() {
    const auto rule = distinct(5, std::chrono::seconds{1}).named("f");
    const auto gap = [&](int hours) {
        return policy{"p", rule}.prevent_duplicate(std::chrono::hours{hours});
    };
    return {.versions = {gap(700), gap(200)},
            .steps = {
                {.calls = {{0, {verb::allow, 1, 1, noon, "a"}, 0}}},
                {.calls = {{0, {verb::charge, 2, 2, noon + 600'000, "b"}, 1},
                           {0, {verb::peek, 1, 1, noon + 600'000, "c"}, 1}}},
            }};
}

/// A call that moves events from after now, but records nothing, does not lengthen the time for
/// which the log is kept.
[[nodiscard]] history a_longer_log_that_only_moves_events() {
    const auto of = [](std::chrono::seconds period) {
        return policy{"p", sliding_log(99, period).named("k")};
    };
    return {.versions = {of(std::chrono::seconds{3}), of(std::chrono::hours{240})},
            .steps = {
                {.calls = {{0, {verb::allow, 2, 1, noon}, 0}}},
                {.calls = {{0, {verb::allow, 0, 0, noon - 10'000'000}, 1}}},
                {.calls = {{0, {verb::allow, 5, 1, noon + 3'000'000'000}, 0}}},
            }};
}

/// States of windows and counters of another period, charged twice in a batch, refunded and read by
/// both.
[[nodiscard]] history another_period(rule (*make)(std::chrono::seconds period)) {
    auto told = history{.versions = {policy{"p", make(std::chrono::seconds{60}).named("w")},
                                     policy{"p", make(std::chrono::seconds{900}).named("w")},
                                     policy{"p", make(std::chrono::seconds{7}).named("w")}},
                        .steps = {}};
    auto now = noon;
    for (const auto version : std::vector<std::size_t>{0, 1, 2, 1, 0, 2, 2, 1}) {
        told.steps.push_back({.calls = {{0, {verb::charge, 7, 7, now}, version},
                                        {0, {verb::charge, 1, 1, now}, version},
                                        {0, {verb::allow, 3, 1, now}, version}}});
        now += 8'000'000;
        told.steps.push_back({.calls = {{0, {verb::refund, 2, 2, now}, 2 - version}}});
        now += 31'000'000;
    }
    return told;
}

} // namespace

std::vector<history> known_histories() {
    constexpr auto hour = std::chrono::hours{1};
    const auto full = token_bucket(5, 1, hour).initially(5);
    using std::chrono::seconds;
    return {a_charged_member_beside_a_longer_gap(),
            a_longer_log_that_only_moves_events(),
            another_period([](seconds p) { return fixed_window(5, p); }),
            another_period([](seconds p) { return fixed_window(5, p).from_first(); }),
            another_period([](seconds p) { return sliding_window(5, p); }),
            another_period([](seconds p) { return sliding_log(5, p); }),
            a_charge_of_what_a_continuous_bucket_left(0),
            a_charge_of_what_a_continuous_bucket_left(5'000),
            almost_regular_values(policy{"p", gcra(5, hour)}),
            almost_regular_values(policy{"p", gcra(5, hour).named("a"), gcra(7, hour).named("b")}),
            almost_regular_values(policy{"p", gcra(7, hour).named("a"), gcra(5, hour).named("b"),
                                         gcra(6, hour).named("c")}),
            almost_regular_values(policy{"p", gcra(8, hour).named("a"), gcra(7, hour).named("b"),
                                         gcra(5, hour).named("c"), gcra(6, hour).named("d")}),
            some_of_equal_calls(1),
            some_of_equal_calls(2),
            some_of_equal_calls(3),
            some_of_equal_calls(5),
            almost_regular_values(policy{"p", fixed_window(5, hour)}),
            almost_regular_values(policy{"p", fixed_window(5, hour).from_first()}),
            almost_regular_values(policy{"p", sliding_window(5, hour)}),
            almost_regular_values(policy{"p", sliding_window(3'000'000'000, 720 * hour)}),
            almost_regular_values(policy{"p", token_bucket(5, 1, hour).stepwise()}),
            almost_regular_values(policy{"p", token_bucket(5, 1, hour).aligned()}),
            the_last_unit_of_a_window(),
            buckets_that_begin_full_by_name(policy{"p", full}),
            buckets_that_begin_full_by_name(policy{"p", full.named("a"), full.named("b")}),
            a_call_again_after_the_end_of_its_key(),
            a_wait_beside_a_large_debt(),
            turns_of_the_calendar(),
            a_wait_as_long_as_a_debt_can_be(0),
            a_wait_as_long_as_a_debt_can_be(1),
            a_charge_up_to_the_largest_debt(),
            more_than_the_largest_debt(gcra(5, hour)),
            more_than_the_largest_debt(token_bucket(5, 1, hour).stepwise()),
            more_than_the_largest_debt(token_bucket(5, 1, hour).aligned()),
            more_than_the_largest_debt(fixed_window(5, hour)),
            more_than_the_largest_debt(fixed_window(5, hour).from_first()),
            more_than_the_largest_debt(sliding_window(5, hour)),
            a_refund_of_more_than_a_log_keeps(sliding_log(5, hour)),
            a_refund_of_more_than_a_log_keeps(sliding_log(5, hour).count_denied()),
            a_clock_set_back_behind_a_log(sliding_log(30, hour)),
            a_clock_set_back_behind_a_log(sliding_log(3, hour).count_denied())};
}

} // namespace colimit::differential
