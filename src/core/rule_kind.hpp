// SPDX-License-Identifier: BSL-1.0
//
// The kinds of rules: a stateless struct for each, in a file below kinds/. Here are their list,
// what each must have, and the only `switch` over them. A new kind is its file, its number below,
// its case in `visit`, and an entry in algorithms.hpp; the concept names what its struct lacks.

#ifndef COLIMIT_CORE_RULE_KIND_HPP
#define COLIMIT_CORE_RULE_KIND_HPP

#include <core/compiled_rule.hpp>
#include <core/kinds/bucket.hpp>
#include <core/kinds/counter.hpp>
#include <core/kinds/distinct.hpp>
#include <core/kinds/lockout.hpp>
#include <core/kinds/log.hpp>
#include <core/kinds/steps.hpp>
#include <core/kinds/windows.hpp>
#include <core/state.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::core {

/// What the arithmetic does with a rule. The order is known to the script.
enum class kind : std::uint8_t {
    bucket,     ///< repaid continuously
    stepwise,   ///< repaid at each period since the first use
    aligned,    ///< repaid at multiples of the period
    window,     ///< at multiples of the period
    from_first, ///< from the first charge
    calendar,
    counter, ///< two windows, the previous one weighted
    log,
    distinct,
    lockout, ///< denies for a period after each grant: prevent_duplicate
};
/// How many there are: `lockout` stays the last one.
inline constexpr auto kind_count = static_cast<std::size_t>(kind::lockout) + 1;

/// Times and durations are in microseconds, `now` is the time of the call. Everything below is
/// asked for a limit `l` and its state `s`, which `advance` has brought to now.
template<class Kind>
concept rule_kind = requires(const compiled_rule& l, rule_state& changing, const rule_state& s,
                             std::int64_t n, const std::string& where, const rule& r) {
    // Kinds of one family read each other's state: a letter.
    { Kind::family } -> std::same_as<const char&>;
    // As messages name such a rule.
    { Kind::description } -> std::same_as<const std::string_view&>;
    // What a store keeps of it.
    { Kind::form } -> std::same_as<const state_form&>;
    // Whether `num` and `capacity` of all its states are those of the limit.
    { Kind::has_fixed_numbers } -> std::same_as<const bool&>;
    // Whether its periods are counted from the first use, so that users of a shared state differ.
    { Kind::starts_at_use } -> std::same_as<const bool&>;
    // Whether `wait` can reserve from it.
    { Kind::can_reserve } -> std::same_as<const bool&>;

    // From a rule whose refinements and count are checked to its limit. Throws what `refuse` does.
    { Kind::compile(where, r) } -> std::same_as<compiled_rule>;
    // The longest time in which it recovers fully from its limit.
    { Kind::full_recovery(l) } -> std::same_as<std::int64_t>;

    // (l, s, now) Brings a stored state, or none, to now. Returns whether what is stored must be
    // replaced even by a denial.
    { Kind::advance(l, changing, n) } -> std::same_as<bool>;
    // (l, s, amount, now) The largest amount up to `amount` that fits.
    { Kind::available(l, s, n, n) } -> std::same_as<std::int64_t>;
    // (l, s, amount, now) How long after now it would grant `amount`, which is not above capacity.
    { Kind::wait_for(l, s, n, n) } -> std::same_as<std::int64_t>;
    // (l, s, cost, now) Charges, whether it fits or not.
    { Kind::charge(l, changing, n, n) } -> std::same_as<void>;
    { Kind::refund(l, changing, n) } -> std::same_as<void>;
    // From a state that a call has worked on to the state as it is stored, see versions.hpp.
    { Kind::fold(l, changing) } -> std::same_as<void>;
    // (l, s, now) What is left, rounded down; negative after `charge` took more than there was.
    { Kind::balance(l, s, n) } -> std::same_as<std::int64_t>;
    // (l, s, now) How long after now it has recovered fully.
    { Kind::reset_after(l, s, n) } -> std::same_as<std::int64_t>;
    // (l, s, now) How long after now the state is to be kept.
    { Kind::lifetime(l, s, n) } -> std::same_as<std::int64_t>;
    // Whether the state is equivalent to no state.
    { Kind::is_full(l, s) } -> std::same_as<bool>;

    // For the store in this process. (l, duration, now) A state that recovers `duration` from now
    // and not before, as far as the rule can owe as long.
    { Kind::owing(l, n, n) } -> std::same_as<rule_state>;
    // At no time less strict than either of two stored states, which are of one time, at which
    // neither is full.
    { Kind::stricter(l, s, s) } -> std::same_as<rule_state>;
    // When a state, as a cell has it, was written at the earliest.
    { Kind::written_after(s) } -> std::same_as<std::int64_t>;
};

/// Calls `f` with an object of the kind's struct.
template<rule_kind Kind, class F>
[[nodiscard, gnu::always_inline]] constexpr decltype(auto) call_with(F& f) {
    return f(Kind{});
}

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
        break;
    }
    return call_with<kinds::lockout>(f);
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

[[nodiscard]] constexpr bool is_log(const compiled_rule& l) noexcept {
    return form_of(l.kind) == state_form::log;
}

[[nodiscard]] constexpr bool has_sketch(const compiled_rule& l) noexcept {
    return form_of(l.kind) == state_form::sketch;
}

[[nodiscard]] inline bool advance(const compiled_rule& l, rule_state& s,
                                  std::int64_t now) noexcept {
    return visit(l.kind, [&]<class K>(K) { return K::advance(l, s, now); });
}

[[nodiscard]] inline std::int64_t available(const compiled_rule& l, const rule_state& s,
                                            std::int64_t amount, std::int64_t now) noexcept {
    return visit(l.kind, [&]<class K>(K) { return K::available(l, s, amount, now); });
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

[[nodiscard]] inline rule_state owing(const compiled_rule& l, std::int64_t duration,
                                      std::int64_t now) noexcept {
    return visit(l.kind, [&]<class K>(K) { return K::owing(l, duration, now); });
}

[[nodiscard]] inline rule_state stricter(const compiled_rule& l, const rule_state& a,
                                         const rule_state& b) noexcept {
    return visit(l.kind, [&]<class K>(K) { return K::stricter(l, a, b); });
}

} // namespace colimit::core

#endif
