// SPDX-License-Identifier: BSL-1.0
//
// The in-process store: bounded, without a timer per key, with the arithmetic of src/core.
//
//     key, policy --SipHash--> digest --index--> cell --> cell --> ...   one for each rule
//                                         |
//                                 none, and no room: one of the shared states
//
// A key is its digest; no byte of it is stored, so every key costs the same and memory is bounded
// by a number of states. Nothing runs in the background: a call that needs a place looks at the
// next two cells behind a clock hand and frees those keys whose state has fully recovered, which is
// the same as having none. If that leaves no room it looks at 32 more, and if there still is none,
// the key is answered by a shared state. When it gets a place later, it starts there with a copy of
// the shared state, as far as that has not recovered. So a flood of keys can evict nobody who is
// limited, give nobody a second start, and the longest it can hold up a newcomer is the time that
// one limit takes to recover.
//
// A call that charges nothing makes no state. While a key lives in a shared state, refund and reset
// change nothing, because what is there belongs to others too; they answer as a peek does.
//
// When the clock was set back, states lie in the future. The call that finds its own there moves it
// to its now, as everywhere; the search for a place does the same to those it comes across, in
// whole seconds, so that places become free in their time even if the clock stays back. A store
// therefore expects all calls by one clock.

#ifndef COLIMIT_MEMORY_STORE_HPP
#define COLIMIT_MEMORY_STORE_HPP

#include <colimit/decision.hpp>
#include <colimit/local_limiter.hpp>
#include <core/evaluate.hpp>
#include <memory/index.hpp>
#include <memory/shared_states.hpp>
#include <memory/siphash.hpp>
#include <memory/slab.hpp>
#include <policy_data.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace colimit::memory {

class store {
  public:
    /// A key that is being looked for: the memory it will need is on its way.
    struct sought {
        digest id;
        std::uint32_t likely; ///< the cell that it most likely has, or none
    };

    /// @param states 1 to 2^30
    explicit store(std::size_t states);
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    ~store() = default;

    /// The first half of a call. What the caller does between the halves, such as reading the
    /// clock, costs nothing when the key is not in the cache.
    [[nodiscard]] sought seek(std::string_view key, const detail::policy_data& p) const noexcept;

    /// The second half, with the same policy and no other call between. `asked` is valid and its
    /// clock is set.
    void answer(const sought& key, const detail::policy_data& p, const core::question& asked,
                decision& out) noexcept;

    /// Both halves. The key is at most limits::key_bytes.
    void answer(std::string_view key, const detail::policy_data& p, const core::question& asked,
                decision& out) noexcept {
        answer(seek(key, p), p, asked, out);
    }

    [[nodiscard]] local_statistics statistics() const noexcept;

  private:
    [[nodiscard]] std::uint32_t find(const sought& key) const noexcept;
    void answer_newcomer(const digest& id, const detail::policy_data& p,
                         const core::question& asked, decision& out) noexcept;
    void read(std::uint32_t head, const core::plan& rules,
              std::span<core::bucket_state> states) const noexcept;
    void write(std::uint32_t head, const detail::policy_data& p,
               std::span<const core::bucket_state> states, std::int64_t now,
               std::int64_t recovered_at) noexcept;
    void write_chain(std::uint32_t head, const core::plan& rules,
                     std::span<const core::bucket_state> states,
                     std::int64_t recovered_at) noexcept;
    void move_to_shared(std::uint32_t head, const detail::policy_data& p,
                        std::span<const core::bucket_state> states, std::int64_t now,
                        std::int64_t recovered_at) noexcept;
    [[nodiscard]] bool place(const digest& id, const core::plan& rules,
                             std::span<const core::bucket_state> states, std::int64_t now,
                             std::int64_t recovered_at) noexcept;
    void forget(std::uint32_t head) noexcept;

    [[nodiscard]] bool make_room(std::size_t cells, std::int64_t now) noexcept;
    [[nodiscard]] std::uint32_t advance_hand() noexcept;
    [[nodiscard]] bool evict_if_recovered(std::uint32_t i, std::int64_t now) noexcept;
    void bring_back_from_future(std::uint32_t head, std::int64_t now) noexcept;

    digest secret_;
    index index_;
    slab cells_;
    shared_states shared_;
    std::uint32_t hand_ = 0;
    std::uint64_t evicted_ = 0;
    std::uint64_t overflowed_ = 0;
};

} // namespace colimit::memory

#endif
