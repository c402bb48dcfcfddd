// SPDX-License-Identifier: BSL-1.0
//
// The order in which logs and sketches are read and changed is that of
// lua/check/verbs.lua.

#include <base/bytes.hpp>
#include <colimit/limits.hpp>
#include <core/rule_kind.hpp>
#include <core/verb_traits.hpp>
#include <server_module/large_calls.hpp>

namespace colimit::server_module {

using detail::verb;

large_calls::large_calls(command_run& run, const core::compiled_policy& rules,
                         std::span<api::string*> names, std::size_t keys, std::size_t first,
                         bool finds_again, key_results& results)
    : run_(run), rules_(rules), names_(names.first(keys)),
      logs_(names.subspan(keys, rules.has_log ? keys : 0)), first_(first), results_(results),
      states_(rules), log_(run, rules, finds_again),
      sketches_(run, rules, names.subspan(keys + logs_.size()), keys) {}

/// Advances the windows of distinct rules. Returns whether even a denial must replace the state.
bool large_calls::advance_windows() noexcept {
    auto moved = false;
    for (std::uint32_t i = 0; i < rules_.size; ++i)
        if (core::has_sketch(rules_.limits[i]))
            moved =
                core::kinds::distinct::advance_window(rules_.limits[i], states()[i], run_.now()) ||
                moved;
    return moved;
}

/// Returns whether bringing the state to now moves a rule's time, after advance_windows.
bool large_calls::has_moved() noexcept {
    auto copy = states_.state();
    auto moved = false;
    for (std::uint32_t i = 0; i < rules_.state_count; ++i)
        moved = core::advance(rules_.limits[i], copy.states[i], run_.now()) || moved;
    return (copy.block.num != 0 && core::kinds::lockout::advance_up_to(limits::max_recovery.count(),
                                                                       copy.block, run_.now())) ||
           moved;
}

void large_calls::begin(std::size_t key) {
    key_ = key;
    facts_before_ = results_.facts ? results_.facts->size() : 0;
    // Closed before a command may replace what it refers to.
    const auto value = string_value{run_, names_[key - first_]};
    if (!results_.has_value_of(key))
        results_.set_found(key, value.read());
    states_.load(results_.value(key));
    is_moved_ = advance_windows();
    states_.state().stale = states_.state().stale || is_moved_;
    is_moved_ = has_moved() || is_moved_;
    finds_stale_ = finds_stale_ || is_moved_ || states_.state().stale;
    if (value.is_taken(results_.value(key)))
        results_.report_conflict(key);
    else
        open();
}

/// Opens the log and the sketches.
void large_calls::open() {
    sketches_.open(key_ - first_);
    if (!rules_.has_log)
        return;
    try {
        log_.open(logs_[key_ - first_]);
        finds_stale_ = finds_stale_ || log_.is_ahead();
    } catch (const call_failure& error) {
        fail(error);
    }
}

void large_calls::make(const listed_call& call, pass how) {
    for (auto times = call.times; times != 0 && results_.is_fine(key_); --times) {
        try {
            if (how == pass::move)
                move_to_now();
            else
                make_one(request_of(call, how));
        } catch (const call_failure& error) {
            sketches_.forget_trial();
            fail(error);
        }
    }
}

void large_calls::make_one(const detail::call_request& request) {
    const auto& traits = core::traits_of(request.verb);
    if (traits.tests_amount)
        allow(request);
    else
        adjust(request);
}

/// Makes `allow` and `peek`.
void large_calls::allow(const detail::call_request& request) {
    const auto counts_member = rules_.has_distinct && request.has_member && request.cost > 0;
    if (rules_.has_log)
        log_.report(request.at_least, request.cost, states());
    sketches_.report(states());
    if (counts_member)
        sketches_.try_member(request.member, states());
    append_facts(nullptr);
    results_.add_granted(states_.make_one(request) ? 1 : 0);

    const auto& made = states_.last();
    const auto charges = core::traits_of(request.verb).takes_grant && made.granted > 0;
    if (!charges)
        sketches_.forget_trial();
    if (request.verb == verb::peek || made.outcome == outcome::never)
        return;
    if (rules_.has_log)
        log_.move_to_now();
    if (charges && counts_member)
        sketches_.keep_trial(request.member, states());
    if (charges && rules_.has_log)
        log_.record(made.granted);
    if (!made.allowed() && rules_.counts_denied)
        log_.record(request.cost);
}

void large_calls::adjust(const detail::call_request& request) {
    auto members = numbers{};
    for (std::uint32_t i = 0; i < rules_.size; ++i)
        members[i] = states()[i].debt;
    const auto adds_member = request.verb == verb::charge && request.has_member && request.cost > 0;
    sketches_.report(states());
    if (adds_member) {
        sketches_.try_member(request.member, states());
        sketches_.keep_trial(request.member, states());
    }
    if (request.verb == verb::reset)
        sketches_.check_all();
    results_.add_granted(states_.make_one(request) ? 1 : 0);
    if (request.verb == verb::reset) {
        (void)advance_windows();
        sketches_.erase_all();
    }
    if (rules_.has_log) {
        change_log(request);
        log_.report(0, 0, states());
    }
    sketches_.report(states());
    append_facts(request.verb == verb::charge ? &members : nullptr);
}

void large_calls::change_log(const detail::call_request& request) {
    if (request.verb == verb::reset)
        return log_.erase();
    log_.move_to_now();
    if (request.verb == verb::charge)
        log_.record(request.cost);
    if (request.verb == verb::refund)
        log_.refund(request.cost);
}

void large_calls::move_to_now() {
    if (rules_.has_log)
        log_.move_to_now();
    states_.move_to_now(run_.now());
}

/// @param members for each distinct rule the number of members before the call; null: it is the
///        debt of the state
void large_calls::append_facts(const numbers* members) {
    if (!results_.facts)
        results_.facts.emplace();
    for (std::uint32_t i = 0; i < rules_.size; ++i) {
        const auto& l = rules_.limits[i];
        const auto& s = states()[i];
        if (core::form_of(l.kind) == core::state_form::numbers)
            continue;
        const auto debt = members != nullptr && core::has_sketch(l) ? (*members)[i] : s.debt;
        for (const auto number : {s.t, debt, s.num, s.capacity})
            detail::append_double(*results_.facts, number);
    }
}

void large_calls::fail(const call_failure& error) {
    results_.fail(key_, error.what());
}

void large_calls::finish() {
    if (results_.is_fine(key_) && rules_.has_log)
        save_log();
    if (results_.is_fine(key_) && states_.change().any)
        save();
    // The facts of a failed key are not used.
    if (!results_.is_fine(key_) && results_.facts)
        results_.facts->resize(facts_before_);
}

void large_calls::save_log() {
    try {
        log_.save();
    } catch (const call_failure& error) {
        fail(error);
    }
}

void large_calls::save() {
    try {
        if (is_moved_)
            sketches_.keep_all(states());
    } catch (const call_failure& error) {
        return fail(error);
    }
    auto value = string_value{run_, names_[key_ - first_]};
    const auto found = results_.value(key_);
    if (value.is_taken(found))
        return results_.report_conflict(key_);
    const auto error = server_module::save(run_, value, found, states_.change());
    if (!error.empty())
        results_.fail(key_, error);
}

} // namespace colimit::server_module
