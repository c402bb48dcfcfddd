// SPDX-License-Identifier: BSL-1.0
//
// Between a log and the arithmetic.

#include <core/log_facts.hpp>
#include <core/rule_kind.hpp>
#include <core/verb_traits.hpp>

#include <algorithm>

namespace colimit::core {
namespace {

[[nodiscard]] bool record(event_log& log, const plan& rules, const question& asked,
                          std::int64_t weight, bool may_grow) noexcept {
    return log.record(asked.now, weight, log_period(rules), log_capacity(rules), may_grow);
}

} // namespace

bool change_before(event_log& log, const plan& rules, const question& asked,
                   bool may_grow) noexcept {
    if (traits_of(asked.verb).tests_amount)
        return false;
    const auto moved = log.move_to(asked.now);
    switch (asked.verb) {
    case verb::charge:
        return record(log, rules, asked, asked.cost, may_grow) || moved;
    case verb::refund:
        return log.refund(asked.now, asked.cost, log_period(rules)) || moved;
    case verb::reset:
        log.clear();
        return true;
    default:
        return moved;
    }
}

void tell(const event_log& log, const plan& rules, const question& asked,
          std::span<rule_state> states) noexcept {
    const auto now = asked.now;
    const auto amount = traits_of(asked.verb).tests_amount ? asked.at_least : 0;
    const auto longest = log_period(rules);
    for (std::uint32_t i = 0; i < rules.size; ++i) {
        const auto& l = rules.limits[i];
        if (!is_log(l))
            continue;
        const auto used = log.used(now, l.period);
        const auto fits_at = log.fits_at(now, l.full, l.period, amount);
        auto fits_if_refused = std::int64_t{0};
        if (rules.counts_denied && asked.verb == verb::allow)
            fits_if_refused = log.fits_at(now, l.full - asked.cost, l.period, amount);
        states[i] = {.t = log.newest(now, longest),
                     .debt = used,
                     .num = fits_if_refused,
                     .capacity = fits_at};
    }
}

bool change_after(event_log& log, const plan& rules, const question& asked, const decision& answer,
                  bool may_grow) noexcept {
    if (asked.verb != verb::allow || answer.outcome == outcome::never)
        return false;
    const auto moved = log.move_to(asked.now);
    const auto weight = answer.allowed() ? answer.granted : rules.counts_denied ? asked.cost : 0;
    return record(log, rules, asked, weight, may_grow) || moved;
}

std::int64_t lifetime(const event_log& log, const plan& rules, std::int64_t now) noexcept {
    const auto period = log.kept_for(log_period(rules));
    const auto newest = log.newest(now, period);
    return newest == 0 ? 0 : newest + period - now;
}

} // namespace colimit::core
