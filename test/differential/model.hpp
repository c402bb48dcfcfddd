// SPDX-License-Identifier: BSL-1.0
//
// The executable model: the C++ arithmetic over a plain map, one call after another. It keeps for
// each key the bytes that a server should hold, so what it expects can be compared byte by byte.

#ifndef COLIMIT_TEST_DIFFERENTIAL_MODEL_HPP
#define COLIMIT_TEST_DIFFERENTIAL_MODEL_HPP

#include "history.hpp"

#include <core/evaluate.hpp>
#include <core/hyperloglog.hpp>
#include <core/kinds.hpp>
#include <core/log_facts.hpp>
#include <policy_data.hpp>
#include <redis/wire.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::differential {

/// A key as the server should hold it, with its log and its sketches.
struct model_key {
    std::optional<std::string> value;
    /// Something else than a string is there.
    bool foreign = false;
    core::event_log log;
    std::map<std::uint32_t, std::unique_ptr<core::hyperloglog>> sketches; ///< by their rules' tags
};

class model {
  public:
    explicit model(std::size_t keys) : keys_(keys) {}

    /// @param asked with its clock set
    core::effect answer(const core::plan& rules, std::size_t key, const core::question& asked,
                        decision& out) {
        auto& known = keys_[key];
        auto state = redis::decode_value(rules, known.value);
        if (rules.has_log) {
            (void)core::change_before(known.log, rules, asked);
            core::tell(known.log, rules, asked, state.states);
        }
        const auto fresh = tell_sketches(rules, known, state, asked);
        const auto effect = core::evaluate(rules, state, asked, out);
        if (asked.verb == core::verb::allow && out.granted > 0)
            add_member(rules, known, fresh, asked.member);
        if (rules.has_log)
            (void)core::change_after(known.log, rules, asked, out);
        if (asked.verb == core::verb::reset)
            known.sketches.clear();
        if (effect == core::effect::store)
            known.value = redis::encode_value(rules, state, 0);
        if (effect == core::effect::erase)
            known.value.reset();
        return effect;
    }

    struct joint_answer {
        decision answer;
        core::effect effect = core::effect::nothing;
    };

    /// All or nothing: asks everybody at `now`, and charges all if all allow.
    std::vector<joint_answer> answer_together(const std::vector<policy>& versions,
                                              const std::vector<key_call>& calls,
                                              std::int64_t now) {
        auto answers = std::vector<joint_answer>(calls.size());
        const auto ask = [&](core::verb v) {
            for (std::size_t i = 0; i < calls.size(); ++i) {
                auto asked = calls[i].asked;
                asked.verb = v;
                asked.now = now;
                answers[i].effect = answer(versions[calls[i].version].data()->plan, calls[i].key,
                                           asked, answers[i].answer);
            }
        };
        ask(core::verb::peek);
        if (std::ranges::all_of(answers, [](const auto& a) { return a.answer.allowed(); }))
            ask(core::verb::allow);
        else
            for (auto& a : answers)
                a.answer.granted = 0;
        return answers;
    }

    /// How long after `now`, which is not before its last call, the key's state matters.
    [[nodiscard]] std::int64_t recovery_time(const core::plan& rules, std::size_t key,
                                             std::int64_t now) const {
        auto state = redis::decode_value(rules, keys_[key].value);
        auto longest = std::int64_t{0};
        for (std::uint32_t i = 0; i < rules.slots; ++i) {
            auto& s = state.states[i];
            (void)bring(rules.limits[i], s, now);
            longest = std::max(longest, core::kinds::matters_for(rules.limits[i], s, now));
        }
        if (state.block.num != 0)
            (void)core::hold::bring_to_now(limits::longest_recovery.count(), state.block, now);
        return std::max(longest, state.block.debt);
    }

    [[nodiscard]] model_key& operator[](std::size_t key) { return keys_[key]; }
    [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }

  private:
    [[nodiscard]] static bool bring(const core::limit& l, core::rule_state& s, std::int64_t now) {
        return l.kind == core::kind::distinct ? core::window::bring_to_now(l, s, now)
                                              : core::kinds::bring_to_now(l, s, now);
    }

    [[nodiscard]] static core::hyperloglog& sketch(model_key& known, std::uint32_t tag) {
        auto& found = known.sketches[tag];
        if (!found)
            found = std::make_unique<core::hyperloglog>();
        return *found;
    }

    /// Answers for each slot whether its window has no members: the sketch is one of before, and
    /// starts anew when a member is added.
    using windows = std::array<bool, core::most_slots>;
    static windows tell_sketches(const core::plan& rules, model_key& known, core::key_state& state,
                                 const core::question& asked) {
        const auto counts =
            asked.cost > 0 && (asked.verb == core::verb::charge ||
                               asked.verb == core::verb::allow || asked.verb == core::verb::peek);
        const auto mark = core::hyperloglog::mark_of(asked.member);
        auto fresh = windows{};
        for (std::uint32_t i = 0; i < rules.size; ++i) {
            auto& s = state.states[i];
            if (rules.limits[i].kind != core::kind::distinct)
                continue;
            state.stale = bring(rules.limits[i], s, asked.now) || state.stale;
            fresh[i] = s.debt == 0;
            s.num = !counts    ? s.debt
                    : fresh[i] ? 1
                               : sketch(known, rules.limits[i].tag).count_with(mark);
        }
        if (counts && asked.verb == core::verb::charge)
            add_member(rules, known, fresh, asked.member);
        return fresh;
    }

    static void add_member(const core::plan& rules, model_key& known, const windows& fresh,
                           std::string_view member) {
        for (std::uint32_t i = 0; i < rules.size; ++i) {
            const auto& l = rules.limits[i];
            if (l.kind != core::kind::distinct)
                continue;
            if (fresh[i])
                known.sketches.erase(l.tag);
            (void)sketch(known, l.tag).add(core::hyperloglog::mark_of(member));
        }
    }

    std::vector<model_key> keys_;
};

} // namespace colimit::differential

#endif
