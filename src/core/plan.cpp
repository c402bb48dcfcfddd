// SPDX-License-Identifier: BSL-1.0
//
// From the numbers somebody wrote to numbers that stay exact: every product and sum of the
// arithmetic is below 2^53, in the finest unit that allows it, or the rule is refused with the
// reason.

#include <core/event_log.hpp>
#include <core/plan.hpp>
#include <hash/fnv1a.hpp>

#include <algorithm>
#include <numeric>
#include <optional>

namespace colimit::core {
namespace {

/// Microseconds, milliseconds, seconds: the finest in which a rule's numbers stay exact is its
/// unit.
constexpr std::int64_t units[] = {1, 1'000, 1'000'000};

/// Where `charge` stops at the latest, so that a debt and one token more stay exact.

/// Whether a times b is at most `most`; b is at least 1.
[[nodiscard]] constexpr bool product_fits(std::int64_t a, std::int64_t b,
                                          std::int64_t most) noexcept {
    return a <= most / b;
}

/// How rules are called in messages: `policy 'login', rule 2 'minute'`; a bare rule has no policy.
/// Names are checked before they are shown.
[[nodiscard]] std::string place(std::string_view policy, std::size_t index, const rule& r) {
    const auto where =
        policy.empty() ? std::string{"rule"}
                       : "policy '" + std::string{policy} + "', rule " + std::to_string(index + 1);
    check_name(r.name(), where + ": the name", r.name_fits(), errc::invalid_policy);
    return where + " '" + std::string{r.name()} + "'";
}

[[noreturn]] void refuse(const std::string& where, const std::string& reason) {
    throw error{errc::invalid_policy, where + ": " + reason};
}

void check_range(const std::string& where, std::string_view what, std::int64_t value) {
    if (value < 1 || value > limits::max_exact_integer)
        refuse(where, std::string{what} + " must be 1 to " +
                          std::to_string(limits::max_exact_integer) + " (got " +
                          std::to_string(value) + ")");
}

void check_period(const std::string& where, const rule& r) {
    const auto period = r.period().count();
    if (period == detail::no_duration)
        refuse(where, "the period must be a whole number of microseconds that fits 64 bits");
    if (period < 1 || period > limits::max_recovery.count())
        refuse(where,
               "the period must be 1 us to 100 years (got " + std::to_string(period) + " us)");
}

/// What an algorithm does not have.
void check_refinements(const std::string& where, const rule& r) {
    const auto bucket = is_bucket(r.kind());
    const auto only_for = [&](bool wrong, std::string_view what, std::string_view kinds) {
        if (wrong)
            refuse(where, std::string{what} + " is for " + std::string{kinds} + ", not for " +
                              std::string{to_string(r.kind())});
    };
    only_for(!bucket && r.capacity() != r.count(), "burst", "buckets");
    only_for(!bucket && r.refill() == refill::stepwise, "stepwise", "buckets");
    only_for(!bucket && r.refill() == refill::aligned, "aligned", "buckets");
    only_for(!bucket && r.has_initial(), "initially", "buckets");
    only_for(r.is_from_first() && r.kind() != algorithm::fixed_window, "from_first",
             "fixed_window");
    only_for(r.counts_denied() && r.kind() != algorithm::sliding_log, "count_denied",
             "sliding_log");
}

void check_numbers(const std::string& where, const rule& r) {
    check_refinements(where, r);
    check_range(where, is_bucket(r.kind()) ? "the count" : "the limit", r.count());
    if (is_bucket(r.kind()))
        check_range(where,
                    r.kind() == algorithm::cell ? "the capacity (max_burst + 1)" : "the capacity",
                    r.capacity());
    if (r.has_initial() && (r.initial() < 0 || r.initial() > r.capacity()))
        refuse(where, "it must start with 0 to " + std::to_string(r.capacity()) + " tokens, not " +
                          std::to_string(r.initial()));
    if (r.kind() == algorithm::sliding_log && r.count() > limits::max_log_events)
        refuse(where, "the limit of a sliding log, which remembers every charge, must be at most " +
                          std::to_string(limits::max_log_events) + " (got " +
                          std::to_string(r.count()) + ")");
    if (r.kind() != algorithm::calendar)
        check_period(where, r);
    else if (r.utc_offset() > limits::max_utc_offset || r.utc_offset() < -limits::max_utc_offset)
        refuse(where, "the offset from UTC must be -1080 to 1080 minutes (got " +
                          std::to_string(r.utc_offset().count()) + ")");
}

[[nodiscard]] kind kind_of(const rule& r) noexcept {
    switch (r.kind()) {
    case algorithm::fixed_window:
        return r.is_from_first() ? kind::from_first : kind::window;
    case algorithm::calendar:
        return kind::calendar;
    case algorithm::sliding_window:
        return kind::counter;
    case algorithm::sliding_log:
        return kind::log;
    case algorithm::distinct:
        return kind::distinct;
    default:
        return r.refill() == refill::stepwise  ? kind::stepwise
               : r.refill() == refill::aligned ? kind::aligned
                                               : kind::bucket;
    }
}

/// Kinds of one family read each other's state.
[[nodiscard]] char family_of(kind k) noexcept {
    switch (k) {
    case kind::bucket:
    case kind::stepwise:
    case kind::aligned:
        return 'b';
    case kind::window:
    case kind::from_first:
    case kind::calendar:
        return 'w';
    case kind::counter:
        return 'c';
    case kind::log:
        return 'l';
    case kind::distinct:
        return 'd';
    case kind::hold:
        return 'h';
    }
    return '?';
}

/// A bucket that is repaid continuously, counted in `unit`, if its numbers stay exact there.
[[nodiscard]] std::optional<limit> continuous(const rule& r, std::int64_t unit) {
    if (r.period().count() % unit != 0)
        return std::nullopt;
    const auto period = r.period().count() / unit;
    const auto divisor = std::gcd(period, r.count());
    const auto num = period / divisor;
    const auto den = r.count() / divisor;
    if (!product_fits(r.capacity(), num, limits::max_exact_integer))
        return std::nullopt;
    const auto full = r.capacity() * num;
    const auto longest = limits::max_repayment.count() / unit;
    const auto ticks = product_fits(longest, den, most_ticks) ? longest * den : most_ticks;
    return limit{.capacity = r.capacity(),
                 .num = num,
                 .den = den,
                 .unit = unit,
                 .full = full,
                 .most = std::max(full, ticks)};
}

/// The time in which a bucket fills must stay below a hundred years.
void check_recovery(const std::string& where, bool too_long) {
    if (too_long)
        refuse(where, "it would take more than 100 years to recover fully");
}

[[nodiscard]] limit make_continuous(const std::string& where, const rule& r) {
    for (const auto unit : units) {
        const auto made = continuous(r, unit);
        if (!made)
            continue;
        check_recovery(where, (made->full - 1) / made->den >= limits::max_recovery.count() / unit);
        return *made;
    }
    refuse(where,
           "capacity times period is too large to be counted exactly: choose a smaller burst, "
           "or a period of whole milliseconds or seconds");
}

/// A bucket whose count comes back at once.
[[nodiscard]] limit make_stepped(const std::string& where, const rule& r) {
    const auto period = r.period().count();
    const auto steps = (r.capacity() - 1) / r.count() + 1;
    check_recovery(where, steps > limits::max_recovery.count() / period);
    const auto longest = limits::max_repayment.count() / period;
    const auto tokens =
        product_fits(longest, r.count(), most_ticks) ? longest * r.count() : most_ticks;
    return {.capacity = r.capacity(),
            .num = steps_mark + period,
            .full = r.capacity(),
            .most = std::max(r.capacity(), tokens),
            .period = period,
            .count = r.count()};
}

/// The longest month and year.
constexpr std::int64_t day = 86'400'000'000;
constexpr std::int64_t longest_calendar[] = {day, 7 * day, 31 * day, 366 * day};

/// A window, aligned or from the first charge.
[[nodiscard]] limit make_window(const rule& r) {
    return {.capacity = r.count(),
            .num = steps_mark + r.period().count(),
            .full = r.count(),
            .most = std::max(r.count(), most_ticks),
            .period = r.period().count(),
            .count = r.count()};
}

/// A window of a calendar. Windows of another offset are others: each has microseconds of its own
/// above the length.
[[nodiscard]] limit make_calendar(const rule& r) {
    const auto longest = longest_calendar[static_cast<std::size_t>(r.unit())];
    return {.capacity = r.count(),
            .num = steps_mark + longest + 1 + (r.utc_offset() + limits::max_utc_offset).count(),
            .full = r.count(),
            .most = std::max(r.count(), most_ticks),
            .period = longest,
            .count = r.count(),
            .offset = std::chrono::microseconds{r.utc_offset()}.count(),
            .calendar = r.unit()};
}

/// A window of different members: what is stored of it has no numbers.
[[nodiscard]] limit make_distinct(const rule& r) {
    auto made = make_window(r);
    made.num = 1;
    return made;
}

/// A counter in the finest unit in which limit times period stays exact.
[[nodiscard]] limit make_counter(const std::string& where, const rule& r) {
    for (const auto unit : units) {
        const auto period = r.period().count() / unit;
        if (r.period().count() % unit != 0 ||
            !product_fits(r.count(), period, limits::max_exact_integer))
            continue;
        return {.capacity = r.count(),
                .num = steps_mark + r.period().count(),
                .unit = unit,
                .full = r.count(),
                .most = std::max(r.count(), most_ticks / period),
                .period = period,
                .count = r.count()};
    }
    refuse(where, "limit times period is too large to be counted exactly: choose a smaller limit, "
                  "or a period of whole milliseconds or seconds");
}

[[nodiscard]] limit make_log(const rule& r) {
    return {.capacity = r.count(),
            .full = r.count(),
            .most = event_log::most,
            .period = r.period().count(),
            .counts_denied = r.counts_denied()};
}

[[nodiscard]] limit make_numbers(const std::string& where, const rule& r) {
    switch (kind_of(r)) {
    case kind::bucket:
        return make_continuous(where, r);
    case kind::stepwise:
    case kind::aligned:
        return make_stepped(where, r);
    case kind::counter:
        return make_counter(where, r);
    case kind::log:
        return make_log(r);
    case kind::calendar:
        return make_calendar(r);
    case kind::distinct:
        return make_distinct(r);
    default:
        return make_window(r);
    }
}

[[nodiscard]] limit make_limit(const std::string& where, const rule& r, bool shadow) {
    check_numbers(where, r);
    auto made = make_numbers(where, r);
    made.kind = kind_of(r);
    made.tag = state_tag(family_of(made.kind), r.name());
    made.shadow = r.is_shadow() || shadow;
    if (r.has_initial())
        made.initial = (r.capacity() - r.initial()) * (made.full / r.capacity());
    return made;
}

/// What refuses a call for a while after one that was granted.
[[nodiscard]] limit make_hold(std::string_view policy, const detail::policy_options& options) {
    const auto period = options.prevent_duplicate;
    const auto most = limits::max_repayment.count();
    if (period == detail::no_duration || period < 1 || period > most)
        refuse("policy '" + std::string{policy} + "'",
               "prevent_duplicate must be a whole number of microseconds, 1 us to 366 days" +
                   (period == detail::no_duration ? std::string{}
                                                  : " (got " + std::to_string(period) + " us)"));
    return {.capacity = 1,
            .full = 1,
            .most = period,
            .period = period,
            .tag = state_tag(family_of(kind::hold), ""),
            .kind = kind::hold,
            .shadow = options.shadow};
}

/// Two rules that would share one state.
[[noreturn]] void refuse_twin(const std::string& where, const rule& earlier, const rule& later) {
    if (earlier.name() == later.name())
        refuse(where, "another rule of this policy has this name; name them apart with "
                      ".named(...)");
    refuse(where, "its state cannot be told from that of rule '" + std::string{earlier.name()} +
                      "', whose name happens to have the same 32-bit tag; choose another name");
}

/// A packed state is dropped when it has recovered from the limit. So nobody may owe more, and what
/// is more than numbers cannot be packed.
void pack(std::string_view policy_name, std::span<const rule> rules, plan& made) {
    made.packed = true;
    made.can_reserve = false;
    for (std::uint32_t i = 0; i < made.slots; ++i) {
        auto& l = made.limits[i];
        if (l.kind == kind::log || l.kind == kind::distinct)
            refuse(place(policy_name, i, rules[i]),
                   "a " + std::string{to_string(rules[i].kind())} + " cannot be packed");
        if (l.kind != kind::hold)
            l.most = l.full;
        // One that starts with less than all is remembered until it is as good as new.
        const auto times = l.initial == starts_full ? 1 : 2;
        made.generation = std::max(made.generation, times * full_recovery(l));
    }
}

} // namespace

std::uint32_t state_tag(char family, std::string_view rule_name) noexcept {
    auto made = hash::fnv1a_begin_32;
    const auto add = [&made](char c) {
        made = hash::fnv1a_32(made, static_cast<unsigned char>(c));
    };
    add(family);
    std::ranges::for_each(rule_name, add);
    return made == 0 ? 1 : made;
}

void check_name(std::string_view name, const std::string& what, bool fits, errc code) {
    if (name.empty())
        throw error{code, what + " is empty: 1 to 64 characters of [A-Za-z0-9_.-] are allowed"};
    const auto bad = std::ranges::find_if_not(name, is_name_character);
    if (bad != name.end())
        throw error{code, what + ": character " + std::to_string(bad - name.begin() + 1) +
                              " is not one of [A-Za-z0-9_.-]"};
    if (!fits || name.size() > limits::max_name_length)
        throw error{code, what + " is longer than 64 characters"};
}

plan make_plan(std::string_view policy_name, std::span<const rule> rules,
               const detail::policy_options& options) {
    if (rules.empty() || rules.size() > limits::max_rules_per_policy)
        refuse("policy '" + std::string{policy_name} + "'",
               "must have 1 to 8 rules, has " + std::to_string(rules.size()));
    auto made = plan{};
    made.shadow = options.shadow;
    made.can_reserve = true;
    for (const auto& r : rules) {
        const auto where = place(policy_name, made.size, r);
        const auto l = make_limit(where, r, options.shadow);
        for (std::uint32_t i = 0; i < made.size; ++i)
            if (made.limits[i].tag == l.tag)
                refuse_twin(where, rules[i], r);
        made.limits[made.size++] = l;
        made.has_log = made.has_log || l.kind == kind::log;
        made.has_distinct = made.has_distinct || l.kind == kind::distinct;
        made.counts_denied = made.counts_denied || l.counts_denied;
        made.can_reserve = made.can_reserve && l.kind == kind::bucket;
    }
    made.slots = made.size;
    if (options.prevent_duplicate != 0)
        made.limits[made.slots++] = make_hold(policy_name, options);
    if (options.storage == storage::shared_hash)
        pack(policy_name, rules, made);
    return made;
}

} // namespace colimit::core
