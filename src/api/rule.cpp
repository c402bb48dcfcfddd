// SPDX-License-Identifier: BSL-1.0
//
// Rules as text, in the form that rule_text.cpp parses.
//
// `to_string` is the only way to format a rule: policies are named, and JSON is written, with these
// texts, which need no escaping. A text may have a refinement that its algorithm does not have,
// such as a burst of a log: that is an error where policies are made, for all ways to write a rule.

#include <base/enumerator.hpp>
#include <colimit/rule.hpp>
#include <core/algorithms.hpp>
#include <rule_text/cursor.hpp>
#include <rule_text/times.hpp>

namespace colimit {
namespace {

/// `/s`, `/10s`; ` per month utc+8`, and ` per day calendar`, since `per day` is a fixed period.
[[nodiscard]] std::string period_text(const rule& r) {
    if (core::traits_of(r.kind()).has(core::feature::calendar)) {
        const auto per = " per " + std::string{to_string(r.unit())};
        if (r.utc_offset() != std::chrono::minutes{0})
            return per + " " + text::utc_offset_text(r.utc_offset());
        return per + (r.unit() == calendar_unit::day ? " calendar" : "");
    }
    const auto period = text::duration_text(r.period().count());
    const auto is_one = period.starts_with('1') && !text::is_digit(period[1]);
    return "/" + period.substr(is_one ? 1 : 0);
}

[[nodiscard]] std::string algorithm_text(const rule& r) {
    const auto is_said = r.kind() == algorithm::gcra || r.kind() == algorithm::calendar;
    return is_said ? "" : " " + std::string{to_string(r.kind())};
}

} // namespace

std::string_view to_string(algorithm a) noexcept {
    return core::traits_of(a).name;
}

std::string_view to_string(calendar_unit u) noexcept {
    return name_of(u, {"day", "week", "month", "year"});
}

std::string_view rule::name() const noexcept {
    return is_named_ ? name_.view() : to_string(algorithm_);
}

bool operator==(const rule& a, const rule& b) noexcept {
    return a.algorithm_ == b.algorithm_ && a.count_ == b.count_ && a.period_us_ == b.period_us_ &&
           a.capacity_ == b.capacity_ && a.refill_ == b.refill_ && a.initial() == b.initial() &&
           a.has_initial_ == b.has_initial_ && a.is_from_first_ == b.is_from_first_ &&
           a.counts_refused_ == b.counts_refused_ && a.unit_ == b.unit_ &&
           a.utc_offset_ == b.utc_offset_ && a.is_shadow_ == b.is_shadow_ && a.name() == b.name();
}

std::string to_string(const rule& r) {
    auto text = std::to_string(r.count()) + period_text(r) + algorithm_text(r);
    if (r.capacity() != r.count())
        text += " burst " + std::to_string(r.capacity());
    if (r.refill() != refill::continuous)
        text += r.refill() == refill::stepwise ? " stepwise" : " aligned";
    if (r.has_initial())
        text += " initially " + std::to_string(r.initial());
    if (r.is_from_first())
        text += " from_first";
    if (r.counts_denied())
        text += " count_denied";
    if (r.is_shadow())
        text += " shadow";
    // The name comes last: in a policy name made of this text, it cannot be taken for another word.
    if (r.is_named())
        text += " named " + std::string{r.name()};
    return text;
}

} // namespace colimit
