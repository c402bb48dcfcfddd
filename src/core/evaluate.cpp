// SPDX-License-Identifier: BSL-1.0
//
// Evaluates all rules of a policy at one time, and charges a grant to all of them.

#include <colimit/detail/access.hpp>
#include <core/evaluate.hpp>
#include <core/rule_kind.hpp>
#include <core/verb_traits.hpp>
#include <core/versions.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <array>

namespace colimit::core {
namespace {

using kinds::lockout;
using std::chrono::microseconds;
using states_span = std::span<rule_state>;

/// Returns whether rule `a` limits more than rule `b`: with a longer wait for a denial, or for a
/// grant with a lower remaining, then a longer recovery.
[[nodiscard]] bool binds_more(bool denied, const rule_status& a, const rule_status& b) noexcept {
    if (denied)
        return a.retry_after > b.retry_after;
    if (a.remaining() != b.remaining())
        return a.remaining() < b.remaining();
    return a.reset_after > b.reset_after;
}

/// Returns the index of the limiting rule, the first of equal ones. A shadow rule is chosen only if
/// all rules are shadow rules.
[[nodiscard]] std::uint8_t limiting_rule(const compiled_policy& rules,
                                         const decision& result) noexcept {
    auto found = rules.size;
    for (std::uint32_t i = 0; i < rules.size; ++i) {
        if (rules.limits[i].shadow)
            continue;
        if (found == rules.size ||
            binds_more(!result.allowed(), result.rules[i], result.rules[found]))
            found = i;
    }
    return static_cast<std::uint8_t>(found == rules.size ? 0 : found);
}

/// A cause of denials besides the rules, and its duration.
struct active_lockout {
    denial_reason reason = denial_reason::rule;
    microseconds wait{};
};

/// The steps that decide one call.
class evaluation {
  public:
    evaluation(const compiled_policy& rules, states_span states, key_header& header,
               const call_request& request, decision& result) noexcept
        : rules_(rules), states_(states), header_(header), request_(request), result_(result) {}

    /// Brings all states to now. Returns whether even a denial must replace the stored state.
    [[nodiscard]] bool advance_all() noexcept {
        auto must_store = header_.stale;
        for (std::uint32_t i = 0; i < rules_.state_count; ++i)
            must_store = advance(rules_.limits[i], states_[i], now()) || must_store;
        if (header_.block.num != 0)
            must_store =
                lockout::advance_up_to(limits::max_recovery.count(), header_.block, now()) ||
                must_store;
        return must_store;
    }

    /// Decides the call, and changes the states. Like the functions below, returns whether they
    /// changed.
    [[nodiscard]] bool run() noexcept {
        const auto v = request_.verb;
        if (traits_of(v).tests_amount)
            return decide();
        if (traits_of(v).has_holder)
            return hold();
        return v == verb::reserve ? reserve() : v == verb::once ? claim() : adjust();
    }

    /// Decides `allow`, `acquire` or `peek`, and charges the grant.
    [[nodiscard]] bool decide() noexcept {
        evaluate_rules(request_.cost, request_.at_least);
        if (request_.verb == verb::peek)
            return false;
        if (!result_.allowed()) {
            count_denied();
            return false;
        }
        for (std::uint32_t i = 0; i < rules_.size; ++i)
            if (result_.granted > 0 || has_slots(rules_.limits[i]))
                core::charge(rules_.limits[i], states_[i], result_.granted, now());
        return start_lockout() || result_.granted > 0;
    }

    /// Reserves tokens of the future, if the wait for them is short enough.
    [[nodiscard]] bool reserve() noexcept {
        const auto surplus = owe_whole();
        evaluate_rules(request_.cost, request_.cost);
        auto wait = microseconds{0};
        for (std::uint32_t i = 0; i < rules_.size; ++i)
            if (!rules_.limits[i].shadow)
                wait = std::max(wait, result_.rules[i].retry_after);
        if (result_.outcome == outcome::never || find_lockout().reason != denial_reason::rule ||
            wait.count() > request_.at_least) {
            for (std::uint32_t i = 0; i < rules_.size; ++i)
                versions::show(rules_.limits[i], states_[i], states_[i].debt - surplus[i],
                               states_[i].debt);
            return false;
        }
        result_.outcome = outcome::allowed;
        result_.granted = request_.cost;
        reserved_wait_ = wait;
        for (std::uint32_t i = 0; i < rules_.size; ++i)
            kinds::bucket::reserve(rules_.limits[i], states_[i], request_.cost, now(),
                                   now() + wait.count());
        (void)start_lockout();
        return true;
    }

