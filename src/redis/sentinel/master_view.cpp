// SPDX-License-Identifier: BSL-1.0
//
// Compares the statements of Sentinels.

#include <redis/sentinel/master_view.hpp>

#include <algorithm>
#include <tuple>

namespace colimit::redis {

std::size_t master_view::votes_for(const master_statement& s) const noexcept {
    return static_cast<std::size_t>(
        std::ranges::count(sentinels_, std::optional{s}, &source::statement));
}

bool master_view::is_most(std::size_t votes) const noexcept {
    return votes * 2 > sentinels_.size();
}

/// Returns whether most Sentinels have made this late statement for so long that they are not late.
bool master_view::is_insisted_on(const master_statement& s) const noexcept {
    const auto insisting = std::ranges::count_if(sentinels_, [&](const source& from) {
        return from.statement == s && from.late_since && from.at - *from.late_since >= insistence;
    });
    return is_most(static_cast<std::size_t>(insisting));
}

void master_view::note_statement(std::size_t sentinel, const master_statement& what,
                                 std::int64_t now) {
    auto& from = sentinels_[sentinel];
    if (from.statement != what)
        from.late_since.reset();
    from.statement = what;
    from.at = now;
    if (what.epoch >= believed_.epoch)
        from.late_since.reset();
    else if (!from.late_since)
        from.late_since = now;

    const auto rank = [&](const master_statement& s) {
        return std::tuple{is_insisted_on(s), s.epoch, votes_for(s), s == believed_};
    };
    const auto is_eligible = [&](const master_statement& s) {
        if (s == overruled_ && !is_most(votes_for(s)))
            return false;
        return s.epoch >= believed_.epoch || is_insisted_on(s);
    };
    const master_statement* best = nullptr;
    for (const auto& [said, at, late_since] : sentinels_)
        if (said && said->master && is_eligible(*said) &&
            (best == nullptr || rank(*said) > rank(*best)))
            best = &*said;
    if (best == nullptr || *best == believed_)
        return;
    if (best->epoch < believed_.epoch)
        overruled_ = believed_;
    believed_ = *best;
    for (auto& s : sentinels_)
        s.late_since.reset();
}

} // namespace colimit::redis
