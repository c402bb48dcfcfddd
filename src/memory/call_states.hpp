// SPDX-License-Identifier: BSL-1.0
//
// What a call works with, on the stack. Only as many states as there are rules are made: clearing
// all of them would take longer than the arithmetic of one.

#ifndef COLIMIT_MEMORY_CALL_STATES_HPP
#define COLIMIT_MEMORY_CALL_STATES_HPP

#include <core/state.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>

namespace colimit::memory {

class call_states {
  public:
    explicit call_states(std::uint32_t slots) noexcept : slots_(slots) {
        std::uninitialized_value_construct_n(states_.begin(), slots);
    }

    [[nodiscard]] std::span<core::rule_state> all() noexcept { return {states_.data(), slots_}; }

  private:
    union { // of one, so that its member is made only as far as it is used
        std::array<core::rule_state, core::most_slots> states_; // NOLINT: it is private
    };
    std::uint32_t slots_;
};

} // namespace colimit::memory

#endif
