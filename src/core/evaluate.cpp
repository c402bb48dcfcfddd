// SPDX-License-Identifier: BSL-1.0
//
// All rules at one instant: what each says, what they say together, and what is charged.

#include <core/evaluate.hpp>
#include <core/rule_kind.hpp>
#include <core/verb_traits.hpp>
#include <core/versions.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <array>
#include <limits>

namespace colimit::core {
namespace {

using kinds::lockout;
using std::chrono::microseconds;
using states_span = std::span<rule_state>;

/// Whether rule `a` says more than rule `b` about a refusal (the longest wait) or about a grant
/// (the least remaining, then the longest recovery). Equal rules: the first stays.
[[nodiscard]] bool binds_more(bool refused, const rule_status& a, const rule_status& b) noexcept {
    if (refused)
        return a.retry_after > b.retry_after;
    if (a.remaining() != b.remaining())
        return a.remaining() < b.remaining();
    return a.reset_after > b.reset_after;
}

/// The index of the binding rule; shadow rules bind only where there is no other.
[[nodiscard]] std::uint8_t binding_rule(const compiled_policy& rules,
                                        const decision& answer) noexcept {
    auto found = rules.size;
    for (std::uint32_t i = 0; i < rules.size; ++i) {
        if (rules.limits[i].shadow)
            continue;
        if (found == rules.size ||
            binds_more(!answer.allowed(), answer.rules[i], answer.rules[found]))
            found = i;
    }
    return static_cast<std::uint8_t>(found == rules.size ? 0 : found);
}

/// What refuses besides the rules, and for how long.
struct active_lockout {
    denial_reason reason = denial_reason::rule;
    microseconds wait{};
};

/// One call, in the steps in which it is decided.
class deciding {
  public:
    deciding(const compiled_policy& rules, states_span states, key_header& what,
             const call_request& request, decision& answer) noexcept
        : rules_(rules), states_(states), what_(what), request_(request), answer_(answer) {}

    /// Brings everything to now. True when what is stored must be replaced even by a refusal.
    [[nodiscard]] bool advance_all() noexcept {
        auto repaired = what_.stale;
        for (std::uint32_t i = 0; i < rules_.slots; ++i)
            repaired = advance(rules_.limits[i], states_[i], now()) || repaired;
        if (what_.block.num != 0)
            repaired = lockout::advance_up_to(longest_block, what_.block, now()) || repaired;
        return repaired;
    }

    /// `allow` and `peek`: decides, and charges what `allow` grants. True when the state changed.
    [[nodiscard]] bool decide() noexcept {
        evaluate_rules(request_.cost, request_.at_least);
        if (request_.verb == verb::peek)
            return false;
        if (!answer_.allowed())
            return count_denied();
        return grant(answer_.granted);
    }

    /// A place in the future, if it is near enough.
    [[nodiscard]] bool reserve() noexcept {
        const auto surplus = owe_whole();
        evaluate_rules(request_.cost, request_.cost);
        auto wait = microseconds{0};
        for (std::uint32_t i = 0; i < rules_.size; ++i)
            if (!rules_.limits[i].shadow)
                wait = std::max(wait, answer_.rules[i].retry_after);
        if (answer_.outcome == outcome::never || find_lockout().reason != denial_reason::rule ||
            wait.count() > request_.at_least) {
            for (std::uint32_t i = 0; i < rules_.size; ++i)
                versions::show(rules_.limits[i], states_[i], states_[i].debt - surplus[i],
                               states_[i].debt);
            return false;
        }
        answer_.outcome = outcome::allowed;
        answer_.granted = request_.cost;
        turn_ = wait;
        for (std::uint32_t i = 0; i < rules_.size; ++i)
            kinds::bucket::reserve(rules_.limits[i], states_[i], request_.cost, now(),
                                   now() + wait.count());
        (void)start_lockout();
        return true;
    }

    /// Verbs that ask nothing: change the state and answer as a peek of cost 0 afterwards.
    [[nodiscard]] bool adjust() noexcept {
        const auto changed = change();
        evaluate_rules(0, 0);
        return changed;
    }

    /// `once`: who comes first finds no block, and leaves one.
    [[nodiscard]] bool claim() noexcept {
        evaluate_rules(0, 0);
        answer_.granted = answer_.allowed() ? 1 : 0;
        if (!answer_.allowed() || request_.cost == 0)
            return false;
        lockout::start(what_.block, request_.cost, now());
        return true;
    }

