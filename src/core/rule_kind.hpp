// SPDX-License-Identifier: BSL-1.0
//
// The kinds of rules: a struct without members for each, in the files of kinds/. This file has
// their list, the concept of a kind, and the only `switch` over them. A new kind needs its file,
// its number and its case in `visit` here, and an entry in algorithms.hpp.

#pragma once

#include <core/compiled_rule.hpp>
#include <core/kinds/bucket.hpp>
#include <core/kinds/concurrent.hpp>
#include <core/kinds/counter.hpp>
#include <core/kinds/distinct.hpp>
#include <core/kinds/lockout.hpp>
#include <core/kinds/log.hpp>
#include <core/kinds/steps.hpp>
#include <core/kinds/windows.hpp>
#include <core/state.hpp>

#include <boost/assert.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::core {

/// The order of the kinds is known to the script.
enum class kind : std::uint8_t {
    bucket,     ///< repaid continuously
    stepwise,   ///< repaid at each period since the first use
    aligned,    ///< repaid at multiples of the period
    window,     ///< ends at multiples of the period
    from_first, ///< a window that begins with its first charge
    calendar,   ///< a window of a day, week, month or year
    counter,    ///< two windows, the previous one weighted
    log,
    distinct,
    lockout,    ///< denies for a period after each grant: prevent_duplicate
    concurrent, ///< slots that holders take and give back
};
inline constexpr auto kind_count = static_cast<std::size_t>(kind::concurrent) + 1;

/// The functions of a kind, for a compiled rule `l` and its state `s`. Times and durations are in
/// microseconds, and `now` is the time of the call. Except for `advance`, the last three, and where
/// it says so, a state is one that `advance` has brought to now.
template<class Kind>
concept rule_kind = requires(const compiled_rule& l, rule_state& changing, const rule_state& s,
                             std::int64_t n, const std::string& where, const rule& r) {
    // A letter; kinds of one family read each other's states.
    { Kind::family } -> std::same_as<const char&>;
    // The name of such a rule in messages.
    { Kind::description } -> std::same_as<const std::string_view&>;
    // The form in which a store keeps a state.
    { Kind::form } -> std::same_as<const state_form&>;
    // All states that such a rule stores have the same `num` and `capacity`.
    { Kind::has_fixed_numbers } -> std::same_as<const bool&>;
    // Periods are counted from the first use, which differs for keys of one shared state.
    { Kind::starts_at_use } -> std::same_as<const bool&>;
    // `wait` can reserve from such a rule.
    { Kind::can_reserve } -> std::same_as<const bool&>;

    // Its tokens may be taken before they are spent.
    { Kind::can_lease } -> std::same_as<const bool&>;

    // Compiles a rule whose refinements and count are checked. Throws as `refuse` does.
    { Kind::compile(where, r) } -> std::same_as<compiled_rule>;
    // Returns a rule that compiles to `l`, for numbers of which it is not known whether a rule
    // compiles to them; otherwise any rule.
    { Kind::rule_of(l) } -> std::same_as<rule>;
    // Returns the longest time that a full recovery from the limit takes.
    { Kind::full_recovery(l) } -> std::same_as<std::int64_t>;

    // (l, s, now) Brings a stored state, or none, to now. Returns whether even a denial must
    // replace the stored state.
    { Kind::advance(l, changing, n) } -> std::same_as<bool>;
    // (l, s, amount, now) Returns the largest amount up to `amount` that fits.
    { Kind::available(l, s, n, n) } -> std::same_as<std::int64_t>;
    // (l, s, amount, now) Returns the time until `amount`, at most the capacity, fits.
    { Kind::wait_for(l, s, n, n) } -> std::same_as<std::int64_t>;
    // (l, s, cost, now) Charges the cost, even if it does not fit.
    { Kind::charge(l, changing, n, n) } -> std::same_as<void>;
    { Kind::refund(l, changing, n) } -> std::same_as<void>;
    // Converts a state that a call has worked on to its stored form, see versions.hpp.
    { Kind::fold(l, changing) } -> std::same_as<void>;
    // (l, s, now) Returns the remaining tokens, rounded down; negative after `charge` took more.
    { Kind::balance(l, s, n) } -> std::same_as<std::int64_t>;
    // (l, s, now) Returns the time until the full recovery.
    { Kind::reset_after(l, s, n) } -> std::same_as<std::int64_t>;
    // (l, s, now) Returns how long the state must be kept.
    { Kind::lifetime(l, s, n) } -> std::same_as<std::int64_t>;
    // (l, reset_after, now) Returns the time for which tokens that were taken at `now` may be
    // spent, however long a lease is. `reset_after` is the rule's after that; 0 if it cannot have
    // leases.
    { Kind::lease_time(l, n, n) } -> std::same_as<std::int64_t>;
    // Returns by how much longer a full recovery takes for so many further tokens, at least.
    { Kind::delay_of(l, n) } -> std::same_as<std::int64_t>;
    // Returns whether the state is equivalent to no state.
    { Kind::is_full(l, s) } -> std::same_as<bool>;

    // For the in-process store. (l, duration, now) Returns a state that recovers after `duration`
    // and not before, or after the longest time for which the rule can owe.
    { Kind::owing(l, n, n) } -> std::same_as<rule_state>;
    // Returns a state that is at no time less strict than either of two stored states. Both were
    // stored at one time, at which neither is full.
    { Kind::stricter(l, s, s) } -> std::same_as<rule_state>;
    // Returns the earliest time at which a state in a cell can have been written.
    { Kind::written_after(s) } -> std::same_as<std::int64_t>;
};

