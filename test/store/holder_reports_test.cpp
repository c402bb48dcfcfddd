// SPDX-License-Identifier: BSL-1.0
//
// What the script reports of holders, and how it changes their sorted set: the same as its twin,
// core/slot_set.hpp, for any ends of leases and any token; and sets of other programs.

#include "stores.hpp"

#include <core/slot_counts.hpp>
#include <core/state_encoding.hpp>
#include <core/verb_traits.hpp>
#include <redis/script/script_batch.hpp>
#include <redis/script/wire.hpp>
#include <support/decision_text.hpp>
#include <support/fake_operation.hpp>
#include <support/rng.hpp>
#include <support/script_double.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

BOOST_AUTO_TEST_SUITE(holder_reports)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;
using core::slot_set;
using core::verb;

constexpr auto lease = std::int64_t{3'600'000'000};
constexpr auto usual_now = std::int64_t{1'700'000'123'456'789};
const auto one = policy{"p", concurrent(1).lease(1h)};
const auto three = policy{"p", concurrent(3).lease(1h)};
const auto sixty = policy{"p", concurrent(60).lease(1h)};
const auto shadow = policy{"p", concurrent(1).lease(1h).shadow()};

/// Holders and '' by their scores.
using sorted_set = std::map<std::string, double>;

[[nodiscard]] core::call_request request_of(verb v, std::string_view holder, std::int64_t now,
                                            std::int64_t cost = 1) {
    const auto acquires = v == verb::acquire;
    return {.verb = v,
            .cost = acquires || v == verb::block ? cost : 0,
            .at_least = acquires ? cost : 0,
            .now = now,
            .member = holder,
            .has_member = !holder.empty()};
}

/// A call that the script makes.
class scripted_call {
  public:
    scripted_call(const policy& p, const core::call_request& request) : op{request} {
        look().must({"SCRIPT", "LOAD", redis::check_script.body});
        batch_.start(detail::access::data(p), request.now, 1);
        batch_.add(op, "colimit", "key");
        batch_.encode(bytes_, "0");
        const auto words = commands_of(bytes_).at(0);
        key_ = words.at(3);
        set_ = words.at(4);
    }

    void make() {
        begin_ = std::chrono::steady_clock::now();
        look().send(bytes_);
        look().receive([&](const redis::resp::decoder& d, std::string_view reply) {
            const auto& rules = batch_.policy()->compiled;
            if (!batch_.read_reply(d, reply) ||
                !redis::decode_facts(rules, d.text(d.nodes()[2], reply), facts))
                throw std::runtime_error{"the reply is not one to this batch"};
        });
        batch_.release([](detail::operation& o) { o.is_held = false; });
    }

    /// Replaces the keys that it will find.
    void plant(const sorted_set& holders) {
        look().must({"DEL", key_, set_});
        for (const auto& [id, score] : holders) {
            auto text = std::array<char, 40>{};
            std::snprintf(text.data(), text.size(), "%.17g", score);
            look().must({"ZADD", set_, text.data(), id});
        }
    }
    [[nodiscard]] sorted_set holders() const {
        auto found = sorted_set{};
        const auto all = look().must({"ZRANGE", set_, "0", "-1", "WITHSCORES"}).elements;
        for (std::size_t i = 0; i < all.size(); i += 2)
            found[all[i].text] = std::stod(all[i + 1].text);
        return found;
    }
    /// Returns at least what it was when the call was made, however long ago that is.
    [[nodiscard]] std::int64_t first_pttl() const {
        const auto left = look().pttl(set_);
        const auto passed = std::chrono::steady_clock::now() - begin_;
        return left + std::chrono::ceil<std::chrono::milliseconds>(passed).count();
    }

    fake_operation op;
    std::array<core::rule_state, core::max_states> facts{}; ///< that were reported

  private:
    redis::script_batch batch_{1};
    std::string bytes_;
    std::string key_;
    std::string set_;
    std::chrono::steady_clock::time_point begin_;
};

[[nodiscard]] sorted_set contents(const slot_set& of) {
    auto all = sorted_set{};
    for (const auto& h : of.holders())
        all[{h.id.begin(), h.id.end()}] = static_cast<double>(h.end);
    if (of.token() != 0)
        all[""] = -static_cast<double>(of.token());
    return all;
}

/// Returns an id of a holder, which all have one size.
[[nodiscard]] std::string id_of(std::size_t number) {
    const auto digits = std::to_string(100 + number);
    return "holder id" + digits.substr(digits.size() - 3);
}

[[nodiscard]] slot_set random_set(rng& random, std::int64_t now) {
    auto set = slot_set{};
    // The script looks at large sets in another way than at small ones.
    const auto size = random.percent(80) ? random.below(7) : 20 + random.below(120);
    const auto is_usual = random.percent(50);
    for (std::size_t i = 0; i < size; ++i) {
        const auto usual = random.pick({std::int64_t{1}, lease / 3, lease - 1, lease});
        const auto unusual =
            random.pick({-lease, std::int64_t{-1}, std::int64_t{0}, lease + 1, 2 * lease});
        const auto end = now + (is_usual || random.percent(50) ? usual : unusual);
        if (end < 0)
            continue;
        const auto id = id_of(i);
        BOOST_REQUIRE(set.make_room(INT64_MIN / 2));
        set.add(id, INT64_MIN / 2, 0);
        set.extend(id, end, 0);
    }
    if (!set.is_empty())
        set.pass_token(random.pick({std::int64_t{1}, now - 1, now, now + 5, slot_set::max_token - 1,
                                    slot_set::max_token}));
    return set;
}

/// A set of one holder, whose lease ends in the middle of a microsecond, and this token.
[[nodiscard]] sorted_set with_token(double score) {
    return {{"holder is  a", 5.5}, {"", score}};
}

[[nodiscard]] std::uint64_t token_after(const sorted_set& planted, std::int64_t now) {
    auto call = scripted_call{three, request_of(verb::acquire, "holder is  b", now)};
    call.plant(planted);
    call.make();
    BOOST_TEST(call.op.is_allowed());
    return call.op.fencing_token;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_call_reports_and_leaves_what_its_twin_does) {
    auto random = rng{1};
    for (auto round = 0; round < 2'000; ++round) {
        const auto now = random.pick({std::int64_t{0}, std::int64_t{10}, usual_now});
        const auto& p = *random.pick({&one, &three, &sixty, &shadow});
        const auto& rules = detail::access::data(p)->compiled;
        const auto v = random.pick({verb::acquire, verb::acquire, verb::renew, verb::renew,
                                    verb::release, verb::peek, verb::block, verb::reset});
        const auto has_holder = core::traits_of(v).has_holder;
        const auto id = id_of(random.below(7));
        const auto request =
            request_of(v, has_holder ? std::string_view{id} : "", now, random.between(0, 4));
        auto set = random_set(random, now);
        auto call = scripted_call{p, request};
        call.plant(contents(set));
        call.make();

        (void)core::apply_before(set, rules, request);
        auto state = core::decode_value(rules, std::nullopt);
        core::report_counts(set, rules, request, state.states);
        const auto reported = state.states;
        BOOST_TEST_REQUIRE((call.facts[0] == reported[0]), round);
        auto expected = decision{};
        (void)core::evaluate(rules, state, request, expected);
        BOOST_TEST_REQUIRE(call.op.ended({}), call.op.ec.message());
        BOOST_TEST_REQUIRE((call.op.result == expected),
                           text_of(call.op.result) << " instead of " << text_of(expected));
        BOOST_TEST_REQUIRE(call.op.fencing_token ==
                           core::fencing_token(rules, reported, request, expected));
        BOOST_REQUIRE(set.make_room(now));
        (void)core::apply_after(set, rules, request, expected);
        BOOST_TEST_REQUIRE((call.holders() == contents(set)), round);
        const auto gives = (v == verb::acquire || v == verb::renew) && expected.allowed();
        BOOST_TEST_REQUIRE((!gives || call.first_pttl() >= lease / 1'000), round);
    }
}

BOOST_AUTO_TEST_CASE(tokens_and_ends_are_whole_numbers_whatever_is_stored) {
    BOOST_TEST(token_after({}, 0) == 1U);
    BOOST_TEST(token_after(with_token(-20.5), 0) == 21U);
    BOOST_TEST(token_after(with_token(-0.5), 0) == 1U);
    BOOST_TEST(token_after(with_token(7), 0) == 1U); // no token is negative
    BOOST_TEST(token_after({{"holder is  a", 5.0}}, 0) == 1U);
    for (const auto& planted :
         {with_token(-HUGE_VAL), with_token(-20.5), with_token(7), {{"holder is  a", 5.0}}}) {
        auto call = scripted_call{three, request_of(verb::renew, "holder is  a", 1)};
        call.plant(planted);
        call.make();
        BOOST_TEST(call.op.is_allowed(), call.op.ec.message());
    }
    auto call = scripted_call{one, request_of(verb::peek, "", 1)};
    call.plant(with_token(0));
    call.make();
    BOOST_TEST(call.facts[0].t == 5);
    BOOST_TEST(call.facts[0].capacity == 5);
}

BOOST_AUTO_TEST_CASE(any_number_of_leases_is_shortened) {
    for (const auto size : {1, 2, 999, 1'000, 1'001, 5'000}) {
        auto planted = sorted_set{{"", -1.0}};
        for (auto i = 0; i < size; ++i)
            planted["holder" + std::to_string(100'000 + i)] =
                static_cast<double>(usual_now + 2 * lease + i);
        auto call = scripted_call{three, request_of(verb::renew, "holder is  a", usual_now)};
        call.plant(planted);
        call.make();
        BOOST_TEST(call.op.ended({}), call.op.ec.message());
        for (auto& [id, score] : planted)
            score = id.empty() ? score : static_cast<double>(usual_now + lease);
        BOOST_TEST((call.holders() == planted), size);
        BOOST_TEST(call.first_pttl() >= lease / 1'000);
    }
}

BOOST_AUTO_TEST_SUITE_END()
