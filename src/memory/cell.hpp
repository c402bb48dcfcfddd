// SPDX-License-Identifier: BSL-1.0
//
// The cells of a key. A key is a chain of cells of one cache line each: one per state of numbers or
// sketch, one for its log, and one while it is blocked. A tag's low bits name a block, or the first
// kind of the state's family. So the search for room, which knows no policies, can see how old a
// state is and what else the cell owns. In these cells the fields of a state differ from state.hpp:
//
//     of          t                num             capacity
//     ----------  ---------------  --------------  ---------------------------------
//     distinct    as in state.hpp  its sketch      its period
//     log         the last event   its event log   -
//     concurrent  its last lease   its slot set    -
//
// Logs, sketches and slot sets are allocated separately, and count as cells according to their
// size.
//
// The record of a call with an id is a chain of its own: a cell with the call (t: its time, debt:
// its cost, num: at_least), then the states with which it was decided, and the block if there was
// one. The digest in its second cell is that of the policy's version and of the member. It is in a
// list, too: see record_list.hpp.

#pragma once

#include <core/event_log.hpp>
#include <core/hyperloglog.hpp>
#include <core/rule_kind.hpp>
#include <core/slot_set.hpp>
#include <core/state.hpp>
#include <hash/siphash.hpp>

#include <boost/assert.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

namespace colimit::memory {

/// The recovery time of the cells of a chain after the first one.
inline constexpr std::int64_t belongs_to_chain = std::numeric_limits<std::int64_t>::max();

struct alignas(64) cell {
    hash::digest id; ///< of key and policy, in the first cell of a chain
    core::rule_state state;
    std::int64_t recovered_at; ///< the whole chain is equivalent to no state then
    std::uint32_t next;        ///< the next cell of the chain, or free cell
    std::uint32_t tag;         ///< 0: the cell is free
};
static_assert(sizeof(cell) == 64);

/// The low bits of a tag: `block_tag`, or 1 plus the number of a kind.
inline constexpr std::uint32_t cell_bits = 15;
inline constexpr std::uint32_t block_tag = cell_bits;
/// Of all cells of a record. The tag of the first one also has verbs.
inline constexpr std::uint32_t record_tag = block_tag - 1;
static_assert(core::kind_count < record_tag, "a tag needs more low bits");

/// The low bits of each kind; they are equal for kinds that read each other's states.
inline constexpr auto bits_of_kind = [] {
    std::array<std::uint32_t, core::kind_count> made{};
    for (std::size_t i = 0; i < made.size(); ++i) {
        auto first = std::size_t{0};
        while (core::family_of(static_cast<core::kind>(first)) !=
               core::family_of(static_cast<core::kind>(i)))
            ++first;
        made[i] = 1 + static_cast<std::uint32_t>(first);
    }
    return made;
}();

[[nodiscard]] constexpr std::uint32_t bits_of(core::kind k) noexcept {
    return bits_of_kind[static_cast<std::size_t>(k)];
}

/// The tag of the log of a key, which all rules share.
inline constexpr auto log_tag = bits_of(core::kind::log);

/// The tag of the slot set of a key, of which a policy has one.
inline constexpr auto slots_tag = bits_of(core::kind::concurrent);

[[nodiscard]] constexpr bool has_state_of(std::uint32_t tag, core::kind k) noexcept {
    return (tag & cell_bits) == bits_of(k);
}

/// Returns whether the cell is one of a record.
[[nodiscard]] constexpr bool is_of_record(std::uint32_t tag) noexcept {
    return (tag & cell_bits) == record_tag;
}

/// Returns whether the cell has a lockout, which denies every call for a time.
[[nodiscard]] constexpr bool has_lockout(std::uint32_t tag) noexcept {
    return tag == block_tag || has_state_of(tag, core::kind::lockout);
}

/// Returns the tag of a rule's cell. The states of two rules of a policy whose tags differ in the
/// low bits only are distinguished by their order.
[[nodiscard]] inline std::uint32_t cell_tag(const core::compiled_rule& l) noexcept {
    return (l.tag & ~cell_bits) | bits_of(l.kind);
}

/// A key's state while a call works on it.
struct contents {
    std::span<core::rule_state> states; ///< one per limit
    core::key_header header{};
    core::event_log* log = nullptr;  ///< null if the key has none
    core::slot_set* slots = nullptr; ///< null if the key has none
    std::span<core::hyperloglog*>
        sketches{}; ///< one per rule, or null; only of `distinct` policies
};

/// Memory for the states of a call, on the stack. Only as many states as the policy has limits
/// are initialised, as clearing all of them would take longer than the arithmetic of one.
class call_states {
  public:
    explicit call_states(std::uint32_t count) noexcept : count_(count) {
        BOOST_ASSERT(count <= core::max_states);
        std::uninitialized_value_construct_n(states_.begin(), count);
    }

    [[nodiscard]] std::span<core::rule_state> all() noexcept { return {states_.data(), count_}; }

  private:
    union { // so that the array is not initialised
        std::array<core::rule_state, core::max_states> states_; // NOLINT: it is private
    };
    std::uint32_t count_;
};

/// Returns how many cells an object of this size counts as.
[[nodiscard]] constexpr std::size_t cells_for(std::size_t bytes) noexcept {
    return (bytes + sizeof(cell) - 1) / sizeof(cell);
}

// A pointer is stored as a number.
static_assert(sizeof(void*) == sizeof(std::int64_t));
[[nodiscard]] inline core::event_log* log_in(const cell& c) noexcept {
    return std::bit_cast<core::event_log*>(c.state.num);
}
[[nodiscard]] inline core::slot_set* slots_in(const cell& c) noexcept {
    return std::bit_cast<core::slot_set*>(c.state.num);
}
[[nodiscard]] inline core::hyperloglog* sketch_in(const cell& c) noexcept {
    return std::bit_cast<core::hyperloglog*>(c.state.num);
}

/// Returns the earliest time at which the state in the cell can have been written.
[[nodiscard]] inline std::int64_t written_after(const cell& c) noexcept {
    const auto bits = c.tag & cell_bits;
    BOOST_ASSERT(bits != 0);
    if (bits == block_tag)
        return core::kinds::lockout::written_after(c.state);
    return core::visit(static_cast<core::kind>(bits - 1),
                       [&]<class K>(K) { return K::written_after(c.state); });
}

} // namespace colimit::memory
