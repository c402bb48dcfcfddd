// SPDX-License-Identifier: BSL-1.0
//
// From the numbers somebody wrote to numbers that stay exact: every product and sum of the
// arithmetic is below 2^53, in the finest unit that allows it, or the rule is refused with the
// reason.

#include <core/plan.hpp>

#include <algorithm>
#include <numeric>
#include <optional>

namespace colimit::core {
namespace {

/// Microseconds, milliseconds, seconds: the finest in which a rule's numbers stay exact is its
/// unit.
constexpr std::int64_t units[] = {1, 1'000, 1'000'000};

/// Where `charge` stops at the latest, so that a debt and one token more stay exact.
constexpr std::int64_t most_ticks = std::int64_t{1} << 52;

[[nodiscard]] constexpr bool product_fits(std::int64_t a, std::int64_t b,
                                          std::int64_t most) noexcept {
    return b == 0 || a <= most / b;
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
    if (value < 1 || value > limits::exact_integer)
        refuse(where, std::string{what} + " must be 1 to " + std::to_string(limits::exact_integer) +
                          ", is " + std::to_string(value));
}

void check_numbers(const std::string& where, const rule& r) {
    check_range(where, "the count", r.count());
    check_range(where,
                r.kind() == algorithm::cell ? "the capacity (max_burst + 1)" : "the capacity",
                r.capacity());
    const auto period = r.period().count();
    if (period == detail::no_duration)
        refuse(where, "the period must be a whole number of microseconds that fits 64 bits");
    if (period < 1 || period > limits::longest_recovery.count())
        refuse(where, "the period must be 1 us to 100 years, is " + std::to_string(period) + " us");
}

/// The bucket counted in `unit`, if its numbers stay exact there.
[[nodiscard]] std::optional<bucket> reduced(const rule& r, std::int64_t unit) {
    if (r.period().count() % unit != 0)
        return std::nullopt;
    const auto period = r.period().count() / unit;
    const auto divisor = std::gcd(period, r.count());
    const auto num = period / divisor;
    const auto den = r.count() / divisor;
    if (!product_fits(r.capacity(), num, limits::exact_integer))
        return std::nullopt;
    const auto full = r.capacity() * num;
    const auto longest = limits::longest_debt.count() / unit;
    const auto ticks = product_fits(longest, den, most_ticks) ? longest * den : most_ticks;
    return bucket{.capacity = r.capacity(),
                  .num = num,
                  .den = den,
                  .unit = unit,
                  .full = full,
                  .most = std::max(full, ticks),
                  .tag = state_tag(r.name()),
                  .shadow = r.is_shadow()};
}

[[nodiscard]] bucket make_bucket(const std::string& where, const rule& r) {
    check_numbers(where, r);
    for (const auto unit : units) {
        const auto b = reduced(r, unit);
        if (!b)
            continue;
        if ((b->full - 1) / b->den >= limits::longest_recovery.count() / unit)
            refuse(where, "it would take more than 100 years to recover fully");
        return *b;
    }
    refuse(where,
           "capacity times period is too large to be counted exactly: choose a smaller burst, "
           "or a period of whole milliseconds or seconds");
}

/// Two rules that would share one state.
[[noreturn]] void refuse_twin(const std::string& where, const rule& earlier, const rule& later) {
    if (earlier.name() == later.name())
        refuse(where, "another rule of this policy has this name; name them apart with "
                      ".named(...)");
    refuse(where, "its state cannot be told from that of rule '" + std::string{earlier.name()} +
                      "', whose name happens to have the same 32-bit tag; choose another name");
}

} // namespace

std::uint32_t state_tag(std::string_view rule_name) noexcept {
    auto hash = std::uint32_t{2166136261U};
    const auto add = [&hash](char c) {
        hash = (hash ^ static_cast<unsigned char>(c)) * std::uint32_t{16777619U};
    };
    add('b'); // the family: rules of another kind keep another state under the same name
    std::ranges::for_each(rule_name, add);
    return hash == 0 ? 1 : hash;
}

void check_name(std::string_view name, const std::string& what, bool fits, errc code) {
    if (name.empty())
        throw error{code, what + " is empty: 1 to 64 characters of [A-Za-z0-9_.-] are allowed"};
    const auto bad = std::ranges::find_if_not(name, is_name_character);
    if (bad != name.end())
        throw error{code, what + ": character " + std::to_string(bad - name.begin() + 1) +
                              " is not one of [A-Za-z0-9_.-]"};
    if (!fits || name.size() > limits::name_length)
        throw error{code, what + " is longer than 64 characters"};
}

plan make_plan(std::string_view policy_name, std::span<const rule> rules) {
    if (rules.empty() || rules.size() > limits::rules_per_policy)
        refuse("policy '" + std::string{policy_name} + "'",
               "must have 1 to 8 rules, has " + std::to_string(rules.size()));
    auto made = plan{};
    for (const auto& r : rules) {
        const auto where = place(policy_name, made.size, r);
        const auto b = make_bucket(where, r);
        for (std::uint32_t i = 0; i < made.size; ++i)
            if (made.buckets[i].tag == b.tag)
                refuse_twin(where, rules[i], r);
        made.buckets[made.size++] = b;
    }
    return made;
}

} // namespace colimit::core
