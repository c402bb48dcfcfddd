// SPDX-License-Identifier: BSL-1.0
//
// The states of a key whose rules are numbers, through the calls of a command: the twin of
// lua/check/states.lua and calls.lua.

#pragma once

#include <core/compiled_policy.hpp>
#include <core/evaluate.hpp>
#include <core/state.hpp>
#include <core/state_encoding.hpp>
#include <server_module/call_list.hpp>
#include <server_module/command_run.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::server_module {

/// How long a state is needed and how long its key is kept, in microseconds.
struct state_lifetime {
    std::int64_t matters = 0;
    double kept = 0;
};

[[nodiscard]] state_lifetime lifetime_of(const core::compiled_policy& rules,
                                         const core::key_state& state, std::int64_t now) noexcept;

/// What is to be written of a key after its calls.
struct state_change {
    bool any = false;
    bool is_erased = false; ///< there is no state any more
    /// The write takes nothing from a limit, and needs no more memory.
    bool gives_back = true;
    std::string value = {}; ///< its promise is 0
    state_lifetime lifetime = {};
};

/// Returns whether so many equal calls are made in one step, or few.
[[nodiscard]] bool are_made_at_once(const core::compiled_policy& rules,
                                    const detail::call_request& request,
                                    std::uint32_t times) noexcept;

/// Evaluates calls on one key, and remembers what is to be written.
class policy_states {
  public:
    explicit policy_states(const core::compiled_policy& rules) noexcept : rules_(rules) {}

    /// Takes the value that was found.
    void load(std::optional<std::string_view> value) noexcept;
    /// Makes the call so many times. Returns how many were granted.
    [[nodiscard]] std::int64_t make(const detail::call_request& request, std::uint32_t times);
    /// Moves what lies after now, as a denial does.
    void move_to_now(std::int64_t now);

    [[nodiscard]] const decision& last() const noexcept { return result_; }
    [[nodiscard]] core::key_state& state() noexcept { return state_; }
    [[nodiscard]] state_change& change() noexcept { return change_; }
    /// Returns whether the value that was found must be replaced even by a denial.
    [[nodiscard]] bool finds_stale() const noexcept { return finds_stale_; }

    /// Evaluates the call once, with states that may have been changed through `state`. Returns
    /// whether it was granted.
    bool make_one(const detail::call_request& request);

  private:
    [[nodiscard]] bool has_surplus() const noexcept;
    [[nodiscard]] std::int64_t allow_times(const detail::call_request& request,
                                           std::uint32_t times);
    void note(core::effect effect, const detail::call_request& request);

    const core::compiled_policy& rules_;
    core::key_state state_{};
    decision result_;
    state_change change_;
    bool finds_stale_ = false;
};

} // namespace colimit::server_module
