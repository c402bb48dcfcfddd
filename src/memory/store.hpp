// SPDX-License-Identifier: BSL-1.0
//
// The in-process store: bounded, without a timer per key, with the arithmetic of src/core.
//
//     key, policy --SipHash--> digest --chains--> the states of its rules, its log, its sketches
//                                         |
//                                 none, and no room: one of the shared states
//
// A key is its digest; no byte of it is stored, and memory is bounded by a number of cells. A rule
// takes one, and so does a block; a log or a sketch takes as many as it is large. A call that needs
// room frees keys whose state has fully recovered, which is the same as having none. If that is not
// enough
//
//   - a new key is answered by a shared state. When it gets a place later, it starts there with a
//     copy of the shared state, as far as that has not recovered. So a flood of keys can evict
//     nobody who is limited, give nobody a second start, and the longest it can hold up a newcomer
//     is the time that one limit takes to recover.
//   - a log goes on in the room that it has: its newest event takes up what comes, and so counts
//     for longer, not less.
//   - a sketch takes no new member: its rule refuses those until the window ends.
//
// A block without a place is shared too. It is not lost: it also refuses the other keys that share
// its state, one newcomer to that policy in 1,024.
//
// A call that charges nothing makes no state. While a key lives in a shared state, refund and reset
// change nothing, because what is there belongs to others too; they answer as a peek does.
//
// Of rules that a policy does not have any more the state goes with the next call that writes.
//
// When the clock was set back, states lie in the future. The call that finds its own there moves it
// to its now, as everywhere. A store expects all calls by one clock.

#ifndef COLIMIT_MEMORY_STORE_HPP
#define COLIMIT_MEMORY_STORE_HPP

#include <colimit/decision.hpp>
#include <colimit/local_limiter.hpp>
#include <core/evaluate.hpp>
#include <hash/siphash.hpp>
#include <memory/chains.hpp>
#include <memory/shared_states.hpp>
#include <policy/policy_data.hpp>

#include <boost/assert.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace colimit::memory {

class store {
  public:
    /// A key that is being looked for: the memory it will need is on its way.
    struct lookup {
        hash::digest id;
        std::uint32_t likely; ///< the chain that it most likely has, or none
    };

    /// @param states 1 to 2^30
    explicit store(std::size_t states);
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    ~store() = default;

    /// The first half of a call. What the caller does between the halves, such as reading the
    /// clock, costs nothing when the key is not in the cache.
    [[nodiscard]] lookup seek(const hash::digest& key) const noexcept {
        return {key, chains_.seek(key)};
    }

    /// The second half, with the same policy and no other call between. `asked` is valid and its
    /// clock is set. Returns whether a denial would have to replace what is stored, where it can
    /// tell: the state lies after now, or was no state.
    bool answer(const lookup& key, const detail::policy_data& p, const core::call_request& request,
                decision& out) noexcept;

    /// Both halves. The key is at most limits::max_key_bytes.
    void answer(std::string_view key, const detail::policy_data& p,
                const core::call_request& request, decision& out) {
        BOOST_ASSERT(key.size() <= limits::max_key_bytes);
        (void)answer(seek(p.digest(key)), p, request, out);
    }

    [[nodiscard]] local_statistics statistics() const noexcept;

  private:
    friend class large_call;
    friend class joint_call;

    void answer_newcomer(const hash::digest& id, const detail::policy_data& p,
                         const core::call_request& request, contents& c, decision& out) noexcept;
    void write(std::uint32_t head, const detail::policy_data& p, const contents& c,
               std::int64_t now) noexcept;
    void move_to_shared(std::uint32_t head, const detail::policy_data& p, const contents& c,
                        const core::event_log& log, std::int64_t now) noexcept;

    chains chains_;
    shared_states shared_;
    std::uint64_t overflowed_ = 0;
    /// Of calls for several keys; kept, so that a call allocates nothing.
    std::vector<shared_states::set> saved_;
};

} // namespace colimit::memory

#endif
