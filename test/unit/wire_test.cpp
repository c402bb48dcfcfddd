// SPDX-License-Identifier: BSL-1.0
//
// The bytes that this process and the script exchange.

#include <core/policy_encoding.hpp>
#include <core/state_encoding.hpp>
#include <support/unit_test.hpp>

#include <colimit/policy.hpp>
#include <policy/policy_data.hpp>
#include <redis/script/wire.hpp>
#include <support/stored_value.hpp>

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(wire)

namespace {

using namespace std::chrono_literals;
using namespace colimit;

template<class T>
[[nodiscard]] std::string bytes_of(T value) {
    auto out = std::string(sizeof value, '\0');
    std::memcpy(out.data(), &value, sizeof value);
    return out;
}

struct slot {
    std::uint32_t tag;
    double t;
    double debt;
    double num;
    double capacity;
};

[[nodiscard]] std::string value_of(double expires, const std::vector<slot>& slots) {
    auto out = bytes_of(expires);
    for (const auto& s : slots)
        out += bytes_of(s.tag) + bytes_of(s.num) + bytes_of(s.capacity);
    for (const auto& s : slots)
        out += bytes_of(s.t) + bytes_of(s.debt);
    return out;
}

const auto one = policy{"p", gcra(3, 1s).named("a")};
const auto two = policy{"p", gcra(3, 1s).named("a"), gcra(5, 7s).burst(2).named("b").shadow()};

[[nodiscard]] const core::compiled_policy& plan_of(const policy& p) {
    return detail::access::data(p)->compiled;
}

[[nodiscard]] std::uint32_t tag_a() {
    return plan_of(one).limits[0].tag;
}

[[nodiscard]] bool is_invalid(std::string_view value, const policy& p = one) {
    const auto state = core::decode_value(plan_of(p), value);
    return state.exists && state.stale && state.states == decltype(state.states){};
}

} // namespace

BOOST_AUTO_TEST_CASE(a_plan_is_the_number_of_rules_and_their_numbers) {
    const auto& plan = plan_of(two);
    auto expected = std::string("\x02\x02\0", 3);
    for (const auto& l : plan.rules()) {
        expected += bytes_of(l.tag) + static_cast<char>(l.kind) + (l.shadow ? '\x01' : '\0');
        for (const auto number :
             {l.capacity, l.num, l.den, l.unit, l.debt_max, l.period, l.count, l.offset, l.initial})
            expected += bytes_of(static_cast<double>(number));
        expected += bytes_of(static_cast<double>(l.calendar));
    }
    BOOST_TEST(core::encode_policy(plan) == expected);
    BOOST_TEST(detail::access::data(two)->wire == expected);
    BOOST_TEST(expected.size() == 3U + 2 * 86);
}

BOOST_AUTO_TEST_CASE(a_packed_plan_ends_with_its_generation) {
    const auto packed =
        policy{"p", gcra(2, std::chrono::seconds{1})}.with_storage(storage::shared_hash);
    const auto& wire = detail::access::data(packed)->wire;
    BOOST_TEST(wire[2] == '\x02');
    BOOST_TEST(detail::access::data(packed.shadow())->wire[2] == '\x03');
    BOOST_TEST(wire.substr(3 + 86) == bytes_of(1'000'000.0));
}

BOOST_AUTO_TEST_CASE(a_hold_follows_the_rules_of_a_plan) {
    const auto held = two.prevent_duplicate(std::chrono::seconds{5});
    const auto& wire = detail::access::data(held)->wire;
    BOOST_TEST(wire.substr(0, 2) == "\x02\x03");
    BOOST_TEST(wire.size() == 3U + 3 * 86);
}

BOOST_AUTO_TEST_CASE(a_call_is_its_key_verb_times_cost_and_least) {
    auto out = std::string{"x"};
    redis::append_call(out, 258, 772, {.verb = core::verb::refund, .cost = 7, .at_least = 5});
    BOOST_TEST(out == "x\x02\x01\x03\x04\x03" + bytes_of(7.0) + bytes_of(5.0));
    out.clear();
    redis::append_call(out, 0, 0, {.cost = limits::max_exact_integer, .at_least = 0});
    BOOST_TEST(out == std::string(5, '\0') + bytes_of(9007199254740991.0) + bytes_of(0.0));
    redis::append_times(out = "x", 772, true);
    BOOST_TEST(out == "x\x04\x03");
    redis::append_times(out = "x", 255, false);
    BOOST_TEST(out == "x\xff");
}

