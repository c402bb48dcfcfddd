// SPDX-License-Identifier: BSL-1.0
//
// The commands on a set of holders, in the order in which the script calls them.

#include <base/bytes.hpp>
#include <colimit/limits.hpp>
#include <core/slot_counts.hpp>
#include <server_module/holder_set.hpp>
#include <server_module/sorted_set.hpp>

#include <algorithm>

namespace colimit::server_module {
namespace {

using detail::verb;

constexpr auto max_token = limits::max_exact_integer;
constexpr auto token_member = std::string_view{}; // its score is minus the last token

} // namespace

holder_set::holder_set(command_run& run, const core::compiled_policy& rules) noexcept : run_(run) {
    if (!rules.has_slots)
        return;
    rule_ = core::slot_rule_of(rules);
    limit_ = rules.limits[rule_].debt_limit;
    lease_ = rules.limits[rule_].period;
    always_grows_ = rules.limits[rule_].shadow || rules.counts_denied;
}

double holder_set::score_of(std::string_view member) const {
    const auto found = read(run_, "ZMSCORE", "sb", name_, member.data(), member.size());
    return score_in(found[0].value_or("0"));
}

bool holder_set::holds(std::string_view id) const {
    return score_of(id) > static_cast<double>(run_.now());
}

std::int64_t holder_set::last_token() const {
    return whole(-score_of(token_member), max_token);
}

/// Returns the end of the lease with so many leases from it to the last one.
std::int64_t holder_set::end_of(std::int64_t from_last) const {
    const auto rank = static_cast<long long>(-from_last);
    const auto found = read(run_, "ZRANGE", "sllc", name_, rank, rank, "WITHSCORES");
    const auto latest = static_cast<double>(run_.now() + lease_);
    return whole(std::min(score_in(found[1].value_or("0")), latest), max_token);
}

void holder_set::report(const detail::call_request& request, std::span<core::rule_state> states) {
    const auto now = run_.now();
    const auto acquires = request.verb == verb::acquire;
    const auto held = request.member != token_member && holds(request.member);
    const auto from = after(now);
    const auto holders =
        read(run_, "ZCOUNT", "sbc", name_, from.data(), from.size(), "+inf").integer();
    const auto others = holders - (acquires && held ? 1 : 0);
    const auto lacks_memory = acquires && (others < limit_ || always_grows_) && run_.is_full();
    auto& s = states[rule_] = {};
    s.t = holders == 0 ? 0 : end_of(1);
    s.debt = others;
    if (acquires && !lacks_memory)
        s.num = std::min(max_token, std::max(last_token() + 1, now));
    else if (request.verb == verb::renew && held)
        s.num = std::max<std::int64_t>(1, last_token());
    s.capacity = others < limit_ ? 0 : end_of(limit_);
    token_ = s.num;
}

/// Keeps the set until one lease after now: no lease ends later then.
void holder_set::keep_set() {
    run_.keep(name_, static_cast<double>(lease_));
}

void holder_set::add_with(std::int64_t score, std::string_view member) {
    const auto text = detail::decimal{score};
    const auto digits = std::string_view{text};
    (void)change(run_, "ZADD", "!sbb", name_, digits.data(), digits.size(), member.data(),
                 member.size());
}

void holder_set::shorten() {
    const auto latest = run_.now() + lease_;
    const auto from = after(latest);
    const auto longer = read(run_, "ZRANGEBYSCORE", "sbc", name_, from.data(), from.size(), "+inf");
    if (!longer[0])
        return;
    keep_set();
    for (std::size_t i = 0; const auto id = longer[i]; ++i)
        add_with(latest, *id);
}

void holder_set::add(std::string_view id) {
    (void)change(run_, "ZREMRANGEBYSCORE", "!scl", name_, "0", static_cast<long long>(run_.now()));
    add_with(-token_, token_member);
    add_with(run_.now() + lease_, id);
    keep_set();
}

void holder_set::renew(std::string_view id) {
    if (!holds(id))
        return;
    keep_set();
    add_with(run_.now() + lease_, id);
}

void holder_set::release(std::string_view id) {
    (void)change(run_, "ZREM", "!sb", name_, id.data(), id.size());
}

void holder_set::erase() {
    (void)change(run_, "DEL", "!s", name_);
}

} // namespace colimit::server_module
