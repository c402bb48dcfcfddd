// SPDX-License-Identifier: BSL-1.0
//
// What is kept of a key: a chain of cells of one cache line each, a cell for each of its numbered
// states, one for its log and one while it is blocked. What a cell holds is said by the low bits of
// its tag, so that the search for a place, which knows no policies, can tell how old a state is and
// what else it owns. These bits name a block or the first kind of rule of the state's family:
//
//     of          t                num             capacity
//     ----------  ---------------  --------------  ---------------------------------
//     distinct    as in state.hpp  its sketch      its period
//     log         the last event   its event log   -
//
// Logs and sketches lie elsewhere in memory, and count as so many cells as they are large.

#ifndef COLIMIT_MEMORY_CELL_HPP
#define COLIMIT_MEMORY_CELL_HPP

#include <core/event_log.hpp>
#include <core/hyperloglog.hpp>
#include <core/rule_kind.hpp>
#include <core/state.hpp>
#include <hash/siphash.hpp>

#include <boost/assert.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace colimit::memory {

/// In the place of a recovery time: a cell that belongs to the cell before it.
inline constexpr std::int64_t belongs_to_chain = std::numeric_limits<std::int64_t>::max();

struct alignas(64) cell {
    hash::digest id; ///< of key and policy, in the first cell of a chain
    core::rule_state state;
    std::int64_t recovered_at; ///< from then on the whole chain is as good as none
    std::uint32_t next;        ///< of the chain, or of the free cells
    std::uint32_t tag;         ///< 0: the cell is free
};
static_assert(sizeof(cell) == 64);

/// The low bits of a tag: one of these, or the number of a kind above `nothing`.
inline constexpr std::uint32_t cell_bits = 15;
inline constexpr std::uint32_t nothing = 0;
inline constexpr std::uint32_t block_tag = cell_bits;
static_assert(core::kind_count < block_tag, "a tag needs more low bits");

/// The low bits of the cells of each kind: kinds that read each other's state have the same.
inline constexpr auto bits_of_kind = [] {
    std::array<std::uint32_t, core::kind_count> made{};
    for (std::size_t i = 0; i < made.size(); ++i) {
        auto first = std::size_t{0};
        while (core::family_of(static_cast<core::kind>(first)) !=
               core::family_of(static_cast<core::kind>(i)))
            ++first;
        made[i] = nothing + 1 + static_cast<std::uint32_t>(first);
    }
    return made;
}();

[[nodiscard]] constexpr std::uint32_t bits_of(core::kind k) noexcept {
    return bits_of_kind[static_cast<std::size_t>(k)];
}

/// The tag of a log: a key has one, whatever its rules are called.
inline constexpr auto log_tag = bits_of(core::kind::log);

[[nodiscard]] constexpr bool has_state_of(std::uint32_t tag, core::kind k) noexcept {
    return (tag & cell_bits) == bits_of(k);
}

/// Whether the cell denies for a time, whatever is asked.
[[nodiscard]] constexpr bool has_lockout(std::uint32_t tag) noexcept {
    return tag == block_tag || has_state_of(tag, core::kind::lockout);
}

/// The tag of a rule's cell. Two rules of a policy whose tags differ in the low bits only keep
/// their states apart by the order in which they lie.
[[nodiscard]] inline std::uint32_t cell_tag(const core::compiled_rule& l) noexcept {
    return (l.tag & ~cell_bits) | bits_of(l.kind);
}

/// A key's state while a call works on it.
struct contents {
    std::span<core::rule_state> states; ///< one a slot
    core::key_header header{};
    core::event_log* log = nullptr;           ///< if there is one
    std::span<core::hyperloglog*> sketches{}; ///< one a rule, or null; only of `distinct` policies
};

/// How many cells something of this size counts as.
[[nodiscard]] constexpr std::size_t cells_for(std::size_t bytes) noexcept {
    return (bytes + sizeof(cell) - 1) / sizeof(cell);
}

// A pointer in the place of a number.
static_assert(sizeof(void*) == sizeof(std::int64_t));
[[nodiscard]] inline core::event_log* log_in(const cell& c) noexcept {
    return std::bit_cast<core::event_log*>(c.state.num);
}
[[nodiscard]] inline core::hyperloglog* sketch_in(const cell& c) noexcept {
    return std::bit_cast<core::hyperloglog*>(c.state.num);
}

/// When the state in the cell was written at the earliest.
[[nodiscard]] inline std::int64_t written_after(const cell& c) noexcept {
    const auto bits = c.tag & cell_bits;
    BOOST_ASSERT(bits != nothing);
    if (bits == block_tag)
        return core::kinds::lockout::written_after(c.state);
    return core::visit(static_cast<core::kind>(bits - nothing - 1),
                       [&]<class K>(K) { return K::written_after(c.state); });
}

} // namespace colimit::memory

#endif