BOOST_AUTO_TEST_CASE(a_value_comes_back_as_it_was_written) {
    auto state = core::key_state{};
    state.exists = true;
    state.states[0] = {
        .t = limits::max_time, .debt = 1, .num = limits::max_exact_integer, .capacity = 1};
    state.states[1] = {.t = 0, .debt = 0, .num = 1, .capacity = limits::max_exact_integer};
    const auto value = test::encode_value(plan_of(two), state, 123'456'789);
    BOOST_TEST(value.size() == 8U + 2 * 36);
    const auto& rules = plan_of(two).limits;
    BOOST_TEST(value ==
               value_of(123'456'789, {{rules[0].tag, 4503599627370496, 1, 9007199254740991, 1},
                                      {rules[1].tag, 0, 0, 1, 9007199254740991}}));
    const auto back = core::decode_value(plan_of(two), value);
    BOOST_TEST((back.states == state.states));
    BOOST_TEST(back.exists);
    BOOST_TEST(!back.stale);
}

BOOST_AUTO_TEST_CASE(a_value_of_one_rule_has_44_bytes) {
    BOOST_TEST(test::encode_value(plan_of(one), {}, 0).size() == 44U);
}

BOOST_AUTO_TEST_CASE(no_key_is_no_state) {
    const auto state = core::decode_value(plan_of(one), std::nullopt);
    BOOST_TEST(!state.exists);
    BOOST_TEST(!state.stale);
    BOOST_TEST(state.states[0].num == 0);
}

BOOST_AUTO_TEST_CASE(states_are_found_by_their_tag_wherever_they_stand) {
    const auto tag_b = plan_of(two).limits[1].tag;
    const auto value =
        value_of(0, {{77, 1, 2, 3, 4}, {tag_b, 5, 6, 7, 8}, {tag_a(), 9, 10, 11, 12}});
    const auto state = core::decode_value(plan_of(two), value);
    BOOST_TEST(!state.stale);
    BOOST_TEST((state.states[0] == core::rule_state{9, 10, 11, 12}));
    BOOST_TEST((state.states[1] == core::rule_state{5, 6, 7, 8}));
}

BOOST_AUTO_TEST_CASE(a_rule_that_the_value_does_not_have_has_no_state) {
    const auto value = value_of(0, {{tag_a(), 9, 10, 11, 12}});
    const auto state = core::decode_value(plan_of(two), value);
    BOOST_TEST(!state.stale);
    BOOST_TEST(state.states[0].t == 9);
    BOOST_TEST(state.states[1].num == 0);
}

BOOST_AUTO_TEST_CASE(a_brief_value_has_t_and_debt_and_what_the_policy_says) {
    const auto packed = one.with_storage(storage::shared_hash);
    const auto state = core::decode_value(plan_of(packed), bytes_of(9.0) + bytes_of(10.0));
    BOOST_TEST(state.exists);
    BOOST_TEST(!state.stale);
    BOOST_TEST((state.states[0] == core::rule_state{9, 10, plan_of(one).limits[0].num, 3}));
    for (const auto bad : {-1.0, 0.5, 9007199254740992.0, std::nan("")}) {
        BOOST_TEST(is_invalid(bytes_of(bad) + bytes_of(10.0), packed));
        BOOST_TEST(is_invalid(bytes_of(9.0) + bytes_of(bad), packed));
    }
    BOOST_TEST(is_invalid(bytes_of(9.0) + bytes_of(10.0), one));
    BOOST_TEST(is_invalid(bytes_of(9.0) + bytes_of(10.0), two.with_storage(storage::shared_hash)));
    BOOST_TEST(!is_invalid(value_of(0, {{tag_a(), 9, 10, 11, 12}}), packed));
}

