// SPDX-License-Identifier: BSL-1.0
//
// Clocks that are set back repay nothing; each step forward repays as if the time had passed.

#include "ledger.hpp"

#include <algorithm>
#include <string>

namespace colimit::simulation {

void balance::advance(std::int64_t time) {
    if (limit_.is_window && time / limit_.period > time_ / limit_.period)
        used_ = 0;
    else if (!limit_.is_window && time > time_)
        used_ = std::max(0.0, used_ - static_cast<double>(time - time_) *
                                          static_cast<double>(limit_.capacity) /
                                          static_cast<double>(limit_.period));
    time_ = time;
}

bool balance::grant(std::int64_t cost, std::int64_t time) {
    constexpr auto rounding = 1.0 / 1'024;
    advance(time);
    used_ += static_cast<double>(cost);
    return used_ <= static_cast<double>(limit_.capacity) + rounding;
}

/// What is owed beyond the limit does not matter here.
void balance::charge(std::int64_t cost, std::int64_t time) {
    advance(time);
    used_ = std::min(used_ + static_cast<double>(cost), static_cast<double>(limit_.capacity));
}

void balance::refund(std::int64_t cost, std::int64_t time) {
    advance(time);
    used_ = std::max(0.0, used_ - static_cast<double>(cost));
}

std::size_t ledger::open_account(std::size_t policy) {
    balances_.emplace_back(limits_.at(policy));
    return balances_.size() - 1;
}

void ledger::record(std::size_t account, std::size_t policy, std::size_t key,
                    const core::call_request& request, const decision& made, bool has_effect,
                    bool has_id) {
    machine_.trace("executes", static_cast<std::uint64_t>(request.cost),
                   static_cast<std::uint64_t>(made.granted));
    if (request.cost >= first_cost) {
        const auto id = static_cast<std::size_t>(request.cost - first_cost);
        executions_.resize(std::max(executions_.size(), id + 1));
        auto& all = executions_[id];
        const auto is_same_effect = [&](const execution& e) {
            return e.has_effect && (!has_id || e.account == account);
        };
        if (has_effect && std::ranges::any_of(all, is_same_effect))
            throw violation{"call " + std::to_string(id) + " was executed twice"};
        all.push_back({account, made.granted, request.now, has_effect});
    }
    auto& b = balances_.at(account);
    using enum core::verb;
    if (request.verb == allow) {
        auto& t = totals_[policy * keys_ + key];
        t.executed += request.cost >= first_cost ? 0 : 1;
        t.granted += request.cost >= first_cost ? 0 : made.granted;
        if (!b.grant(made.granted, request.now) && made.granted != 0)
            throw violation{"over-admitted: policy " + std::to_string(policy) + ", key " +
                            std::to_string(key)};
    } else if (request.verb == charge) {
        b.charge(request.cost, request.now);
    } else if (request.verb == refund) {
        b.refund(request.cost, request.now);
    } else if (request.verb == reset) {
        b.reset();
    }
}

std::span<const execution> ledger::of(std::int64_t cost) const {
    const auto id = static_cast<std::size_t>(cost - first_cost);
    return id < executions_.size() ? executions_[id] : std::span<const execution>{};
}

} // namespace colimit::simulation
