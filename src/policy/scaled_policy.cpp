// SPDX-License-Identifier: BSL-1.0
//
// Scales limits, in whole tokens and microseconds.

#include <colimit/error.hpp>
#include <core/compiled_policy.hpp>
#include <policy/policy_data.hpp>
#include <policy/scaled_policy.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace colimit::detail {
namespace {

/// Divides first, so that nothing overflows: a denominator is at most a million.
[[nodiscard]] std::int64_t part_of(std::int64_t tokens, fraction part) noexcept {
    return tokens / part.denominator * part.numerator +
           tokens % part.denominator * part.numerator / part.denominator;
}

[[nodiscard]] std::int64_t tokens_of(std::int64_t tokens, fraction part) noexcept {
    return std::max<std::int64_t>(1, part_of(tokens, part));
}

/// Returns the time in which the scaled limit refills as many tokens as the whole limit does in
/// `period`, rounded up.
[[nodiscard]] std::chrono::microseconds slower(std::chrono::microseconds period,
                                               fraction part) noexcept {
    const auto whole = period.count() / part.numerator;
    if (whole > limits::max_recovery.count() / part.denominator)
        return limits::max_recovery; // too long for any rule
    const auto rest = period.count() % part.numerator * part.denominator;
    return std::chrono::microseconds{whole * part.denominator +
                                     (rest + part.numerator - 1) / part.numerator};
}

[[nodiscard]] rule with_numbers(const rule& r, std::int64_t count, std::chrono::microseconds period,
                                fraction part) {
    const auto capacity = tokens_of(r.capacity(), part);
    auto made = r.kind() == algorithm::calendar ? calendar(count, r.unit(), r.utc_offset())
                                                : rule{r.kind(), count, period.count(), capacity};
    if (r.refill() == refill::stepwise)
        made = made.stepwise();
    if (r.refill() == refill::aligned)
        made = made.aligned();
    if (r.has_initial())
        made = made.initially(std::min(part_of(r.initial(), part), capacity));
    if (r.is_from_first())
        made = made.from_first();
    if (r.counts_denied())
        made = made.count_denied();
    return made.named(r.name()).shadow(r.is_shadow());
}

[[nodiscard]] bool makes_sense(const rule& r) {
    try {
        (void)core::compile_policy("", std::span{&r, 1});
        return true;
    } catch (const error&) {
        return false;
    }
}

/// If scaled numbers leave the range of exact arithmetic, the tokens are rounded instead of their
/// period; if that fails too, the rule is not changed.
[[nodiscard]] rule scaled(const rule& r, fraction part) {
    const auto is_continuous = is_bucket(r.kind()) && r.refill() == refill::continuous;
    if (is_continuous)
        if (const auto exact = with_numbers(r, r.count(), slower(r.period(), part), part);
            makes_sense(exact))
            return exact;
    const auto rounded = with_numbers(r, tokens_of(r.count(), part), r.period(), part);
    return makes_sense(rounded) ? rounded : r;
}

/// Returns a rule with the capacity with which it is decided. A process that decides alone needs no
/// leases, but the capacity that others have left for them.
[[nodiscard]] rule without_leases(const policy_data& whole, std::size_t i) noexcept {
    const auto& r = whole.rules[i];
    const auto capacity = whole.compiled.limits[i].capacity;
    const auto made = r.burst(capacity);
    return r.has_initial() ? made.initially(std::min(r.initial(), capacity)) : made;
}

} // namespace

policy scaled(const policy_data& whole, fraction part) {
    BOOST_ASSERT(part.numerator >= 1 && part.denominator >= 1 && part.denominator <= 1'000'000);
    std::vector<rule> rules;
    rules.reserve(whole.rules.size());
    for (std::size_t i = 0; i < whole.rules.size(); ++i)
        rules.push_back(scaled(without_leases(whole, i), part));
    auto made =
        policy{whole.name, rules}.shadow(whole.options.shadow).with_storage(whole.options.storage);
    if (whole.options.prevent_duplicate != 0)
        made = made.prevent_duplicate(std::chrono::microseconds{whole.options.prevent_duplicate});
    return whole.options.has_prefix ? made.with_prefix(whole.options.prefix.view()) : made;
}

} // namespace colimit::detail
