// SPDX-License-Identifier: BSL-1.0
//
// The store of the model: it reports logs, sketches and holders to the arithmetic, and stores the
// results.

#include "model.hpp"

#include <core/log_counts.hpp>
#include <core/rule_kind.hpp>
#include <core/slot_counts.hpp>
#include <core/state_encoding.hpp>
#include <policy/policy_data.hpp>
#include <support/stored_value.hpp>

#include <algorithm>
#include <array>
#include <new>
#include <string_view>

namespace colimit::differential {
namespace {

[[nodiscard]] bool bring(const core::compiled_rule& l, core::rule_state& s, std::int64_t now) {
    return l.kind == core::kind::distinct ? core::kinds::distinct::advance_window(l, s, now)
                                          : core::advance(l, s, now);
}

[[nodiscard]] core::hyperloglog& sketch(model_key& known, std::uint32_t tag) {
    auto& found = known.sketches[tag];
    if (!found)
        found = std::make_unique<core::hyperloglog>();
    return *found;
}

/// For each slot, whether its window has no members: its sketch is one of before, and starts anew
/// when a member is added.
using windows = std::array<bool, core::max_states>;

void add_member(const core::compiled_policy& rules, model_key& known, const windows& fresh,
                std::string_view member) {
    for (std::uint32_t i = 0; i < rules.size; ++i) {
        const auto& l = rules.limits[i];
        if (l.kind != core::kind::distinct)
            continue;
        if (fresh[i])
            known.sketches.erase(l.tag);
        (void)sketch(known, l.tag).add(core::hyperloglog::update_of(member));
    }
}

/// Returns which windows have no members.
[[nodiscard]] windows tell_sketches(const core::compiled_policy& rules, model_key& known,
                                    core::key_state& state, const core::call_request& request) {
    const auto counts =
        request.cost > 0 && (request.verb == core::verb::charge ||
                             request.verb == core::verb::allow || request.verb == core::verb::peek);
    const auto mark = core::hyperloglog::update_of(request.member);
    auto fresh = windows{};
    for (std::uint32_t i = 0; i < rules.size; ++i) {
        auto& s = state.states[i];
        if (rules.limits[i].kind != core::kind::distinct)
            continue;
        state.stale = bring(rules.limits[i], s, request.now) || state.stale;
        fresh[i] = s.debt == 0;
        s.num = !counts    ? s.debt
                : fresh[i] ? 1
                           : sketch(known, rules.limits[i].tag).count_with(mark);
    }
    if (counts && request.verb == core::verb::charge)
        add_member(rules, known, fresh, request.member);
    return fresh;
}

} // namespace

core::effect model::answer(const core::compiled_policy& rules, std::size_t key,
                           const core::call_request& request, decision& out) {
    auto& known = keys_[key];
    auto state = core::decode_value(rules, known.value);
    if (rules.has_log) {
        (void)core::apply_before(known.log, rules, request);
        core::report_counts(known.log, rules, request, state.states);
    }
    if (rules.has_slots) {
        (void)core::apply_before(known.slots, rules, request);
        core::report_counts(known.slots, rules, request, state.states);
    }
    const auto fresh = tell_sketches(rules, known, state, request);
    const auto effect = core::evaluate(rules, state, request, out);
    if (request.verb == core::verb::allow && out.granted > 0)
        add_member(rules, known, fresh, request.member);
    if (rules.has_log)
        (void)core::apply_after(known.log, rules, request, out);
    if (rules.has_slots) {
        token_ = core::fencing_token(rules, state.states, request, out);
        if (!known.slots.make_room(request.now))
            throw std::bad_alloc{};
        (void)core::apply_after(known.slots, rules, request, out);
    }
    if (request.verb == core::verb::reset)
        for (const auto& l : rules.rules())
            if (l.kind == core::kind::distinct)
                known.sketches.erase(l.tag);
    if (effect == core::effect::store)
        known.value = test::encode_value(rules, state, 0);
    if (effect == core::effect::erase)
        known.value.reset();
    return effect;
}

std::vector<model::joint_answer> model::answer_together(const std::vector<policy>& versions,
                                                        const std::vector<key_call>& calls,
                                                        std::int64_t now) {
    auto answers = std::vector<joint_answer>(calls.size());
    const auto ask = [&](core::verb v, auto&& into) {
        for (std::size_t i = 0; i < calls.size(); ++i) {
            auto request = calls[i].request;
            request.verb = v;
            request.now = now;
            if (v == core::verb::unreserve)
                request.at_least = -1;
            into[i].effect = answer(detail::access::data(versions[calls[i].version])->compiled,
                                    calls[i].key, request, into[i].answer);
        }
    };
    ask(core::verb::peek, answers);
    if (std::ranges::all_of(answers, [](const auto& a) { return a.answer.allowed(); })) {
        ask(core::verb::allow, answers);
        return answers;
    }
    for (auto& a : answers)
        a.answer.granted = 0;
    // A place that is not there is not given up, but what lies after now is moved.
    auto moved = answers;
    ask(core::verb::unreserve, moved);
    for (std::size_t i = 0; i < answers.size(); ++i)
        answers[i].effect = moved[i].effect;
    return answers;
}

std::int64_t model::recovery_time(const core::compiled_policy& rules, std::size_t key,
                                  std::int64_t now) const {
    auto state = core::decode_value(rules, keys_[key].value);
    auto longest = std::int64_t{0};
    for (std::uint32_t i = 0; i < rules.state_count; ++i) {
        auto& s = state.states[i];
        (void)bring(rules.limits[i], s, now);
        core::fold(rules.limits[i], s);
        longest = std::max(longest, core::lifetime(rules.limits[i], s, now));
    }
    if (state.block.num != 0)
        (void)core::kinds::lockout::advance_up_to(limits::max_recovery.count(), state.block, now);
    return std::max(longest, state.block.debt);
}

} // namespace colimit::differential
