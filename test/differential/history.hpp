// SPDX-License-Identifier: BSL-1.0
//
// A random history: a policy whose rules change, a few keys, a clock that jumps, and what happens
// to them. It is made from a seed alone, so the same seed tells the same story.

#pragma once

#include <colimit/policy.hpp>
#include <core/evaluate.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace colimit::differential {

enum class step_kind : std::uint8_t {
    calls,    ///< one batch
    together, ///< checks of different keys, all or nothing
    plant,    ///< another client writes bytes to a key
    intrude,  ///< another client writes another type of value to a key
    remove,   ///< another client deletes a key
    pause,    ///< real time passes
};

struct key_call {
    std::size_t key;
    core::call_request request; ///< its clock is the step's
    std::size_t version = 0;    ///< of the policy: in a batch the same for all
    /// Calls for a lease, which follow the last one of the equal calls that it begins.
    std::uint32_t further = 0;
};

/// Of a row.
enum class packed_place : std::uint8_t { new_hash, old_hash, head };

struct step {
    step_kind kind = step_kind::calls;
    std::vector<key_call> calls = {}; ///< at least one
    std::size_t key = 0;              ///< of plant, intrude and remove
    packed_place place = {};          ///< of them, where states are packed
    std::string bytes = {};           ///< of plant
    std::int64_t milliseconds = 0;    ///< of pause

    /// Returns whether its calls have ids: all or none.
    [[nodiscard]] bool has_ids() const { return !calls.empty() && calls.front().request.has_id; }

    /// Returns whether two calls are the same, apart from members, so that a batch makes one of
    /// them.
    [[nodiscard]] bool are_equal(std::size_t a, std::size_t b) const;
};

struct history {
    std::uint64_t seed = 0;
    bool server_clock = false;
    std::size_t keys = 1;
    bool packed = false;
    std::vector<policy> versions; ///< of one policy: its name stays, its rules change
    std::vector<step> steps;

    [[nodiscard]] std::size_t calls() const noexcept;
};

/// A history of about 300 calls.
/// @param server_clock the server's own clock: real times to live, values written in place, pauses
/// @param packed all versions are, and no call is made that such policies do not support
[[nodiscard]] history random_history(std::uint64_t seed, bool server_clock, bool packed = false);

/// For people.
std::ostream& operator<<(std::ostream& out, const history& h);

} // namespace colimit::differential
