// SPDX-License-Identifier: BSL-1.0
//
// What answers a key for which the store has no place: 1,024 states for each policy that needs
// them, each counting all the keys that fall on it together. So such a key is limited at least as
// strictly as it would be alone, and is let through again as the state recovers.
//
// The digest of key and policy chooses one of 1,024 sets of 8 slots; a slot belongs to one rule of
// one policy. Eight slots are enough for any policy. When policies with more than 8 rules together
// overflow onto one set, the slot that would recover first is given to who asks, and the set
// remembers until when it would have counted (`owed_until`): before then a rule that finds no slot
// of its own starts with the debt that is repaid exactly at that time. No debt is ever forgotten,
// and the table has one size for any number of policies.

#ifndef COLIMIT_MEMORY_SHARED_STATES_HPP
#define COLIMIT_MEMORY_SHARED_STATES_HPP

#include <core/evaluate.hpp>
#include <memory/siphash.hpp>
#include <memory/zeroed_array.hpp>
#include <policy_data.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace colimit::memory {

class shared_states {
  public:
    static constexpr std::size_t sets = 1'024;

    /// What counts for the key, one state a rule; false when nothing does, and `states` are left as
    /// they are.
    [[nodiscard]] bool read(const digest& id, const detail::policy_data& p, std::int64_t now,
                            std::span<core::bucket_state> states) const noexcept;

    /// Puts states that are of `now` in the place of those that were read.
    void write(const digest& id, const detail::policy_data& p, std::int64_t now,
               std::span<const core::bucket_state> states, std::int64_t recovered_at) noexcept;

  private:
    struct slot {
        digest policy;
        core::bucket_state state;
        std::int64_t recovered_at;
        std::uint32_t tag; ///< 0: never used
    };
    struct set {
        std::array<slot, limits::rules_per_policy> slots;
        std::int64_t owed_until;
        std::int64_t owed_since; ///< when that was noted; a clock before it has been set back
    };

    template<class Set>
    [[nodiscard]] static auto* find(Set& s, const digest& policy, std::uint32_t tag) noexcept;
    [[nodiscard]] static slot& make(set& s, const digest& policy, std::uint32_t tag,
                                    std::int64_t now) noexcept;
    [[nodiscard]] static std::int64_t still_owed(const set& s, std::int64_t now) noexcept;
    static void note_owed(set& s, const slot& given_up, std::int64_t now) noexcept;

    zeroed_array<set> table_{sets};
};

} // namespace colimit::memory

#endif