    /// Changes the state for a verb that tests no amount, then decides as a peek of cost 0.
    [[nodiscard]] bool adjust() noexcept {
        const auto changed = change();
        evaluate_rules(0, 0);
        return changed;
    }

    /// Decides `once`: the first call finds no block, and starts one.
    [[nodiscard]] bool claim() noexcept {
        evaluate_rules(0, 0);
        result_.granted = result_.allowed() ? 1 : 0;
        if (!result_.allowed() || request_.cost == 0)
            return false;
        lockout::start(header_.block, request_.cost, now());
        return true;
    }

    /// Decides `renew` and `release`, which the store has made. Neither depends on the other rules.
    [[nodiscard]] bool hold() noexcept {
        evaluate_rules(0, 0);
        auto has_lost = false;
        for (std::uint32_t i = 0; i < rules_.size; ++i)
            has_lost = has_lost || (request_.verb == verb::renew && has_slots(rules_.limits[i]) &&
                                    states_[i].num == 0);
        result_.outcome = has_lost ? outcome::denied : outcome::allowed;
        return false;
    }

    /// Completes the decision from the state after the call.
    void report() noexcept {
        result_.source = decision_source::store;
        result_.server_time = time_point{microseconds{now()}};
        for (std::uint32_t i = 0; i < rules_.size; ++i) {
            const auto& l = rules_.limits[i];
            auto& status = result_.rules[i];
            status.limit = l.capacity;
            visit(l.kind, [&]<class K>(K) {
                status.balance = K::balance(l, states_[i], now());
                status.reset_after = microseconds{K::reset_after(l, states_[i], now())};
            });
            status.resolution = microseconds{l.unit};
        }
        result_.limiting_rule = limiting_rule(rules_, result_);
        summarise();
    }

    /// Converts the states to their stored form. Returns how to store them; states without debt are
    /// equivalent to no state.
    [[nodiscard]] effect effect_of_change() noexcept {
        auto any = header_.block.debt != 0;
        for (std::uint32_t i = 0; i < rules_.state_count; ++i) {
            const auto& l = rules_.limits[i];
            visit(l.kind, [&]<class K>(K) {
                K::fold(l, states_[i]);
                any = any || !K::is_full(l, states_[i]);
            });
        }
        return any ? effect::store : header_.exists ? effect::erase : effect::nothing;
    }

    void clear() noexcept {
        std::ranges::fill(states_, rule_state{});
        header_.block = {};
    }

  private:
    [[nodiscard]] std::int64_t now() const noexcept { return request_.now; }

    /// Makes the surplus count too, as a reservation is for the time after it. Returns the surplus
    /// of each rule, see versions.hpp.
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

    /// Returns the longer one of the lockout after a grant and the block; none in a shadow policy.
    [[nodiscard]] active_lockout find_lockout() const noexcept {
        auto found = active_lockout{};
        if (rules_.shadow)
            return found;
        if (rules_.state_count > rules_.size && states_[rules_.size].debt > 0)
            found = {denial_reason::duplicate, microseconds{states_[rules_.size].debt}};
        if (header_.block.debt > found.wait.count())
            found = {denial_reason::block, microseconds{header_.block.debt}};
        return found;
    }

    /// Sets the outcome, the granted amount and each rule's wait, from the state before any charge.
    void evaluate_rules(std::int64_t cost, std::int64_t at_least) noexcept {
        auto fits = cost;
        auto too_large = false;
        detail::access::clear(result_.rules);
        for (std::uint32_t i = 0; i < rules_.size; ++i) {
            const auto& l = rules_.limits[i];
            const auto is_above = l.never_allows(at_least);
            auto& wait = detail::access::append(result_.rules).retry_after;
            visit(l.kind, [&]<class K>(K) {
                wait = is_above ? never_again
                                : microseconds{K::wait_for(l, states_[i], at_least, now())};
                if (!l.shadow)
                    fits = K::available(l, states_[i], fits, now());
            });
            too_large = too_large || (is_above && !l.shadow);
        }
        if (find_lockout().reason != denial_reason::rule)
            fits = nothing_fits;
        const auto granted = fits >= at_least;
        result_.outcome = granted ? outcome::allowed : too_large ? outcome::never : outcome::denied;
        result_.granted = granted ? fits : 0;
    }

    /// Starts the lockout of `prevent_duplicate`, if the policy has one.
    [[nodiscard]] bool start_lockout() noexcept {
        if (rules_.state_count == rules_.size)
            return false;
        lockout::restart(states_[rules_.size], rules_.limits[rules_.size].period, now());
        return true;
    }

