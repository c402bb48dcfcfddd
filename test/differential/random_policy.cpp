// SPDX-License-Identifier: BSL-1.0
//
// Rates from one in a century to a billion a second, counted in microseconds, milliseconds and
// seconds; numbers that make no rule are drawn again.

#include "random_policy.hpp"

#include <colimit/error.hpp>
#include <core/plan.hpp>

#include <algorithm>
#include <string_view>

namespace colimit::differential {
namespace {

constexpr std::string_view names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"};
constexpr std::int64_t quickest_recovery = 6'000'000;

[[nodiscard]] rule draw(dice& d, bool quick) {
    constexpr std::int64_t periods[] = {1, 1'000, 1'000'000, 60'000'000, 86'400'000'000};
    const auto kind = static_cast<algorithm>(d.below(4));
    const auto count = d.magnitude(quick ? 2'000 : 3'000'000'000);
    const auto period = quick ? d.magnitude(quickest_recovery)
                              : d.pick(periods) * d.magnitude(d.percent(50) ? 30 : 100'000);
    const auto capacity = d.percent(30)   ? count
                          : d.percent(70) ? d.magnitude(quick ? 50 : 10'000)
                                          : d.magnitude(quick ? 5'000 : 5'000'000'000'000);
    return rule{kind, count, period, capacity};
}

[[nodiscard]] bool makes_sense(const rule& r, bool quick) {
    try {
        const auto p = core::make_plan("", {&r, 1});
        const auto& b = p.buckets[0];
        return !quick || b.full / b.den * b.unit <= quickest_recovery;
    } catch (const error&) {
        return false;
    }
}

[[nodiscard]] rule random_rule(dice& d, std::string_view name, bool quick) {
    auto r = draw(d, quick);
    while (!makes_sense(r, quick))
        r = draw(d, quick);
    return r.named(name).shadow(d.percent(15));
}

[[nodiscard]] std::string_view unused_name(dice& d, const std::vector<rule>& rules) {
    for (;;) {
        const auto name = d.pick(names);
        if (std::ranges::none_of(rules, [&](const rule& r) { return r.name() == name; }))
            return name;
    }
}

void change(dice& d, std::vector<rule>& rules, bool quick) {
    for (auto& r : rules) {
        if (d.percent(30))
            r = random_rule(d, r.name(), quick);
        else if (d.percent(10))
            r = r.shadow(!r.is_shadow());
    }
    if (d.percent(25))
        d.shuffle(rules);
    if (d.percent(25) && rules.size() > 1)
        rules.erase(rules.begin() + static_cast<std::ptrdiff_t>(d.below(rules.size())));
    if (d.percent(25) && rules.size() < limits::rules_per_policy)
        rules.insert(rules.begin() + static_cast<std::ptrdiff_t>(d.below(rules.size() + 1)),
                     random_rule(d, unused_name(d, rules), quick));
}

} // namespace

std::vector<policy> random_versions(dice& d, bool quick) {
    auto rules = std::vector<rule>{};
    const auto size = d.percent(40) ? 1 : 1 + d.below(limits::rules_per_policy);
    while (rules.size() < size)
        rules.push_back(random_rule(d, unused_name(d, rules), quick));
    auto versions = std::vector<policy>{};
    versions.emplace_back("p", rules);
    while (versions.size() < 5 && d.percent(40)) {
        change(d, rules, quick);
        versions.emplace_back("p", rules);
    }
    return versions;
}

} // namespace colimit::differential
