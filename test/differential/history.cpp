// SPDX-License-Identifier: BSL-1.0
//
// The story-teller. It asks the model while it tells, so that it can go to the instants that
// matter: the one at which a denied call is allowed, and the microseconds beside it.

#include "history.hpp"

#include "known_calls.hpp"
#include "model.hpp"
#include "random_bytes.hpp"
#include "random_policy.hpp"
#include <support/rng.hpp>

#include <core/rule_kind.hpp>
#include <core/verb_traits.hpp>
#include <policy/policy_data.hpp>
#include <redis/script/wire.hpp>
#include <support/stored_value.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

namespace colimit::differential {
namespace {

using core::verb;

constexpr std::size_t calls_of_history = 300;
constexpr std::size_t most_with_ids = 8; // keys of a batch

class story {
  public:
    story(std::uint64_t seed, bool server_clock, bool packed) : rng_(seed) {
        told_.seed = seed;
        told_.server_clock = server_clock;
        told_.keys = 1 + rng_.below(6);
        told_.packed = packed;
        meddled_with_ = !packed || rng_.percent(50);
        told_.versions = random_versions(rng_, server_clock, packed);
        side_by_side_ = rng_.percent(40);
        now_ = first_time();
    }

    [[nodiscard]] history tell() {
        for (auto calls = std::size_t{0}; calls < calls_of_history;
             calls += std::min<std::size_t>(told_.steps.back().calls.size(), 100)) {
            if (side_by_side_ && rng_.percent(50))
                version_ = rng_.below(told_.versions.size());
            else if (rng_.percent(6) && version_ + 1 < told_.versions.size())
                version_ = rng_.percent(80) ? version_ + 1 : rng_.below(told_.versions.size());
            told_.steps.push_back(next_step());
        }
        return std::move(told_);
    }

  private:
    [[nodiscard]] const core::compiled_policy& rules() const {
        return detail::access::data(told_.versions[version_])->compiled;
    }
    [[nodiscard]] const core::compiled_rule& some_rule() {
        return rules().limits[rng_.below(rules().size)];
    }

    [[nodiscard]] std::int64_t first_time() {
        if (told_.server_clock)
            return 0;
        return rng_.percent(50)   ? std::int64_t{1'700'000'000'000'000} + rng_.between(0, 999'999)
               : rng_.percent(30) ? turn_of_calendar()
               : rng_.percent(30) ? rng_.between(0, 5'000'000)
               : rng_.percent(60) ? rng_.between(0, limits::max_time)
                                  : limits::max_time - rng_.magnitude(limits::max_time);
    }

