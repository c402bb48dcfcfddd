// SPDX-License-Identifier: BSL-1.0
//
// Incidents, found by their message.

#include <limiter/denial_log.hpp>

#include <algorithm>
#include <span>

namespace colimit::detail {

/// Returns the incident with this message, or one that it may replace, or null.
denial_log::incident* denial_log::place_for(const problem_record& what, std::int64_t now) noexcept {
    const auto known = std::span{incidents_}.first(count_);
    const auto same =
        std::ranges::find_if(known, [&](const incident& i) { return i.what.is_same(what); });
    if (same != known.end())
        return &*same;
    if (count_ < incidents_.size()) {
        incidents_[count_] = {};
        return &incidents_[count_++];
    }
    const auto oldest = std::ranges::min_element(known, {}, [](const incident& i) {
        return i.is_due ? INT64_MAX : i.reported.value_or(INT64_MAX);
    });
    if (oldest->is_due || now - oldest->reported.value_or(now) < interval)
        return nullptr;
    *oldest = {};
    return &*oldest;
}

void denial_log::note(const problem_record& what, std::uint64_t policy, std::int64_t now) noexcept {
    auto* place = place_for(what, now);
    if (place == nullptr)
        return;
    const auto begins = !place->reported && !place->is_due;
    if (begins || place->is_over) {
        place->what = what;
        place->is_due = true;
    } else {
        place->what.repeat(what.last);
    }
    place->is_over = false;
    place->policy = policy;
}

void denial_log::permit(std::uint64_t policy) noexcept {
    for (auto& i : std::span{incidents_}.first(count_))
        i.is_over = i.is_over || i.policy == policy;
}

std::optional<std::int64_t> denial_log::due_at() const noexcept {
    auto earliest = std::optional<std::int64_t>{};
    for (const auto& i : std::span{incidents_}.first(count_))
        if (const auto at = i.reported ? *i.reported + interval : INT64_MIN;
            i.is_due && (!earliest || at < *earliest))
            earliest = at;
    return earliest;
}

const problem_record* denial_log::take(std::int64_t now) noexcept {
    for (auto& i : std::span{incidents_}.first(count_)) {
        if (!i.is_due || (i.reported && now - *i.reported < interval))
            continue;
        i.is_due = false;
        i.reported = now;
        return &i.what;
    }
    return nullptr;
}

} // namespace colimit::detail
