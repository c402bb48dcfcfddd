// SPDX-License-Identifier: BSL-1.0
//
// What is kept of a key: a chain of cells of one cache line each, a cell for each of its numbered
// states, one for its log and one while it is blocked. What a cell holds is said by the low bits of
// its tag, so that the search for a place, which knows no policies, can tell how old a state is and
// what else it owns:
//
//     holds       t                num             capacity
//     ----------  ---------------  --------------  ---------------------------------
//     distinct    as in state.hpp  its sketch      its length
//     log         the last event   its event log   -
//
// Logs and sketches lie elsewhere in memory, and count as so many cells as they are large.

#ifndef COLIMIT_MEMORY_CELL_HPP
#define COLIMIT_MEMORY_CELL_HPP

#include <core/event_log.hpp>
#include <core/hyperloglog.hpp>
#include <core/state.hpp>
#include <hash/siphash.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
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

/// The low bits of a tag. `block` stays the last one.
enum class holds : std::uint32_t { nothing, bucket, window, counter, distinct, hold, log, block };
inline constexpr std::uint32_t holds_bits = 15;
static_assert(static_cast<std::uint32_t>(holds::block) <= holds_bits, "a tag needs more low bits");

[[nodiscard]] constexpr holds what_holds(std::uint32_t tag) noexcept {
    return static_cast<holds>(tag & holds_bits);
}

/// The tags of what a key has once, whatever its rules are called.
inline constexpr auto log_tag = static_cast<std::uint32_t>(holds::log);
inline constexpr auto block_tag = static_cast<std::uint32_t>(holds::block);

/// By core::kind. Kinds that read each other's state are one.
inline constexpr holds held_by_kind[] = {
    holds::bucket, holds::bucket,  holds::bucket, holds::window,   holds::window,
    holds::window, holds::counter, holds::log,    holds::distinct, holds::hold};
static_assert(std::size(held_by_kind) == core::kind_count, "one entry per core::kind");

/// The tag of a rule's cell. Two rules of a policy whose tags differ in the low bits only keep
/// their states apart by the order in which they lie.
[[nodiscard]] inline std::uint32_t cell_tag(const core::limit& l) noexcept {
    return (l.tag & ~holds_bits) |
           static_cast<std::uint32_t>(held_by_kind[static_cast<std::size_t>(l.kind)]);
}

/// A key's state while a call works on it.
struct contents {
    std::span<core::rule_state> states; ///< one a slot
    core::held held{};
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

/// When the state in the cell was written at the earliest. The time of a bucket that is repaid by
/// steps is that of the next one.
[[nodiscard]] inline std::int64_t written_after(const cell& c) noexcept {
    switch (what_holds(c.tag)) {
    case holds::distinct:
        return c.state.t - c.state.capacity;
    case holds::counter:
        return c.state.t -
               (c.state.num > core::steps_mark ? c.state.num - core::steps_mark : c.state.num);
    case holds::bucket:
    case holds::window:
        return c.state.t - std::max<std::int64_t>(0, c.state.num - core::steps_mark);
    default:
        return c.state.t;
    }
}

} // namespace colimit::memory

#endif
