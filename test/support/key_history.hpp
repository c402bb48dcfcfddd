// SPDX-License-Identifier: BSL-1.0
//
// One key under one policy, with the arithmetic alone at times that the test chooses.

#pragma once

#include <colimit/policy.hpp>
#include <core/evaluate.hpp>
#include <policy/policy_data.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace colimit::test {

struct key_history {
    key_history(colimit::policy rules, std::int64_t begin) : policy(std::move(rules)), now(begin) {}

    decision allow(std::int64_t cost = 1, std::optional<std::int64_t> at_least = std::nullopt) {
        return ask(core::verb::allow, cost, at_least);
    }
    decision peek(std::int64_t cost = 1) { return ask(core::verb::peek, cost, {}); }
    decision charge(std::int64_t cost = 1) { return ask(core::verb::charge, cost, {}); }
    decision refund(std::int64_t cost = 1) { return ask(core::verb::refund, cost, {}); }
    decision reset() { return ask(core::verb::reset, 0, {}); }
    decision block(std::int64_t us) { return ask(core::verb::block, us, us); }
    decision reserve(std::int64_t cost, std::int64_t max_wait) {
        return ask(core::verb::reserve, cost, max_wait);
    }
    /// @param place what `reserve` answered
    decision unreserve(std::int64_t cost, const decision& place) {
        return ask(core::verb::unreserve, cost, core::recovers_at(place));
    }

    [[nodiscard]] const core::compiled_policy& plan() const noexcept {
        return detail::access::data(policy)->compiled;
    }

    colimit::policy policy;
    std::int64_t now;
    core::key_state state{};
    core::effect last_effect{};
    /// Whether the state goes through the store between calls, with no more than what is stored.
    bool forget_flags_between_calls = false;

  private:
    decision ask(core::verb v, std::int64_t cost, std::optional<std::int64_t> at_least) {
        const auto before = state;
        auto answer = decision{};
        last_effect = core::evaluate(
            plan(), state,
            {.verb = v, .cost = cost, .at_least = at_least.value_or(cost), .now = now}, answer);
        if (forget_flags_between_calls && last_effect == core::effect::nothing)
            state = before;
        if (forget_flags_between_calls && last_effect == core::effect::erase)
            state = {};
        return answer;
    }
};

} // namespace colimit::test
