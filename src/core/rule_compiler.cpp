// SPDX-License-Identifier: BSL-1.0
//
// Compiles rules in the finest unit in which every product and sum of the arithmetic is below 2^53,
// or refuses a rule with the reason.

#include <colimit/error.hpp>
#include <core/rule_compiler.hpp>
#include <core/rule_kind.hpp>
#include <core/state_encoding.hpp>

#include <cmath>

namespace colimit::core {
namespace {

[[nodiscard]] std::uint32_t lockout_tag() noexcept {
    return state_tag(family_of(kind::lockout), "");
}

void check_range(const std::string& where, std::string_view what, std::int64_t value) {
    if (value < 1 || value > limits::max_exact_integer)
        refuse(where, std::string{what} + " must be 1 to " +
                          std::to_string(limits::max_exact_integer) + " (got " +
                          std::to_string(value) + ")");
}

void check_numbers(const std::string& where, const rule& r) {
    check_range(where, is_bucket(r.kind()) ? "the count" : "the limit", r.count());
    if (is_bucket(r.kind()))
        check_range(where,
                    r.kind() == algorithm::cell ? "the capacity (max_burst + 1)" : "the capacity",
                    r.capacity());
    if (r.has_initial() && (r.initial() < 0 || r.initial() > r.capacity()))
        refuse(where, "it must start with 0 to " + std::to_string(r.capacity()) + " tokens, not " +
                          std::to_string(r.initial()));
}

} // namespace

void refuse(const std::string& where, const std::string& reason) {
    throw error{errc::invalid_policy, where + ": " + reason};
}

void check_recovery(const std::string& where, std::int64_t steps, std::int64_t us_per_step) {
    constexpr auto century = limits::max_recovery.count();
    if (steps <= century / us_per_step)
        return;
    const auto centuries = static_cast<double>(steps) * static_cast<double>(us_per_step) /
                           static_cast<double>(century);
    const auto years = std::max(101LL, std::llround(std::ceil(100 * centuries)));
    refuse(where, "full recovery: too long (got " + std::to_string(years) +
                      " years, expected at most 100 years)");
}

std::int64_t period_of(const std::string& where, const rule& r) {
    const auto period = r.period().count();
    if (period == detail::no_duration)
        refuse(where, "the period must be a whole number of microseconds that fits 64 bits");
    if (period < 1 || period > limits::max_recovery.count())
        refuse(where,
               "the period must be 1 us to 100 years (got " + std::to_string(period) + " us)");
    return period;
}

compiled_rule compile_rule(const std::string& where, kind k, const rule& r) {
    check_numbers(where, r);
    auto made = visit(k, [&]<class K>(K) { return K::compile(where, r); });
    made.kind = k;
    if (r.has_initial())
        made.initial = (r.capacity() - r.initial()) * (made.debt_limit / r.capacity());
    return made;
}

bool is_reserved_tag(std::uint32_t tag) noexcept {
    return tag == 0 || tag == block_tag || tag == lockout_tag();
}

void append_rule(compiled_policy& to, const compiled_rule& l) noexcept {
    to.can_reserve = (to.size == 0 || to.can_reserve) && can_reserve(l.kind);
    to.limits[to.size++] = l;
    to.state_count = to.size;
    to.has_log = to.has_log || is_log(l);
    to.has_distinct = to.has_distinct || has_sketch(l);
    to.has_slots = to.has_slots || has_slots(l);
    to.counts_denied = to.counts_denied || l.counts_denied;
}

void append_lockout(compiled_policy& to, const std::string& where, std::int64_t period) {
    auto l = compile_rule(where, kind::lockout, {algorithm{}, 1, period, 1});
    l.tag = lockout_tag();
    l.shadow = to.shadow;
    to.limits[to.state_count++] = l;
}

void pack(compiled_policy& made) noexcept {
    made.packed = true;
    made.can_reserve = false;
    for (std::uint32_t i = 0; i < made.state_count; ++i) {
        auto& l = made.limits[i];
        if (i < made.size)
            l.debt_max = l.debt_limit;
        // With `initially` a state is kept until it is equivalent to that of a new key.
        const auto times = l.initial == starts_full ? 1 : 2;
        made.generation = std::max(made.generation, times * full_recovery(l));
    }
}

} // namespace colimit::core
