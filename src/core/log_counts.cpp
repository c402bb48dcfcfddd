// SPDX-License-Identifier: BSL-1.0
//
// Reports and records events with the periods and limits of a policy's log rules.

#include <core/log_counts.hpp>
#include <core/rule_kind.hpp>
#include <core/verb_traits.hpp>

namespace colimit::core {
namespace {

[[nodiscard]] bool record(event_log& log, const compiled_policy& rules, const call_request& request,
                          std::int64_t weight, bool may_grow) noexcept {
    return log.record(request.now, weight, log_period(rules), log_capacity(rules), may_grow);
}

} // namespace

bool apply_before(event_log& log, const compiled_policy& rules, const call_request& request,
                  bool may_grow) noexcept {
    if (traits_of(request.verb).tests_amount)
        return false;
    const auto moved = log.move_to(request.now);
    switch (request.verb) {
    case verb::charge:
        return record(log, rules, request, request.cost, may_grow) || moved;
    case verb::refund:
        return log.refund(request.now, request.cost, log_period(rules)) || moved;
    case verb::reset:
        log.clear();
        return true;
    default:
        return moved;
    }
}

void report_counts(const event_log& log, const compiled_policy& rules, const call_request& request,
                   std::span<rule_state> states) noexcept {
    const auto now = request.now;
    const auto amount = traits_of(request.verb).tests_amount ? request.at_least : 0;
    const auto longest = log_period(rules);
    for (std::uint32_t i = 0; i < rules.size; ++i) {
        const auto& l = rules.limits[i];
        if (!is_log(l))
            continue;
        const auto used = log.used(now, l.period);
        const auto fits_at = log.fits_at(now, l.debt_limit, l.period, amount);
        auto fits_if_denied = std::int64_t{0};
        if (rules.counts_denied && traits_of(request.verb).takes_grant)
            fits_if_denied = log.fits_at(now, l.debt_limit - request.cost, l.period, amount);
        states[i] = {.t = log.newest(now, longest),
                     .debt = used,
                     .num = fits_if_denied,
                     .capacity = fits_at};
    }
}

bool apply_after(event_log& log, const compiled_policy& rules, const call_request& request,
                 const decision& result, bool may_grow) noexcept {
    if (!traits_of(request.verb).takes_grant || result.outcome == outcome::never)
        return false;
    const auto moved = log.move_to(request.now);
    const auto weight = result.allowed() ? result.granted : rules.counts_denied ? request.cost : 0;
    return record(log, rules, request, weight, may_grow) || moved;
}

std::int64_t lifetime(const event_log& log, const compiled_policy& rules,
                      std::int64_t now) noexcept {
    const auto period = log.kept_for(log_period(rules));
    const auto newest = log.newest(now, period);
    return newest == 0 ? 0 : newest + period - now;
}

} // namespace colimit::core
