// SPDX-License-Identifier: BSL-1.0
//
// The in-process store: of bounded size, without a timer per key, with the arithmetic of src/core.
//
//     key, policy --SipHash--> digest --chains--> the states of its rules, its log, its sketches
//                                         |
//                              none, and no room: one of the shared states
//
// A key is represented by its digest; none of its bytes are stored. Memory is bounded by a number
// of cells. A rule takes one, and so does a block; a log or a sketch takes as many as its size
// needs. A call that needs room evicts keys whose state has fully recovered, which is equivalent to
// no state. If that is not enough:
//
//   - a new key uses a shared state. If it gets a chain later, that starts with a copy of the
//     shared state, unless that has recovered; with `initially`, or periods from the first use, it
//     gets none before. So a flood of keys cannot evict a limited key or reset its state. While it
//     lasts, new keys are limited together with those of the flood, and may be denied all that
//     time; after its last charge at most for as long as the limit takes to recover. As it is not
//     known whether such a key is new, it never has more tokens than a rule with `initially` gives
//     to new ones.
//   - a log keeps its size: new events are merged into its newest one, so they count for longer.
//   - a sketch does not accept a new member: its rule denies new members until the window ends.
//   - a set of holders does not accept a new one: an `acquire` that finds a free slot fails, as on
//     a server without memory.
//
// A block without room is shared too. It also denies the other keys of its shared state: one new
// key of that policy in 1,024.
//
// A call with an id is decided once: its record has the states with which it was decided, so the
// same call gets the same decision again. Records take cells too, at most half of them. If there is
// no room for one more, the call is refused and charges nothing, so no id is forgotten early.
//
// A call that charges nothing creates no state. While a key uses a shared state, refund and reset
// act as a peek, because the state belongs to other keys too.
//
// States of rules that a policy no longer has are dropped by the next call that writes.
//
// If the clock was set back, states are in the future. A call moves the state of its key to its own
// time, as in the other stores. All calls of a store must use one clock.

#pragma once

#include <colimit/check_item.hpp>
#include <colimit/decision.hpp>
#include <colimit/local_limiter.hpp>
#include <core/call_fault.hpp>
#include <core/evaluate.hpp>
#include <core/request_record.hpp>
#include <hash/siphash.hpp>
#include <memory/chains.hpp>
#include <memory/shared_states.hpp>
#include <policy/policy_data.hpp>

#include <boost/assert.hpp>
#include <boost/core/noncopyable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace colimit::memory {

class store : boost::noncopyable {
  public:
    /// A key whose memory is being prefetched.
    struct lookup {
        hash::digest id;
        std::uint32_t likely; ///< its most likely chain, or none
    };

    /// @param states 1 to 2^30
    /// @param request_ttl how long calls with an id are remembered
    explicit store(std::size_t states, std::chrono::microseconds request_ttl = {});

    /// Begins a call. While the key's memory is fetched, work such as reading the clock is free.
    [[nodiscard]] lookup seek(const hash::digest& key) const noexcept {
        return {key, chains_.seek(key)};
    }

    /// Decides a call that is valid and has a time, after `seek` with the same policy and without
    /// another call in between. Returns whether even a denial must replace the stored state,
    /// because it is in the future or invalid; for logs and sketches always true.
    bool decide(const lookup& key, const detail::policy_data& p, const core::call_request& request,
                decision& result) noexcept;

    /// Begins and decides a call. The key has at most limits::max_key_bytes.
    void decide(std::string_view key, const detail::policy_data& p,
                const core::call_request& request, decision& result) {
        BOOST_ASSERT(key.size() <= limits::max_key_bytes);
        (void)decide(seek(p.digest(key)), p, request, result);
    }

    /// Decides a call with an id as `decide` does, or as it was decided before.
    /// @returns none; how it differs from the call that is remembered under its id; or
    ///          `request_room`. With a fault nothing was charged, and there is no result.
    [[nodiscard]] detail::fault decide_once(const hash::digest& key, const detail::policy_data& p,
                                            const core::call_request& request,
                                            decision& result) noexcept;

    /// Decides `allow` for several keys: all are charged, or none. Sets the result of each check,
    /// and returns the most restrictive one. No two checks are about one state.
    /// @throws std::bad_alloc without an effect
    [[nodiscard]] decision allow_all(std::span<check_item> checks, std::int64_t now);

    /// Returns whether the last call, an `acquire`, failed because there was no room for a holder.
    /// It charged nothing, and has no result.
    [[nodiscard]] bool lacks_memory() const noexcept { return lacks_memory_; }

    /// Returns the fencing token of the last call if that was an `acquire` that was granted a
    /// slot.
    [[nodiscard]] std::uint64_t fencing_token() const noexcept { return fencing_token_; }

    [[nodiscard]] local_statistics statistics() const noexcept;

  private:
    friend class large_call;
    friend class allow_all_call;

    core::effect evaluate(const core::compiled_policy& rules, contents& c,
                          const core::call_request& request, decision& result) noexcept;
    [[nodiscard]] detail::fault answer_again(std::uint32_t record, const detail::policy_data& p,
                                             const core::call_request& request,
                                             const core::call_digests& digests,
                                             decision& result) const noexcept;
    void decide_new_key(const hash::digest& id, const detail::policy_data& p,
                        const core::call_request& request, contents& c, decision& result) noexcept;
    void write(std::uint32_t head, const detail::policy_data& p, const contents& c,
               std::int64_t now) noexcept;
    void move_to_shared(std::uint32_t head, const detail::policy_data& p, const contents& c,
                        const core::event_log& log, std::int64_t now) noexcept;

    chains chains_;
    shared_states shared_;
    std::uint64_t overflowed_ = 0;
    std::uint64_t fencing_token_ = 0; ///< of the latest call
    bool lacks_memory_ = false;       ///< for the latest call, if that is an `acquire`
    std::int64_t last_token_ = 0;     ///< of all keys: a set without holders is forgotten
    std::uint32_t record_ = no_cell;  ///< of the current call, if it has an id
    /// Used by `allow_all`, and kept so that calls allocate nothing.
    std::vector<shared_states::set> saved_;
};

} // namespace colimit::memory