BOOST_AUTO_TEST_CASE(brief_values_leave_out_what_all_states_of_a_rule_have) {
    const auto numbers_of = [](const rule& r) {
        return test::encode_brief_numbers(
            plan_of(policy{"p", r.named("a")}.with_storage(storage::shared_hash)));
    };
    const auto tag = bytes_of(tag_a());
    const auto num = bytes_of(static_cast<double>(plan_of(one).limits[0].num));
    BOOST_TEST(numbers_of(gcra(3, 1s)) == tag + num + bytes_of(3.0));
    const auto period = bytes_of(static_cast<double>(core::steps_mark + 1'000'000));
    BOOST_TEST(numbers_of(token_bucket(3, 3, 1s).stepwise()).substr(4, 8) == period);
    BOOST_TEST(numbers_of(token_bucket(3, 3, 1s).aligned()).substr(4, 8) == period);
    for (const auto& r :
         {fixed_window(5, 1s), fixed_window(5, 1s).from_first(), calendar(5, calendar_unit::day)})
        BOOST_TEST(numbers_of(r).substr(4, 8) ==
                   bytes_of(static_cast<double>(plan_of(policy{"p", r}).limits[0].num)));
    BOOST_TEST(numbers_of(fixed_window(5, 1s)).substr(4, 8) == period);
    BOOST_TEST(numbers_of(token_bucket(3, 3, 1s).stepwise()).substr(12) == bytes_of(3.0));
    BOOST_TEST(numbers_of(fixed_window(5, 1s)).substr(12) == bytes_of(1.0));
    BOOST_TEST(numbers_of(sliding_window(5, 1s)).empty());
    BOOST_TEST(test::encode_brief_numbers(plan_of(one)).empty());
    BOOST_TEST(test::encode_brief_numbers(plan_of(two.with_storage(storage::shared_hash))).empty());
}

BOOST_AUTO_TEST_CASE(a_value_of_another_length_is_invalid) {
    const auto good = value_of(0, {{tag_a(), 9, 10, 11, 12}});
    BOOST_TEST(!is_invalid(good));
    for (std::size_t size = 0; size < good.size(); ++size)
        BOOST_TEST(is_invalid(good.substr(0, size)));
    BOOST_TEST(is_invalid(good + "x"));
    BOOST_TEST(is_invalid("12345"));
    // Eight rules, a hold and a block are the most.
    const auto so_many = [](std::size_t slots) {
        return value_of(0, std::vector<slot>(slots, {tag_a(), 9, 10, 11, 12}));
    };
    BOOST_TEST(is_invalid(so_many(11)));
    BOOST_TEST(!is_invalid(so_many(10)));
}

BOOST_AUTO_TEST_CASE(a_value_with_a_number_that_is_none_of_ours_is_invalid) {
    const auto infinity = std::numeric_limits<double>::infinity();
    const auto nan = std::numeric_limits<double>::quiet_NaN();
    for (const auto bad : {-1.0, 0.5, 9007199254740992.0, 1e300, -1e300, infinity, -infinity, nan,
                           -nan, 5e-324, -0.5})
        for (int place = 0; place < 4; ++place) {
            double n[] = {9, 10, 11, 12};
            n[place] = bad;
            BOOST_TEST(is_invalid(value_of(0, {{tag_a(), n[0], n[1], n[2], n[3]}})));
        }
}

BOOST_AUTO_TEST_CASE(a_state_without_weight_is_invalid) {
    BOOST_TEST(is_invalid(value_of(0, {{tag_a(), 9, 10, 0, 12}})));
    BOOST_TEST(!is_invalid(value_of(0, {{tag_a(), 9, 10, 11, 0}})));
    BOOST_TEST(!is_invalid(value_of(0, {{tag_a(), 0, 0, 11, 12}})));
}

BOOST_AUTO_TEST_CASE(one_bad_state_makes_the_whole_value_invalid) {
    const auto tag_b = plan_of(two).limits[1].tag;
    const auto value = value_of(0, {{tag_a(), 9, 10, 11, 12}, {tag_b, 9, -1, 11, 12}});
    BOOST_TEST(is_invalid(value, two));
}

BOOST_AUTO_TEST_CASE(bad_numbers_of_a_rule_that_is_not_asked_do_not_matter) {
    const auto value = value_of(std::nan(""), {{tag_a(), 9, 10, 11, 12}, {77, -1, 0, 0, 0}});
    BOOST_TEST(!is_invalid(value));
}

BOOST_AUTO_TEST_SUITE_END()