template<rule_kind Kind, class F>
[[nodiscard, gnu::always_inline]] constexpr decltype(auto) call_with(F& f) {
    return f(Kind{});
}

/// Calls `f` with an object of the kind's struct.
template<class F>
[[gnu::always_inline]] constexpr decltype(auto) visit(kind k, F f) {
    switch (k) {
    case kind::bucket:
        return call_with<kinds::bucket>(f);
    case kind::stepwise:
        return call_with<kinds::stepwise>(f);
    case kind::aligned:
        return call_with<kinds::aligned>(f);
    case kind::window:
        return call_with<kinds::window>(f);
    case kind::from_first:
        return call_with<kinds::from_first>(f);
    case kind::calendar:
        return call_with<kinds::calendar>(f);
    case kind::counter:
        return call_with<kinds::counter>(f);
    case kind::log:
        return call_with<kinds::log>(f);
    case kind::distinct:
        return call_with<kinds::distinct>(f);
    case kind::lockout:
        return call_with<kinds::lockout>(f);
    case kind::concurrent:
        break;
    }
    BOOST_ASSERT(k == kind::concurrent);
    return call_with<kinds::concurrent>(f);
}

[[nodiscard]] constexpr char family_of(kind k) noexcept {
    return visit(k, []<class K>(K) { return K::family; });
}

[[nodiscard]] constexpr std::string_view description_of(kind k) noexcept {
    return visit(k, []<class K>(K) { return K::description; });
}

[[nodiscard]] constexpr state_form form_of(kind k) noexcept {
    return visit(k, []<class K>(K) { return K::form; });
}

[[nodiscard]] constexpr bool has_fixed_numbers(kind k) noexcept {
    return visit(k, []<class K>(K) { return K::has_fixed_numbers; });
}

[[nodiscard]] constexpr bool starts_at_use(kind k) noexcept {
    return visit(k, []<class K>(K) { return K::starts_at_use; });
}

[[nodiscard]] constexpr bool can_reserve(kind k) noexcept {
    return visit(k, []<class K>(K) { return K::can_reserve; });
}

[[nodiscard]] constexpr bool can_lease(kind k) noexcept {
    return visit(k, []<class K>(K) { return K::can_lease; });
}

[[nodiscard]] constexpr bool is_log(const compiled_rule& l) noexcept {
    return form_of(l.kind) == state_form::log;
}

[[nodiscard]] constexpr bool has_sketch(const compiled_rule& l) noexcept {
    return form_of(l.kind) == state_form::sketch;
}

[[nodiscard]] constexpr bool has_slots(const compiled_rule& l) noexcept {
    return form_of(l.kind) == state_form::slots;
}

/// Returns whether no part of the rule's state is numbers.
[[nodiscard]] constexpr bool is_elsewhere(const compiled_rule& l) noexcept {
    return is_log(l) || has_slots(l);
}

[[nodiscard]] inline bool advance(const compiled_rule& l, rule_state& s,
                                  std::int64_t now) noexcept {
    return visit(l.kind, [&]<class K>(K) { return K::advance(l, s, now); });
}

inline void charge(const compiled_rule& l, rule_state& s, std::int64_t cost,
                   std::int64_t now) noexcept {
    visit(l.kind, [&]<class K>(K) { K::charge(l, s, cost, now); });
}

inline void refund(const compiled_rule& l, rule_state& s, std::int64_t cost) noexcept {
    visit(l.kind, [&]<class K>(K) { K::refund(l, s, cost); });
}

inline void fold(const compiled_rule& l, rule_state& s) noexcept {
    visit(l.kind, [&]<class K>(K) { K::fold(l, s); });
}

[[nodiscard]] inline std::int64_t reset_after(const compiled_rule& l, const rule_state& s,
                                              std::int64_t now) noexcept {
    return visit(l.kind, [&]<class K>(K) { return K::reset_after(l, s, now); });
}

[[nodiscard]] inline std::int64_t lifetime(const compiled_rule& l, const rule_state& s,
                                           std::int64_t now) noexcept {
    return visit(l.kind, [&]<class K>(K) { return K::lifetime(l, s, now); });
}

[[nodiscard]] inline std::int64_t full_recovery(const compiled_rule& l) noexcept {
    return visit(l.kind, [&]<class K>(K) { return K::full_recovery(l); });
}

[[nodiscard]] inline std::int64_t lease_time(const compiled_rule& l, std::int64_t reset_after,
                                             std::int64_t now) noexcept {
    return visit(l.kind, [&]<class K>(K) { return K::lease_time(l, reset_after, now); });
}

[[nodiscard]] inline std::int64_t delay_of(const compiled_rule& l, std::int64_t tokens) noexcept {
    return visit(l.kind, [&]<class K>(K) { return K::delay_of(l, tokens); });
}

[[nodiscard]] inline rule_state owing(const compiled_rule& l, std::int64_t duration,
                                      std::int64_t now) noexcept {
    BOOST_ASSERT(duration >= 1);
    return visit(l.kind, [&]<class K>(K) { return K::owing(l, duration, now); });
}

[[nodiscard]] inline rule_state stricter(const compiled_rule& l, const rule_state& a,
                                         const rule_state& b) noexcept {
    return visit(l.kind, [&]<class K>(K) { return K::stricter(l, a, b); });
}

} // namespace colimit::core
