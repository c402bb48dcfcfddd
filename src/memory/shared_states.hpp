// SPDX-License-Identifier: BSL-1.0
//
// The shared states of a full store. Keys without a chain use them: 1,024 states per policy, each
// of which counts all keys that map to it. So such a key is limited at least as strictly as alone,
// and is allowed again as the state recovers. Any of the keys may be a new one: so for each call, a
// rule with `initially` owes at least what it owes for a new key.
//
// The digest of key and policy selects one of 1,024 sets of 10 entries. An entry belongs to one
// rule of a policy, or to its log or its block, so 10 entries are enough for any policy. If several
// policies need more in one set, the entry that would recover first is evicted, and the set records
// until when it would have counted: in `owed`, or in `locked_out` for a lockout. Until that time a
// rule without an entry starts with a state that is repaid at that time and not before. So no debt
// is forgotten, and the table has a fixed size for any number of policies.
//
// A log is one event here, of all tokens used, at the time of the newest event. Members cannot be
// counted together, so a `distinct` rule denies keys without a chain until its window ends. Nor can
// holders of slots: a `concurrent` rule denies such keys until the last lease has ended.

#pragma once

#include <base/zeroed_array.hpp>
#include <core/evaluate.hpp>
#include <core/event_log.hpp>
#include <hash/siphash.hpp>
#include <memory/cell.hpp>
#include <policy/policy_data.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace colimit::memory {

class shared_states {
  public:
    static constexpr std::size_t sets = 1'024;

    struct entry {
        hash::digest policy;
        core::rule_state state;
        std::int64_t recovered_at;
        std::int64_t written_at;
        std::uint32_t tag; ///< as in a cell; 0: never used
    };
    /// Records how long evicted entries would have counted.
    struct evicted_debt {
        std::int64_t until;
        std::int64_t since; ///< the time of the last eviction; a clock before it was set back

        /// A state that was stored after `now` counts as stored now.
        [[nodiscard]] std::int64_t left(std::int64_t now) const noexcept {
            return until - std::max(since, now);
        }
        void add(const entry& evicted, std::int64_t now) noexcept;
    };
    struct set {
        std::array<entry, core::max_states + 1> entries;
        evicted_debt owed;
        evicted_debt locked_out;
    };

    /// Sets the contents that count for the key, and adds its log to `log`, which is empty. Returns
    /// false if it finds none.
    [[nodiscard]] bool read(const hash::digest& id, const detail::policy_data& p, std::int64_t now,
                            contents& c, core::event_log& log) const noexcept;

    /// Replaces the contents that were read; the new ones are at `now`.
    void write(const hash::digest& id, const detail::policy_data& p, std::int64_t now,
               const contents& c, const core::event_log& log) noexcept;

    /// Returns the set of the key: assigning a copy undoes what was written to it since.
    [[nodiscard]] set& set_for(const hash::digest& id) noexcept { return table_[set_of(id)]; }

  private:
    [[nodiscard]] static std::size_t set_of(const hash::digest& id) noexcept {
        return static_cast<std::size_t>(id.high % sets);
    }
    template<class Set>
    [[nodiscard]] static auto* find(Set& s, const hash::digest& policy, std::uint32_t tag) noexcept;
    [[nodiscard]] static entry& claim_entry(set& s, const hash::digest& policy, std::uint32_t tag,
                                            std::int64_t now) noexcept;

    detail::zeroed_array<set> table_{sets};
};

/// Returns the request that a key of a shared state may make. The state belongs to several keys, so
/// a verb that returns quota becomes a peek.
[[nodiscard]] core::call_request shared_request(const core::call_request& request) noexcept;

[[nodiscard]] bool charges(const core::call_request& request, const decision& result) noexcept;

/// Returns whether a copy of a shared state could be less strict later than that of the key alone.
/// With `initially` a copy would be new again later, and have more tokens until then. With periods
/// from the first use, those of a shared state end later, so what such a copy is charged after the
/// key's own period would be forgotten too early.
[[nodiscard]] bool must_stay_shared(const core::compiled_policy& rules) noexcept;

/// Returns whether a new key with a state to store may get a chain. A denial by a shared state does
/// not: it would copy that state to each key that is denied. Nor does a key whose state must stay
/// shared.
[[nodiscard]] bool may_insert(const core::compiled_policy& rules, const core::call_request& request,
                              bool is_shared, const decision& result) noexcept;

/// Makes the states of a key with a shared state at least as strict as those of a new key. Returns
/// whether a call that does not change them must store them, too: with `initially` the key alone
/// has a state from then on; and what a charge adds to the largest debt, which an evicted state may
/// have had, is owed for longer than that.
[[nodiscard]] bool owe_as_new(const core::compiled_policy& rules,
                              std::span<core::rule_state> states,
                              const core::call_request& request) noexcept;

/// Starts periods that are counted from the first use again. In a shared state the last charge of
/// any key counts as the first use; otherwise some keys would be allowed too early.
void restart_periods(const core::compiled_policy& rules, std::span<core::rule_state> states,
                     std::int64_t now) noexcept;

} // namespace colimit::memory