    /// Charges a denied call to the log, which all log rules share and the store keeps.
    void count_denied() noexcept {
        if (!rules_.counts_denied || result_.outcome != outcome::denied)
            return;
        for (std::uint32_t i = 0; i < rules_.size; ++i) {
            const auto& l = rules_.limits[i];
            if (!is_log(l))
                continue;
            if (request_.at_least <= l.capacity)
                result_.rules[i].retry_after = microseconds{until(states_[i].num, now())};
            if (request_.cost > 0)
                core::charge(l, states_[i], request_.cost, now());
        }
    }

    [[nodiscard]] bool change() noexcept {
        auto changed = false;
        if (request_.verb == verb::block) {
            changed = request_.cost > header_.block.debt;
            if (changed)
                lockout::start(header_.block, request_.cost, now());
            return changed;
        }
        if (request_.verb == verb::unreserve && recovery_end() != request_.at_least)
            return false;
        for (std::uint32_t i = 0; i < rules_.size; ++i) {
            const auto& l = rules_.limits[i];
            auto& s = states_[i];
            const auto before = s;
            if (is_elsewhere(l)) // the store has changed it
                continue;
            if (request_.verb == verb::charge)
                core::charge(l, s, request_.cost, now());
            else
                core::refund(l, s, request_.cost);
            changed = changed || s.debt != before.debt || s.capacity != before.capacity;
        }
        // If no debt is left, the next use is a first use.
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

    /// Copies the numbers of the limiting rule, or of a lockout that lasts longer or denies alone.
    void summarise() noexcept {
        const auto limiting =
            rules_.size == 0 ? rule_status{} : result_.rules[result_.limiting_rule];
        result_.reason = denial_reason::rule;
        result_.limit = limiting.limit;
        result_.remaining = limiting.remaining();
        result_.reset_after = limiting.reset_after;
        result_.retry_after = reserved_wait_;
        if (result_.allowed())
            return;
        result_.retry_after = limiting.retry_after;
        const auto other = find_lockout();
        const auto is_rule =
            other.wait <= limiting.retry_after && !rules_.limits[result_.limiting_rule].shadow;
        if (other.reason == denial_reason::rule || is_rule)
            return;
        result_.reason = request_.verb == verb::once ? denial_reason::duplicate : other.reason;
        result_.limit = result_.remaining = 0;
        result_.retry_after = other.wait;
        result_.reset_after = other.wait;
    }

    const compiled_policy& rules_;
    states_span states_;
    key_header& header_;
    const call_request& request_;
    decision& result_;
    microseconds reserved_wait_{0}; ///< until the time of a granted reservation
};

} // namespace

effect evaluate(const compiled_policy& rules, std::span<rule_state> states, key_header& header,
                const call_request& request, decision& result) noexcept {
    BOOST_ASSERT(request.now >= 0 && request.cost >= 0);
    BOOST_ASSERT(states.size() >= rules.state_count);
    auto call = evaluation{rules, states, header, request, result};
    if (request.verb == verb::reset)
        call.clear();
    const auto must_store = call.advance_all();

    const auto changed = call.run();
    call.report();

    if (request.verb == verb::reset) {
        call.clear();
        const auto next = header.exists ? effect::erase : effect::nothing;
        header.exists = header.stale = false;
        return next;
    }
    const auto may_store = request.verb != verb::peek && result.outcome != outcome::never;
    auto next = effect::nothing;
    if (may_store && (changed || must_store))
        next = call.effect_of_change();
    header.stale = !may_store && must_store;
    if (next != effect::nothing)
        header.exists = next == effect::store;
    return next;
}

effect evaluate(const compiled_policy& rules, key_state& state, const call_request& request,
                decision& result) noexcept {
    return evaluate(rules, state.of(rules), state, request, result);
}

void evaluate_current(const compiled_policy& rules, key_state& state, const call_request& request,
                      decision& result) noexcept {
    BOOST_ASSERT(request.now >= 0 && request.cost >= 0);
    auto call = evaluation{rules, state.of(rules), state, request, result};
    if (request.verb == verb::reset)
        call.clear();
    (void)call.run();
    call.report();
}

std::int64_t lifetime(const compiled_policy& rules, std::span<const rule_state> states,
                      const key_header& header, std::int64_t now) noexcept {
    auto longest = header.block.debt;
    for (std::uint32_t i = 0; i < rules.state_count; ++i)
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

std::int64_t recovers_at(const decision& result) noexcept {
    auto longest = microseconds{0};
    for (const auto& status : result.rules)
        longest = std::max(longest, status.reset_after);
    return result.server_time.time_since_epoch().count() + longest.count();
}

} // namespace colimit::core
