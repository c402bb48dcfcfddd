// SPDX-License-Identifier: BSL-1.0
//
// Every kind of rule, and rates from one in a century to a billion a second, counted in
// microseconds, milliseconds and seconds; numbers that make no rule are drawn again.

#include "random_policy.hpp"

#include <colimit/error.hpp>
#include <core/compiled_policy.hpp>
#include <core/rule_kind.hpp>

#include <algorithm>
#include <chrono>
#include <string_view>

namespace colimit::differential {
namespace {

constexpr std::string_view names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"};
constexpr algorithm kinds_of_windows[] = {algorithm::fixed_window, algorithm::calendar,
                                          algorithm::sliding_window};
constexpr std::int64_t quickest_recovery = 6'000'000;

constexpr std::int64_t periods[] = {1, 1'000, 1'000'000, 60'000'000, 86'400'000'000};

/// Properties shared by the rules of a history.
struct taste {
    bool quick;      ///< they recover within seconds, for a clock that cannot be set
    bool continuous; ///< buckets for which callers can wait in line
    bool plain;      ///< and nothing else to them: the script has ways of their own for such
    bool coarse;     ///< buckets that are counted in milliseconds or seconds
    bool windows;    ///< a fixed window or a counter and nothing else, which have ways, too
    bool packed;     ///< their states are numbers
    bool slots;      ///< one of them is `concurrent`, in each version
    bool slots_only; ///< it is the only rule
};

[[nodiscard]] std::int64_t draw_period(test::rng& d, bool quick) {
    return quick ? d.magnitude(quickest_recovery)
                 : d.pick(periods) * d.magnitude(d.percent(50) ? 30 : 100'000);
}

[[nodiscard]] rule draw_bucket(test::rng& d, taste asked) {
    const auto quick = asked.quick;
    const auto kind = static_cast<algorithm>(d.below(4));
    // Counted in milliseconds, in which a full bucket is little below 2^53, or in seconds.
    if (!quick && (asked.coarse || (!asked.plain && d.percent(15)))) {
        const auto milliseconds = 86'400'000 * d.between(30, 300);
        const auto many =
            d.between(std::int64_t{1} << 51, std::int64_t{1} << 53) / milliseconds | 1;
        return {kind, many, milliseconds * 1'000, many};
    }
    // Not a whole number of ticks for each token.
    if (d.percent(10))
        return {kind, d.between(2, 7), 1'000'003, d.between(1, 20)};
    const auto count = d.magnitude(quick ? 2'000 : 3'000'000'000);
    const auto capacity = d.percent(30)   ? count
                          : d.percent(70) ? d.magnitude(quick ? 50 : 10'000)
                                          : d.magnitude(quick ? 5'000 : 5'000'000'000'000);
    auto r = rule{kind, count, draw_period(d, quick), capacity};
    if (asked.plain)
        return r;
    if (!asked.continuous && d.percent(25))
        r = d.percent(50) ? r.stepwise() : r.aligned();
    return d.percent(20) ? r.initially(d.percent(25) ? capacity : d.between(0, capacity)) : r;
}

[[nodiscard]] std::int64_t draw_limit(test::rng& d) {
    return d.magnitude(d.percent(70) ? 20 : d.percent(50) ? 100'000 : 5'000'000'000);
}

[[nodiscard]] rule draw_fixed_window(test::rng& d, bool quick) {
    const auto r = fixed_window(draw_limit(d), std::chrono::microseconds{draw_period(d, quick)});
    return d.percent(50) ? r.from_first() : r;
}

[[nodiscard]] rule draw_sliding_window(test::rng& d, bool quick) {
    // Products above 2^53: these are counted in milliseconds and seconds.
    if (!quick && d.percent(30))
        return sliding_window(d.magnitude(5'000'000'000),
                              std::chrono::hours{24} * d.between(1, 60));
    return sliding_window(draw_limit(d), std::chrono::microseconds{draw_period(d, quick)});
}

[[nodiscard]] rule draw_window(test::rng& d, bool quick) {
    const auto limit = draw_limit(d);
    const auto kind = d.pick(kinds_of_windows);
    if (kind == algorithm::fixed_window)
        return draw_fixed_window(d, quick);
    if (kind == algorithm::calendar)
        return calendar(limit, static_cast<calendar_unit>(d.below(4)),
                        std::chrono::minutes{d.percent(50) ? 0 : d.between(-1'080, 1'080)});
    return draw_sliding_window(d, quick);
}

/// Rules that remember more than numbers.
[[nodiscard]] rule draw_memory(test::rng& d, taste asked) {
    const auto limit = d.percent(10) ? d.between(300, 1'000) : d.magnitude(30);
    const auto period = std::chrono::microseconds{draw_period(d, asked.quick)};
    if (!asked.slots && d.percent(40))
        return distinct(limit, period);
    const auto log = sliding_log(limit, period);
    return d.percent(25) ? log.count_denied() : log;
}

[[nodiscard]] rule draw(test::rng& d, taste asked) {
    if (asked.windows)
        return d.percent(30) ? draw_sliding_window(d, asked.quick)
                             : draw_fixed_window(d, asked.quick);
    return asked.plain || asked.continuous || d.percent(45) ? draw_bucket(d, asked)
           : asked.packed || d.percent(60)                  ? draw_window(d, asked.quick)
                                                            : draw_memory(d, asked);
}

[[nodiscard]] bool makes_sense(const rule& r, bool quick) {
    try {
        const auto p = core::compile_policy("", {&r, 1});
        return !quick || r.kind() == algorithm::calendar ||
               core::full_recovery(p.limits[0]) <= 2 * quickest_recovery;
    } catch (const error&) {
        return false;
    }
}

[[nodiscard]] rule random_rule(test::rng& d, std::string_view name, taste asked) {
    if (d.percent(8)) // the way of all others, then
        asked.plain = asked.continuous = asked.windows = false;
    auto r = draw(d, asked);
    while (!makes_sense(r, asked.quick))
        r = draw(d, asked);
    return r.named(name).shadow(d.percent(asked.plain || asked.windows ? 5 : 15));
}

[[nodiscard]] std::string_view unused_name(test::rng& d, const std::vector<rule>& rules) {
    for (;;) {
        const auto name = d.pick(names);
        if (std::ranges::none_of(rules, [&](const rule& r) { return r.name() == name; }))
            return name;
    }
}

/// Returns the same rule except for its name, its capacity or its period.
[[nodiscard]] rule almost(test::rng& d, const rule& r, const std::vector<rule>& rules, bool quick) {
    if (d.percent(40))
        return rule{r}.named(unused_name(d, rules));
    const auto is_bucket = r.kind() < algorithm::fixed_window && !r.has_initial();
    const auto is_window =
        r.kind() == algorithm::fixed_window || r.kind() == algorithm::sliding_window;
    const auto period = d.percent(50) ? r.period().count() : draw_period(d, quick);
    const auto capacity = d.percent(50) ? d.magnitude(50) : r.capacity();
    const auto made = rule{r.kind(), is_window ? capacity : r.count(), period, capacity};
    if ((!is_bucket && !is_window) || !makes_sense(made, quick))
        return r;
    return (is_window && r.is_from_first() ? made.from_first() : made).named(r.name());
}

void change(test::rng& d, std::vector<rule>& rules, taste asked) {
    for (auto& r : rules) {
        if (d.percent(25))
            r = random_rule(d, r.name(), asked);
        else if (d.percent(20))
            r = almost(d, r, rules, asked.quick);
        else if (!asked.plain && d.percent(10))
            r = r.shadow(!r.is_shadow());
    }
    if (d.percent(25))
        d.shuffle(rules);
    if (d.percent(25) && rules.size() > 1)
        rules.erase(rules.begin() + static_cast<std::ptrdiff_t>(d.below(rules.size())));
    if (!asked.windows && d.percent(25) &&
        rules.size() < limits::max_rules_per_policy - (asked.slots ? 1 : 0))
        rules.insert(rules.begin() + static_cast<std::ptrdiff_t>(d.below(rules.size() + 1)),
                     random_rule(d, unused_name(d, rules), asked));
}

[[nodiscard]] rule draw_slots(test::rng& d, bool quick) {
    const auto longest = quick ? quickest_recovery : limits::max_slot_lease.count();
    const auto lease = std::max(limits::min_slot_lease.count(), d.magnitude(longest));
    return concurrent(d.percent(80) ? d.between(1, 4) : d.magnitude(limits::max_concurrent))
        .lease(std::chrono::microseconds{lease})
        .named("slots")
        .shadow(d.percent(10));
}

[[nodiscard]] policy with_options(test::rng& d, const std::vector<rule>& rules, taste asked) {
    auto all = asked.slots_only ? std::vector<rule>{} : rules;
    if (asked.slots)
        all.insert(all.begin() + static_cast<std::ptrdiff_t>(d.below(all.size() + 1)),
                   draw_slots(d, asked.quick));
    auto made = policy{"p", all};
    const auto bare = asked.plain || asked.windows || (asked.slots_only && d.percent(50));
    if (!bare && d.percent(20))
        made = made.prevent_duplicate(std::chrono::microseconds{
            d.magnitude(asked.quick ? quickest_recovery : limits::max_repayment.count())});
    if (asked.packed)
        made = made.with_storage(storage::shared_hash);
    return !bare && d.percent(10) ? made.shadow() : made;
}

} // namespace

std::vector<policy> random_versions(test::rng& d, bool quick, bool packed) {
    const auto slots = !packed && d.percent(20);
    const auto asked = taste{.quick = quick,
                             .continuous = d.percent(15),
                             .plain = d.percent(packed ? 50 : 20),
                             .coarse = d.percent(5),
                             .windows = d.percent(10),
                             .packed = packed,
                             .slots = slots,
                             .slots_only = slots && d.percent(50)};
    auto rules = std::vector<rule>{};
    const auto one = asked.windows || d.percent(packed ? 70 : 40);
    const auto most = limits::max_rules_per_policy - (asked.slots ? 1 : 0);
    const auto size = one ? 1 : 1 + d.below(most);
    while (rules.size() < size)
        rules.push_back(random_rule(d, unused_name(d, rules), asked));
    auto versions = std::vector<policy>{};
    versions.push_back(with_options(d, rules, asked));
    while (versions.size() < 5 && d.percent(40)) {
        change(d, rules, asked);
        versions.push_back(with_options(d, rules, asked));
    }
    return versions;
}

} // namespace colimit::differential