    /// Completes the answer from the state as it is after the call.
    void report() noexcept {
        answer_.source = decision_source::store;
        answer_.server_time = time_point{microseconds{now()}};
        for (std::uint32_t i = 0; i < rules_.size; ++i) {
            const auto& l = rules_.limits[i];
            auto& status = answer_.rules[i];
            status.limit = l.capacity;
            visit(l.kind, [&]<class K>(K) {
                status.balance = K::balance(l, states_[i], now());
                status.reset_after = microseconds{K::reset_after(l, states_[i], now())};
            });
            status.resolution = microseconds{l.unit};
        }
        answer_.limiting_rule = binding_rule(rules_, answer_);
        take_numbers_of_binding();
    }

    /// What is to be done with the states, which are as they are stored then. One in which nothing
    /// is owed is the same as none.
    [[nodiscard]] effect effect_of_change() noexcept {
        lockout::fold(what_.block);
        auto any = what_.block.debt != 0;
        for (std::uint32_t i = 0; i < rules_.slots; ++i) {
            const auto& l = rules_.limits[i];
            visit(l.kind, [&]<class K>(K) {
                K::fold(l, states_[i]);
                any = any || !K::is_full(l, states_[i]);
            });
        }
        return any ? effect::store : what_.exists ? effect::erase : effect::nothing;
    }

    void forget() noexcept {
        std::ranges::fill(states_, rule_state{});
        what_.block = {};
    }

  private:
    static constexpr std::int64_t longest_block = limits::max_recovery.count();

    [[nodiscard]] std::int64_t now() const noexcept { return request_.now; }

    /// A place is for after all that other numbers have left, too. Returns what that is.
    [[nodiscard]] std::array<std::int64_t, limits::max_rules_per_policy> owe_whole() noexcept {
        auto surplus = std::array<std::int64_t, limits::max_rules_per_policy>{};
        for (std::uint32_t i = 0; i < rules_.size; ++i) {
            auto& s = states_[i];
            surplus[i] = versions::whole(s) - s.debt;
            s.debt += surplus[i];
            if (s.capacity < 0)
                s.capacity = rules_.limits[i].capacity;
        }
        return surplus;
    }

    /// The lockout after a duplicate, or the block, whichever lasts longer; none in a shadow
    /// policy.
    [[nodiscard]] active_lockout find_lockout() const noexcept {
        auto found = active_lockout{};
        if (rules_.shadow)
            return found;
        if (rules_.slots > rules_.size && states_[rules_.size].debt > 0)
            found = {denial_reason::duplicate, microseconds{states_[rules_.size].debt}};
        if (what_.block.debt > found.wait.count())
            found = {denial_reason::block, microseconds{what_.block.debt}};
        return found;
    }

    /// The outcome, what is granted, and what each rule says to it, as the state is before any
    /// charge.
    void evaluate_rules(std::int64_t cost, std::int64_t at_least) noexcept {
        auto fits = cost;
        auto too_much = false;
        answer_.rules.clear();
        for (std::uint32_t i = 0; i < rules_.size; ++i) {
            const auto& l = rules_.limits[i];
            const auto is_above = at_least > l.capacity;
            auto& wait = answer_.rules.append().retry_after;
            visit(l.kind, [&]<class K>(K) {
                wait = is_above ? never_again
                                : microseconds{K::wait_for(l, states_[i], at_least, now())};
                if (!l.shadow)
                    fits = K::available(l, states_[i], fits, now());
            });
            too_much = too_much || (is_above && !l.shadow);
        }
        if (find_lockout().reason != denial_reason::rule)
            fits = nothing_fits;
        const auto granted = fits >= at_least;
        answer_.outcome = granted ? outcome::allowed : too_much ? outcome::never : outcome::denied;
        answer_.granted = granted ? fits : 0;
    }

    [[nodiscard]] bool grant(std::int64_t amount) noexcept {
        if (amount > 0)
            for (std::uint32_t i = 0; i < rules_.size; ++i)
                core::charge(rules_.limits[i], states_[i], amount, now());
        return start_lockout() || amount > 0;
    }

    /// What `prevent_duplicate` counts from.
    [[nodiscard]] bool start_lockout() noexcept {
        if (rules_.slots == rules_.size)
            return false;
        lockout::restart(states_[rules_.size], rules_.limits[rules_.size].period, now());
        return true;
    }

    /// The log in which a refused call counts is that of all log rules.
    [[nodiscard]] bool count_denied() noexcept {
        if (!rules_.counts_denied || answer_.outcome != outcome::denied)
            return false;
        for (std::uint32_t i = 0; i < rules_.size; ++i) {
            const auto& l = rules_.limits[i];
            if (!is_log(l))
                continue;
            if (request_.at_least <= l.capacity)
                answer_.rules[i].retry_after = microseconds{until(states_[i].num, now())};
            if (request_.cost > 0)
                core::charge(l, states_[i], request_.cost, now());
        }
        return false; // nothing of what is stored here
    }

