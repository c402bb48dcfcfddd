// SPDX-License-Identifier: BSL-1.0
//
// Shares and rates from stored numbers.

#include <colimit/detail/access.hpp>
#include <core/evaluate.hpp>
#include <core/rule_kind.hpp>
#include <core/slot_counts.hpp>
#include <core/state_encoding.hpp>
#include <policy/policy_data.hpp>
#include <tool/top/ranking.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace tool {
namespace {

namespace core = colimit::core;

[[nodiscard]] bool is_bucket(const stored_slot& s, std::int64_t now) noexcept {
    return s.num < core::steps_mark && s.t <= now;
}

/// Returns the tokens that a slot counts as used.
[[nodiscard]] double used_of(const stored_slot& s, std::int64_t now) noexcept {
    if (is_lockout(s))
        return 0;
    const auto debt = static_cast<double>(s.debt);
    return is_bucket(s, now) ? debt / static_cast<double>(s.num) : debt;
}

/// Returns the share of the limit that is used: 0 to 1, or 0 if the limit is not stored.
[[nodiscard]] double share_of(const ranked& line) noexcept {
    if (line.is_denied)
        return 1;
    if (!line.limit || *line.limit == 0)
        return 0;
    const auto used = line.left ? static_cast<double>(*line.limit - *line.left) : line.used;
    return std::min(used / static_cast<double>(*line.limit), 1.0);
}

/// Returns the tokens that a bucket has repaid between two states, if its rule is known.
[[nodiscard]] double repaid(const stored_slot& from, const stored_slot& to,
                            const core::compiled_rule* rule) noexcept {
    if (rule == nullptr || rule->unit == 0)
        return 0;
    const auto ticks = static_cast<double>(to.t - from.t) / static_cast<double>(rule->unit) *
                       static_cast<double>(rule->den);
    return std::clamp(ticks, 0.0, static_cast<double>(from.debt));
}

/// Returns the tokens granted between two states of a slot.
[[nodiscard]] double granted(const stored_slot& from, const stored_slot& to, std::int64_t now,
                             const core::compiled_rule* rule) noexcept {
    const auto difference = static_cast<double>(to.debt) - static_cast<double>(from.debt);
    if (is_bucket(to, now))
        return std::max(0.0, difference + repaid(from, to, rule)) / static_cast<double>(to.num);
    return std::max(0.0, from.t == to.t ? difference : static_cast<double>(to.debt));
}

[[nodiscard]] const core::compiled_rule* rule_with_tag(const colimit::policy* p,
                                                       std::uint32_t tag) {
    if (p == nullptr)
        return nullptr;
    const auto rules = colimit::detail::access::data(*p)->compiled.rules();
    const auto found = std::ranges::find(rules, tag, &core::compiled_rule::tag);
    return found == rules.end() ? nullptr : &*found;
}

/// Returns the rate of the busiest slot.
[[nodiscard]] double rate_of(const sample& from, const sample& to, std::int64_t us,
                             std::int64_t now, const colimit::policy* p) {
    auto most = 0.0;
    if (from.events && to.events)
        most = static_cast<double>(std::max<std::int64_t>(*to.events - *from.events, 0));
    for (const auto& slot : to.slots) {
        const auto before = std::ranges::find(from.slots, slot.tag, &stored_slot::tag);
        if (!is_lockout(slot) && before != from.slots.end())
            most = std::max(most, granted(*before, slot, now, rule_with_tag(p, slot.tag)));
    }
    return most * 1e6 / static_cast<double>(us);
}

} // namespace

const colimit::policy* ranking::find(std::string_view policy) const {
    const auto found = std::ranges::find(known_, policy, &colimit::policy::name);
    return found == known_.end() ? nullptr : &*found;
}

ranked ranking::line_of(const sample& s, std::int64_t now) const {
    ranked line{.policy = s.policy, .key = s.key, .left = {}, .limit = {}, .rate = {}};
    for (const auto& slot : s.slots) {
        const auto used = used_of(slot, now);
        if (used < line.used)
            continue;
        line.used = used;
        if (slot.capacity > 1)
            line.limit = slot.capacity;
    }
    if (s.events || s.holders)
        line.used = static_cast<double>(s.events ? *s.events : *s.holders);
    const auto* const p = find(s.policy);
    if (p == nullptr)
        return line;
    const auto& rules = colimit::detail::access::data(*p)->compiled;
    if (!s.rule.empty()) {
        for (std::size_t i = 0; i < p->size(); ++i)
            if ((*p)[i].name() == s.rule) {
                line.limit = rules.limits[i].capacity;
                line.left = std::max<std::int64_t>(*line.limit - *s.events, 0);
                line.is_denied = line.left == 0;
            }
        return line;
    }
    if (s.holders && rules.has_slots) {
        line.limit = rules.limits[core::slot_rule_of(rules)].debt_limit;
        line.left = std::max<std::int64_t>(*line.limit - *s.holders, 0);
        line.is_denied = line.left == 0;
        return line;
    }
    // Of logs, distinct members and holders the value has nothing, so it can tell only that a block
    // or another rule denies.
    const auto has_all = !rules.has_slots && !rules.has_log && !rules.has_distinct;
    if (!has_all && s.value.empty()) {
        if (!rules.has_slots)
            line.limit = rules.limits[0].capacity;
        return line;
    }
    auto state = colimit::core::decode_value(rules, s.value);
    auto request = core::call_request{};
    request.verb = core::verb::peek;
    request.now = now;
    colimit::decision d;
    (void)core::evaluate(rules, state, request, d);
    line.is_denied = !d.allowed();
    if (has_all || line.is_denied)
        line.left = d.remaining;
    line.limit = d.limit != 0 ? d.limit : rules.limits[0].capacity; // a block has none
    return line;
}

void ranking::take(const std::string& name, sample read, std::int64_t now) {
    auto line = line_of(read, now);
    auto& e = entries_[name];
    if (e.at != 0 && now > e.at && !read.holders) // slots are given back
        line.rate = rate_of(e.last, read, now - e.at, now, find(read.policy));
    e = {std::move(read), std::move(line), now};
}

std::vector<ranked> ranking::most(std::size_t count) {
    std::vector<std::pair<std::string, const entry*>> all;
    all.reserve(entries_.size());
    for (const auto& [name, e] : entries_)
        all.emplace_back(name, &e);
    std::ranges::sort(all, [](const auto& a, const auto& b) {
        const auto& x = a.second->line;
        const auto& y = b.second->line;
        const auto key = [](const ranked& r) {
            return std::tuple{-share_of(r), -r.rate.value_or(0), -r.used};
        };
        return std::tuple{key(x), a.first} < std::tuple{key(y), b.first};
    });
    std::vector<ranked> first;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (i < count)
            first.push_back(all[i].second->line);
        else if (i >= places)
            entries_.erase(all[i].first);
    }
    return first;
}

std::vector<std::string> ranking::names() const {
    std::vector<std::string> all;
    all.reserve(entries_.size());
    for (const auto& [name, e] : entries_)
        all.push_back(name);
    return all;
}

} // namespace tool
