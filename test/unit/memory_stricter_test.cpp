// SPDX-License-Identifier: BSL-1.0
//
// Merging two states of one rule: whichever versions of the policy wrote them, the result is never
// less strict than either.

#include <core/rule_kind.hpp>
#include <support/key_history.hpp>
#include <support/rounds.hpp>
#include <support/rules_of_every_kind.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(memory_stricter)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using core::rule_state;
using test::key_history;

constexpr auto second = std::int64_t{1'000'000};
constexpr auto hour = 3'600 * second;
constexpr auto start = std::int64_t{1'699'999'200} * second; // an hour begins

/// Random states of one key, which several versions of its policy have used.
class random_states {
  public:
    explicit random_states(std::uint64_t seed) : random_(seed) {}

    [[nodiscard]] std::int64_t number(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution{least, most}(random_);
    }
    template<class Range>
    [[nodiscard]] const auto& any_of(const Range& r) {
        return r[static_cast<std::size_t>(number(0, std::ssize(r) - 1))];
    }

    /// As it is stored at `now`, under the last of the versions.
    [[nodiscard]] rule_state next(const std::vector<policy>& versions, std::int64_t now) {
        auto k = key_history{versions.front(), now - number(0, 3 * hour)};
        k.forget_flags_between_calls = true;
        for (auto n = number(1, 4); n > 0; --n) {
            k.policy = any_of(versions);
            make_call(k);
            k.now = number(k.now, now);
        }
        k.policy = versions.back();
        k.now = now;
        if (number(0, 1) == 0)
            make_call(k);
        auto s = k.state.states[0];
        const auto& l = k.plan().limits[0];
        (void)core::advance(l, s, now);
        core::fold(l, s);
        return s;
    }

  private:
    void make_call(key_history& k) {
        const auto cost = number(1, 25);
        switch (number(0, 3)) {
        case 0:
            return (void)k.charge(cost);
        case 1:
            if (k.plan().limits[0].kind == core::kind::bucket)
                return (void)k.reserve(std::min(cost, k.plan().limits[0].capacity), hour);
            [[fallthrough]];
        default:
            (void)k.allow(cost, 1);
        }
    }

    std::mt19937_64 random_;
};

/// Of a counter and what another version has left of one, that version keeps only what a counter
/// can hold, and for as long, unless the counter has used nothing in this window, and no more than
/// the limit in the previous one.
[[nodiscard]] bool may_be_lost(const core::compiled_rule& l, const rule_state& a,
                               const rule_state& b) {
    const auto& own = a.num > core::steps_mark ? b : a;
    return l.kind == core::kind::counter &&
           (a.num > core::steps_mark) != (b.num > core::steps_mark) &&
           (own.debt != 0 || own.capacity > l.debt_limit);
}

[[nodiscard]] std::string text(const rule_state& s) {
    return " {" + std::to_string(s.t - start) + ", " + std::to_string(s.debt) + ", " +
           std::to_string(s.num > core::steps_mark ? s.num - core::steps_mark : s.num) + ", " +
           std::to_string(s.capacity) + "}";
}

[[nodiscard]] std::int64_t fitting(const policy& p, rule_state s, std::int64_t now) {
    const auto& l = detail::access::data(p)->compiled.limits[0];
    (void)core::advance(l, s, now);
    return core::visit(l.kind, [&]<class K>(K) { return K::available(l, s, l.capacity, now); });
}

} // namespace

BOOST_AUTO_TEST_CASE(one_state_of_two_is_at_no_time_less_strict_than_either) {
    const auto small = test::rules_of_every_kind(5, 1h);
    const auto large = test::rules_of_every_kind(12, 1h);
    const auto brief = test::rules_of_every_kind(8, 10min);
    auto states = random_states{1};
    for (std::size_t kind = 0; kind < small.size(); ++kind) {
        const auto make = [](const rule& r) { return policy{"p", r.named("r")}; };
        auto versions = std::vector{make(small[kind]), make(large[kind]), make(brief[kind])};
        for (auto n = 0; n < test::rounds(1'000); ++n) {
            std::swap(versions.back(), versions[static_cast<std::size_t>(states.number(0, 2))]);
            const auto& own = versions.back();
            const auto now = start + states.number(0, 30 * hour);
            const auto a = states.next(versions, now);
            const auto b = states.next(versions, now);
            const auto& l = detail::access::data(own)->compiled.limits[0];
            const auto both = core::stricter(l, a, b);
            for (auto later = now; later < now + 40 * hour; later += states.number(1, 3 * hour))
                for (const auto& p : versions) {
                    if (&p != &own && may_be_lost(l, a, b))
                        continue;
                    // Another version may not distinguish a full bucket from one that owes more.
                    const auto most = std::max(std::min(fitting(p, a, later), fitting(p, b, later)),
                                               &p == &own ? core::nothing_fits : 0);
                    BOOST_TEST_REQUIRE(fitting(p, both, later) <= most,
                                       "kind " << kind << ", run " << n << ", after " << later - now
                                               << " us"
                                               << (&p == &own ? "" : ", by another version")
                                               << text(a) << text(b) << text(both));
                }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_state_and_itself_are_as_strict_as_it_is) {
    const auto small = test::rules_of_every_kind(5, 1h);
    const auto brief = test::rules_of_every_kind(12, 10min);
    auto states = random_states{2};
    for (std::size_t kind = 0; kind < small.size(); ++kind) {
        const auto make = [](const rule& r) { return policy{"p", r.named("r")}; };
        const auto versions = std::vector{make(brief[kind]), make(small[kind])};
        for (auto n = 0; n < test::rounds(1'000); ++n) {
            const auto now = start + states.number(0, 30 * hour);
            const auto a = states.next(versions, now);
            const auto& own = versions.back();
            const auto both = core::stricter(detail::access::data(own)->compiled.limits[0], a, a);
            for (auto later = now; later < now + 40 * hour; later += states.number(1, 3 * hour))
                BOOST_TEST_REQUIRE(fitting(own, both, later) == fitting(own, a, later),
                                   "kind " << kind << ", run " << n << ", after " << later - now
                                           << " us" << text(a) << text(both));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
