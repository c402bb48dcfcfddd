// SPDX-License-Identifier: BSL-1.0
//
// What answers a key for which the store has no place: 1,024 states for each policy that needs
// them, each counting all the keys that fall on it together. So such a key is limited at least as
// strictly as it would be alone, and is let through again as the state recovers.
//
// The digest of key and policy chooses one of 1,024 sets of 10 slots; a slot belongs to one rule of
// one policy, to its log or to its block. Ten slots are enough for any policy. When policies that
// need more together overflow onto one set, the slot that would recover first is given to who asks,
// and the set remembers until when it would have counted (`owed`, and `held_up` for what refuses
// everybody): before then a rule that finds no slot of its own starts with what is repaid at that
// time and not before. No debt is ever forgotten, and the table has one size for any number of
// policies.
//
// A log is one event here, of all that is used, at the time of the newest. Members cannot be
// counted together: who comes without a place to a `distinct` rule is refused until its window
// ends.

#ifndef COLIMIT_MEMORY_SHARED_STATES_HPP
#define COLIMIT_MEMORY_SHARED_STATES_HPP

#include <base/zeroed_array.hpp>
#include <core/evaluate.hpp>
#include <core/event_log.hpp>
#include <hash/siphash.hpp>
#include <memory/cell.hpp>
#include <policy/policy_data.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace colimit::memory {

class shared_states {
  public:
    static constexpr std::size_t sets = 1'024;

    struct slot {
        hash::digest policy;
        core::rule_state state;
        std::int64_t recovered_at;
        std::int64_t written_at;
        std::uint32_t tag; ///< as of a cell; 0: never used
    };
    /// How long something that was given up would have counted.
    struct note {
        std::int64_t until;
        std::int64_t since; ///< a clock before it has been set back

        [[nodiscard]] std::int64_t left(std::int64_t now) const noexcept;
        void add(const slot& given_up, std::int64_t now) noexcept;
    };
    struct set {
        std::array<slot, core::most_slots + 1> slots;
        note owed;
        note held_up;
    };

    /// Fills in what counts for the key, its log into `log`, which is empty; false when nothing
    /// does, and all is left as it is.
    [[nodiscard]] bool read(const hash::digest& id, const detail::policy_data& p, std::int64_t now,
                            contents& c, core::event_log& log) const noexcept;

    /// Puts what is of `now` in the place of what was read.
    void write(const hash::digest& id, const detail::policy_data& p, std::int64_t now,
               const contents& c, const core::event_log& log) noexcept;

    /// What the key may fall on, so that writing to it can be undone.
    [[nodiscard]] const set& set_for(const hash::digest& id) const noexcept;
    void restore(const hash::digest& id, const set& saved) noexcept;

  private:
    template<class Set>
    [[nodiscard]] static auto* find(Set& s, const hash::digest& policy, std::uint32_t tag) noexcept;
    [[nodiscard]] static slot& make(set& s, const hash::digest& policy, std::uint32_t tag,
                                    std::int64_t now) noexcept;

    detail::zeroed_array<set> table_{sets};
};

} // namespace colimit::memory

#endif
