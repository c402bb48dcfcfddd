// SPDX-License-Identifier: BSL-1.0
//
// Incidents, found by their message.

#include <limiter/denial_log.hpp>

#include <algorithm>

namespace colimit::detail {

/// Returns the incident with this message, or one that it may replace, or null.
denial_log::incident* denial_log::find(const problem_record& what, std::int64_t now) noexcept {
    const auto same =
        std::ranges::find_if(incidents_, [&](const incident& i) { return i.what.is_same(what); });
    if (same != incidents_.end())
        return &*same;
    if (incidents_.size() < most)
        return &incidents_.emplace_back();
    // Those that are to be reported come last.
    const auto age = [](const incident& i) { return i.is_due ? INT64_MAX : i.next - interval; };
    const auto oldest = std::ranges::min_element(incidents_, {}, age);
    if (oldest->is_due || now < oldest->next)
        return nullptr;
    *oldest = {};
    return &*oldest;
}

void denial_log::note(const problem_record& what, std::uint64_t policy, std::int64_t now) noexcept {
    auto* found = find(what, now);
    if (found == nullptr)
        return;
    if (found->is_over) {
        found->what = what;
        found->is_due = true;
    } else {
        found->what.repeat(what.last);
    }
    found->is_over = false;
    found->policy = policy;
}

void denial_log::permit(std::uint64_t policy) noexcept {
    for (auto& i : incidents_)
        i.is_over = i.is_over || i.policy == policy;
}

std::optional<std::int64_t> denial_log::due_at() const noexcept {
    auto earliest = std::optional<std::int64_t>{};
    for (const auto& i : incidents_)
        if (i.is_due)
            earliest = std::min(earliest.value_or(i.next), i.next);
    return earliest;
}

const problem_record* denial_log::take(std::int64_t now) noexcept {
    const auto found = std::ranges::find_if(
        incidents_, [now](const incident& i) { return i.is_due && now >= i.next; });
    if (found == incidents_.end())
        return nullptr;
    found->is_due = false;
    found->next = now + interval;
    return &found->what;
}

} // namespace colimit::detail