    [[nodiscard]] bool change() noexcept {
        auto changed = false;
        if (request_.verb == verb::block) {
            changed = request_.cost > what_.block.debt;
            if (changed)
                lockout::start(what_.block, request_.cost, now());
            return changed;
        }
        if (request_.verb == verb::unreserve && recovery_end() != request_.at_least)
            return false;
        for (std::uint32_t i = 0; i < rules_.size; ++i) {
            const auto& l = rules_.limits[i];
            auto& s = states_[i];
            const auto before = s;
            if (is_log(l)) // the store has done it
                continue;
            if (request_.verb == verb::charge)
                core::charge(l, s, request_.cost, now());
            else
                core::refund(l, s, request_.cost);
            changed = changed || s.debt != before.debt || s.capacity != before.capacity;
        }
        // Where nothing is owed any more, the next use is a first one.
        if (request_.verb != verb::charge)
            (void)advance_all();
        return changed;
    }

    [[nodiscard]] std::int64_t recovery_end() const noexcept {
        auto longest = std::int64_t{0};
        for (std::uint32_t i = 0; i < rules_.size; ++i)
            longest = std::max(longest, core::reset_after(rules_.limits[i], states_[i], now()));
        return now() + longest;
    }

    void take_numbers_of_binding() noexcept {
        const auto bound = rules_.size == 0 ? rule_status{} : answer_.rules[answer_.limiting_rule];
        answer_.reason = denial_reason::rule;
        answer_.limit = bound.limit;
        answer_.remaining = bound.remaining();
        answer_.reset_after = bound.reset_after;
        answer_.retry_after = turn_;
        if (answer_.allowed())
            return;
        answer_.retry_after = bound.retry_after;
        const auto other = find_lockout();
        if (other.reason == denial_reason::rule || other.wait <= bound.retry_after)
            return;
        answer_.reason = request_.verb == verb::once ? denial_reason::duplicate : other.reason;
        answer_.limit = 0;
        answer_.remaining = 0;
        answer_.retry_after = other.wait;
        answer_.reset_after = other.wait;
    }

    const compiled_policy& rules_;
    states_span states_;
    key_header& what_;
    const call_request& request_;
    decision& answer_;
    microseconds turn_{0}; ///< how long who was granted a place has to wait for it
};

} // namespace

effect evaluate(const compiled_policy& rules, std::span<rule_state> states, key_header& what,
                const call_request& request, decision& answer) noexcept {
    BOOST_ASSERT(request.now >= 0 && request.cost >= 0);
    BOOST_ASSERT(states.size() >= rules.slots);
    auto call = deciding{rules, states, what, request, answer};
    if (request.verb == verb::reset)
        call.forget();
    const auto repaired = call.advance_all();

    auto changed = false;
    switch (request.verb) {
    case verb::allow:
    case verb::peek:
        changed = call.decide();
        break;
    case verb::reserve:
        changed = call.reserve();
        break;
    case verb::once:
        changed = call.claim();
        break;
    case verb::reset:
    case verb::charge:
    case verb::refund:
    case verb::block:
    case verb::unreserve:
        changed = call.adjust();
        break;
    }
    call.report();

    if (request.verb == verb::reset) {
        call.forget();
        const auto next = what.exists ? effect::erase : effect::nothing;
        what.exists = what.stale = false;
        return next;
    }
    const auto silent = request.verb == verb::peek || answer.outcome == outcome::never;
    auto next = effect::nothing;
    if (!silent && (changed || repaired))
        next = call.effect_of_change();
    what.stale = silent && repaired;
    if (next != effect::nothing)
        what.exists = next == effect::store;
    return next;
}

effect evaluate(const compiled_policy& rules, key_state& state, const call_request& request,
                decision& answer) noexcept {
    return evaluate(rules, std::span{state.states.data(), rules.slots}, state, request, answer);
}

std::int64_t lifetime(const compiled_policy& rules, std::span<const rule_state> states,
                      const key_header& what, std::int64_t now) noexcept {
    auto longest = what.block.debt;
    for (std::uint32_t i = 0; i < rules.slots; ++i)
        longest = std::max(longest, lifetime(rules.limits[i], states[i], now));
    return longest;
}

bool binds_more(const decision& a, const decision& b) noexcept {
    if (a.allowed() != b.allowed())
        return b.allowed();
    if (!a.allowed())
        return a.retry_after > b.retry_after;
    return a.remaining != b.remaining ? a.remaining < b.remaining : a.reset_after > b.reset_after;
}

std::int64_t recovers_at(const decision& answer) noexcept {
    auto longest = microseconds{0};
    for (const auto& status : answer.rules)
        longest = std::max(longest, status.reset_after);
    return answer.server_time.time_since_epoch().count() + longest.count();
}

} // namespace colimit::core