    /// On a day before or after which a month, a year or a leap day begins.
    [[nodiscard]] std::int64_t turn_of_calendar() {
        using namespace std::chrono;
        constexpr month_day days[] = {January / 1,   February / 28, March / 1,
                                      November / 30, December / 1,  December / 31};
        constexpr int years[] = {1999, 2000, 2001, 2004, 2005, 2099, 2100, 2101};
        const auto in =
            rng_.percent(50) ? rng_.pick(years) : static_cast<int>(rng_.between(1970, 2111));
        const sys_days day = year{in} / rng_.pick(days);
        return microseconds{day.time_since_epoch()}.count() + rng_.between(0, 86'399'999'999);
    }

    [[nodiscard]] step next_step() {
        const auto chance = rng_.below(100);
        if (chance < 4 && meddled_with_)
            return plant();
        if (chance < 6 && meddled_with_)
            return intrude(step_kind::intrude);
        if (chance < 10 && meddled_with_)
            return intrude(step_kind::remove);
        if (chance < 16 && told_.keys > 1 && !told_.packed && !rules().has_slots)
            return together();
        if (told_.server_clock && chance < 18 && pauses_ < 2) {
            ++pauses_;
            return {.kind = step_kind::pause,
                    .milliseconds = rng_.between(1, told_.packed ? 30 : 1'800)};
        }
        return batch();
    }

    [[nodiscard]] step plant() {
        const auto key = rng_.below(told_.keys);
        const auto place = random_place();
        if (place == packed_place::head && rng_.percent(70))
            return {.kind = step_kind::plant, .key = key, .place = place, .bytes = random_head()};
        auto bytes = random_bytes(rng_, rules(), now_);
        twin_[key].value = bytes;
        return {.kind = step_kind::plant, .key = key, .place = place, .bytes = std::move(bytes)};
    }

    [[nodiscard]] step intrude(step_kind kind) {
        const auto key = rng_.below(told_.keys);
        twin_[key].value.reset();
        return {.kind = kind, .key = key, .place = random_place()};
    }

    /// Since when a hash is the new one and until when it lives, at the edges of both.
    [[nodiscard]] std::string random_head() {
        const auto generation = rules().generation;
        const std::int64_t sinces[] = {now_, now_ - generation, now_ - rng_.magnitude(generation)};
        const std::int64_t ends[] = {now_ + generation, now_ + rng_.magnitude(generation), 0};
        auto bytes = std::string{};
        for (const auto* numbers : {&sinces, &ends}) {
            const auto number = static_cast<double>(rng_.pick(*numbers) + rng_.between(-1, 1));
            bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
        }
        // The numbers of values that are brief: of a version, of none, or of nothing that was.
        const auto& other =
            detail::access::data(told_.versions[rng_.below(told_.versions.size())])->compiled;
        bytes += test::encode_brief_numbers(rng_.percent(60) ? rules() : other);
        while (rng_.percent(30) && bytes.size() < 36)
            bytes += static_cast<char>(rng_.bits());
        bytes.resize(80);
        return bytes;
    }

    [[nodiscard]] packed_place random_place() {
        return told_.packed ? static_cast<packed_place>(rng_.below(3)) : packed_place{};
    }

    /// Returns how many charges make a log so long that it is read in parts, as far as the facts of
    /// a batch may be in one reply.
    [[nodiscard]] std::uint64_t calls_of_long_log() {
        if (!rules().has_log || rules().has_slots || core::log_capacity(rules()) <= 500)
            return 0;
        const auto all = rules().rules();
        return 60'000 /
               (32 * static_cast<std::uint64_t>(std::ranges::count_if(all, [](const auto& l) {
                    return core::form_of(l.kind) != core::state_form::numbers;
                })));
    }

    [[nodiscard]] step batch() {
        move_clock();
        auto made = step{};
        if (const auto times = calls_of_long_log(); times > 0 && rng_.percent(8)) {
            add_times(made, 0, {verb::charge, 1, 1, clock()}, std::min<std::uint64_t>(times, 700));
            return made;
        }
        if (!rules().has_slots && rng_.percent(15)) {
            for (auto left = 1 + rng_.below(most_with_ids); left > 0; --left)
                add_with_id(made);
            return made;
        }
        // The form of a batch that needs no list of calls.
        if (!rules().has_slots && rng_.percent(told_.packed ? 60 : 20)) {
            const auto has_facts = rules().has_log || rules().has_distinct;
            const auto many = !has_facts && rng_.percent(5) ? 300U : 20U;
            const auto most = rng_.percent(50) ? 1 : 1 + rng_.below(many);
            for (std::size_t key = 0; key < told_.keys; ++key)
                if (rng_.percent(70) || key == 0)
                    add_times(made, key, {verb::allow, 1, 1, clock()}, 1 + rng_.below(most));
            return made;
        }
        for (auto left = 1 + rng_.below(rng_.percent(30) ? 40 : 8); left > 0; --left)
            add_times(made, rng_.below(told_.keys), random_question(),
                      rng_.percent(80) ? 1 : 1 + rng_.below(12));
        return made;
    }

    /// Checks of as many keys, each by a policy of its own; often cheap, so that all may allow.
    [[nodiscard]] step together() {
        move_clock();
        auto made = step{.kind = step_kind::together};
        auto keys = std::vector<std::size_t>(told_.keys);
        std::iota(keys.begin(), keys.end(), 0);
        rng_.shuffle(keys);
        keys.resize(std::min(keys.size(), 2 + rng_.below(3)));
        for (const auto key : keys) {
            const auto cost = rng_.percent(60) ? rng_.between(0, 2) : random_cost();
            made.calls.push_back({key,
                                  with_member({verb::allow, cost, random_least(cost), clock()}),
                                  rng_.percent(40) ? version_ : rng_.below(told_.versions.size())});
        }
        last_ = twin_.answer_together(told_.versions, made.calls, now_).back().answer;
        return made;
    }

    /// Equal calls in a row, which a batch makes one of: of one member, too.
    void add_times(step& to, std::size_t key, core::call_request request, std::uint64_t times) {
        request = with_member(request);
        const auto first = to.calls.size();
        for (; times > 0; --times)
            add(to, key, request);
        if (!may_lease(request) || rng_.percent(60) ||
            std::ranges::any_of(
                to.calls, [key](const key_call& c) { return c.key == key && c.further != 0; }))
            return;
        to.calls[first].further =
            static_cast<std::uint32_t>(1 + rng_.below(rng_.percent(5) ? 16'384 : 30));
        request.now = now_;
        for (auto left = to.calls[first].further; left > 0; --left)
            (void)twin_.answer(rules(), key, request, last_);
    }

    [[nodiscard]] bool may_lease(const core::call_request& request) const {
        return request.verb == verb::allow && request.cost > 0 &&
               request.at_least == request.cost && !rules().has_log && !rules().has_distinct &&
               rules().state_count == rules().size;
    }

    /// One of a few, so that some come again.
    [[nodiscard]] std::string_view random_member() {
        static const auto members = [] {
            auto all = std::array<std::string, 64>{};
            for (std::size_t i = 0; i < all.size(); ++i)
                all[i] = "member " + std::to_string(i);
            return all;
        }();
        return members[rng_.below(rng_.percent(70) ? 12 : members.size())];
    }

    [[nodiscard]] std::string_view random_holder() {
        constexpr std::string_view ids[] = {"holder is  1", "holder is  2", "holder is  3",
                                            "holder is  4", "holder is  5", "holder is  6",
                                            "holder is  7", "holder is  8"};
        return rng_.pick(ids);
    }

    [[nodiscard]] core::call_request with_member(core::call_request request) {
        request.member = rules().has_slots ? random_holder() : random_member();
        request.has_member = true;
        return request;
    }

    /// One of a few ids, so that calls are made again, sometimes with other arguments.
    void add_with_id(step& to) {
        static const auto ids = [] {
            auto all = std::array<std::string, 12>{};
            for (std::size_t i = 0; i < all.size(); ++i)
                all[i] = "id " + std::to_string(i);
            return all;
        }();
        const auto key = rng_.below(told_.keys);
        auto request = core::call_request{};
        do
            request = with_member(random_question());
        while (!core::traits_of(request.verb).may_have_id);
        request.has_id = true;
        request.id = ids[rng_.below(ids.size())];
        const auto* known = known_.find(key, request);
        if (known != nullptr && rng_.percent(80)) {
            request = known->request;
            request.now = clock();
            if (rng_.percent(20))
                request.member = random_member();
        }
        to.calls.push_back({key, request, version_});
        if (known != nullptr)
            return;
        auto at = request;
        at.now = now_;
        (void)twin_.answer(rules(), key, at, last_);
        known_.remember(key, request, *detail::access::data(told_.versions[version_]), last_);
    }

    void add(step& to, std::size_t key, core::call_request request) {
        to.calls.push_back({key, request, version_});
        request.now = now_;
        (void)twin_.answer(rules(), key, request, last_);
    }

    [[nodiscard]] std::int64_t clock() const {
        return told_.server_clock ? detail::store_clock : now_;
    }

    [[nodiscard]] core::call_request random_question() {
        return rules().has_slots ? slots_question() : tokens_question();
    }

    [[nodiscard]] core::call_request slots_question() {
        const auto chance = rng_.below(100);
        if (chance < 3)
            return {verb::reset, 0, 0, clock()};
        if (chance < 5)
            return hold_question();
        const auto cost = rng_.percent(80) ? rng_.between(0, 1) : random_cost();
        if (chance < 15)
            return {verb::peek, cost, random_least(cost), clock()};
        if (chance < 60)
            return {verb::acquire, cost, cost, clock()};
        return {chance < 82 ? verb::renew : verb::release, 0, 0, clock()};
    }

    [[nodiscard]] core::call_request tokens_question() {
        const auto chance = rng_.below(100);
        if (chance < 5)
            return {verb::reset, 0, 0, clock()};
        const auto cost = random_cost();
        if (chance < 18)
            return {verb::charge, cost, cost, clock()};
        if (chance < 32)
            return {verb::refund, cost, cost, clock()};
        if (chance < 36 && !told_.packed)
            return hold_question();
        if (chance < 55 && rules().can_reserve)
            return reserve_question(cost);
        return {chance < 42 ? verb::peek : verb::allow, cost, random_least(cost), clock()};
    }

    [[nodiscard]] std::int64_t random_least(std::int64_t cost) {
        if (rng_.percent(75))
            return cost;
        return rng_.percent(60) ? std::min<std::int64_t>(cost, 1) : rng_.between(0, cost);
    }

    [[nodiscard]] core::call_request hold_question() {
        const auto length =
            rng_.magnitude(told_.server_clock ? 5'000'000 : limits::max_recovery.count());
        const auto blocks = rules().has_log || rules().has_slots || rng_.percent(50);
        return {blocks ? verb::block : verb::once, rng_.percent(10) ? 0 : length, 0, clock()};
    }

    /// A place in the future; or the one that was given last is given back, or nearly that one.
    [[nodiscard]] core::call_request reserve_question(std::int64_t cost) {
        if (rng_.percent(40))
            return {verb::unreserve, cost,
                    std::max<std::int64_t>(0, core::recovers_at(last_) +
                                                  (rng_.percent(80) ? 0 : rng_.between(-1, 1))),
                    clock()};
        const auto most = rng_.magnitude(limits::max_repayment.count());
        const auto wait = std::max<std::int64_t>(0, last_.retry_after.count());
        return {verb::reserve, cost,
                rng_.percent(70)   ? most
                : rng_.percent(50) ? last_.reset_after.count()
                                   : std::min(wait, limits::max_repayment.count()),
                clock()};
    }

    [[nodiscard]] std::int64_t random_cost() {
        constexpr std::int64_t edges[] = {0, 1, 2, std::int64_t{1} << 31,
                                          limits::max_exact_integer};
        const auto capacity = some_rule().capacity;
        switch (rng_.below(8)) {
        case 0:
            return rng_.pick(edges);
        case 1:
            return capacity;
        case 2:
            return std::min(capacity + rng_.between(-1, 1), limits::max_exact_integer);
        case 3:
            return last_.rules.empty() ? 1 : std::max<std::int64_t>(0, last_.remaining);
        case 4:
            return rng_.between(0, capacity);
        default:
            return rng_.magnitude(std::max<std::int64_t>(1, capacity / 4));
        }
    }

    void move_clock() {
        if (told_.server_clock || rng_.percent(25))
            return;
        now_ = std::clamp<std::int64_t>(now_ + jump(), 0, limits::max_time);
    }

    [[nodiscard]] std::int64_t jump() {
        constexpr std::int64_t days[] = {1, 7, 31, 366, 1'461}; // of calendars
        const auto& b = some_rule();
        const auto off = rng_.between(-1, 1);
        const auto bounded = [](std::chrono::microseconds wait) {
            return std::min(wait.count(), limits::max_recovery.count());
        };
        const auto is_bucket = b.kind == core::kind::bucket;
        const auto period = is_bucket                        ? b.num / b.den * b.unit
                            : b.kind == core::kind::calendar ? 86'400'000'000 * rng_.pick(days)
                                                             : b.period * b.unit;
        const auto recovery =
            is_bucket ? std::max<std::int64_t>(1, b.debt_limit / b.den) * b.unit : 2 * period;
        switch (rng_.below(10)) {
        case 0:
        case 1:
            return bounded(last_.retry_after) + off;
        case 2:
            return bounded(last_.reset_after) + off;
        case 3:
        case 4:
            return period + off;
        case 5:
            return rng_.magnitude(2 * recovery);
        case 6:
            return -rng_.magnitude(2 * recovery);
        case 7:
            return rng_.percent(20) ? -rng_.magnitude(limits::max_time) : -1;
        case 8:
            return rng_.magnitude(rng_.percent(20) ? limits::max_time : 1'000'000);
        default:
            return b.unit * rng_.between(1, 3) + off;
        }
    }

    test::rng rng_;
    history told_;
    model twin_{6};
    known_calls known_;
    decision last_;
    std::int64_t now_ = 0;
    std::size_t version_ = 0;
    int pauses_ = 0;
    bool meddled_with_ = true;  ///< by others
    bool side_by_side_ = false; ///< versions run at the same time, rather than one after another
};

} // namespace

bool step::are_equal(std::size_t a, std::size_t b) const {
    const auto& one = calls[a].request;
    const auto& other = calls[b].request;
    return calls[a].key == calls[b].key && one.verb == other.verb && one.cost == other.cost &&
           one.at_least == other.at_least;
}

std::size_t history::calls() const noexcept {
    auto sum = std::size_t{0};
    for (const auto& s : steps)
        sum += s.calls.size();
    return sum;
}

history random_history(std::uint64_t seed, bool server_clock, bool packed) {
    return story{seed, server_clock, packed}.tell();
}

} // namespace colimit::differential
