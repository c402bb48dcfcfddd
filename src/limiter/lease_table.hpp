// SPDX-License-Identifier: BSL-1.0
//
// Leases: tokens that this limiter has taken from the store for several calls of a key at once, and
// spends without asking again. An entry of the table has a key's demand and, if that is worth it,
// its tokens:
//
//     demand    the calls within the length of a lease, in two periods of that length
//     spent     which part of its last leases was spent before they ended
//     lots      tokens, and when they end: those of the last lease, and of those before it
//     report    what the store has said last, and how long its reply took
//
// No token is admitted twice, or beyond the limit, because
//
//   - a lease is granted by the store as further calls equal to the one that asks for it, so what
//     is held was taken before it is spent. If a reply is lost, nothing is held.
//   - it ends at the earliest time at which its request may have been sent, plus its length less a
//     thousandth: before the store's own clock has come so far since it was granted, however long
//     the reply travelled and whichever of the two clocks is faster. Windows, stepwise and aligned
//     buckets end it with the window or the refill, if that is earlier.
//   - what is left then lapses. It is never given back, as the bucket has repaid it already. What a
//     continuous bucket has repaid meanwhile is paid for by its capacity, see
//     core/lease_reserve.hpp.
//
// What lapses is lost for all processes, and near the limit their calls are denied for it. So a
// lease is for what will probably be spent, not for all that may be asked for: fewer tokens than
// the calls that are expected until it ends, by the usual deviation and by the part that lapsed of
// the last leases. At the end of a window that is little, and nothing if the reply takes longer.
//
// A lease only allows. A call for which too little is held goes to the store, and so does the one
// that finds a lease nearly spent: it asks for the next lease. If the store denies that call, or
// does not answer, what is held still decides it.
//
// What is held was charged, so most verbs leave it as it is. Only `reset`, which forgets the
// charge, `block`, and a call under another version of the policy drop the lease of a key when they
// start. They give the entry another stamp, so that a lease whose reply is still to come is not
// held either.

#pragma once

#include <base/set_table.hpp>
#include <colimit/detail/operation.hpp>
#include <colimit/limits.hpp>
#include <colimit/statistics.hpp>
#include <hash/siphash.hpp>
#include <policy/policy_data.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace colimit::detail {

class lease_table {
  public:
    using clock = std::int64_t (*)() noexcept;

    /// @param capacity entries, at least 1. Memory is allocated with the first of them.
    /// @param now the clock of `operation::sent_at`, in microseconds
    lease_table(std::size_t capacity, clock now);

    /// Returns whether no key has an entry, so that only policies with leases need `try_decide`.
    [[nodiscard]] bool is_empty() const noexcept { return table_.size() == 0; }

    /// Called before a call: returns true if a lease decides it, in `op.result`. Drops the lease if
    /// the call may change the key in another way.
    [[nodiscard]] bool try_decide(operation& op, const policy_data& p) noexcept;

    /// Called before a call that `try_decide` has not decided goes to the store: perhaps it asks
    /// for a lease.
    void ask(operation& op, const policy_data& p) noexcept;

    /// Called before a call that no lease decides, also for each check of `allow_all`: drops the
    /// lease of the key if what it holds must not be spent from then on.
    void begin_other(verb v, const hash::digest& key, const policy_data& p) noexcept;

    /// Called when a call has ended, with a reply or with an error, in the order of replies: keeps
    /// the lease that it was granted.
    /// @param replied_at when it ended
    void note(operation& op, std::int64_t replied_at) noexcept;

    /// Called before the handler of a call that has asked the store: returns true if that has not
    /// allowed it, and tokens that are held decide it, in `op.result`.
    /// @param may_decide whether it may be decided, if it has ended with an error
    [[nodiscard]] bool try_settle(operation& op, bool may_decide) noexcept;

    /// Lets all leases lapse.
    void clear() noexcept;

    void add_statistics(colimit::statistics& to) const noexcept;

  private:
    struct lot {
        std::int64_t tokens;
        std::int64_t ends;
    };
    struct rule_part {
        std::int64_t balance; ///< after the lease was taken
        std::int64_t reset_after;
    };
    struct entry {
        std::uint64_t digest;
        std::uint64_t rules;
        std::int64_t began; ///< of the current period of demand
        double demand;      ///< tokens in the current period
        double before;      ///< and in the one before it
        double taken;       ///< tokens of the last leases
        double lapsed;      ///< and those of them that were not spent
        std::uint32_t stamp;
        std::uint8_t limiting_rule;
        bool is_asking;          ///< a call that asks for a lease is under way
        std::int64_t room;       ///< tokens that remained, as the store has last reported
        std::int64_t granted;    ///< tokens that were held when the last lease was granted
        std::array<lot, 2> lots; ///< the last lease is the second one
        std::int64_t replied_at;
        std::int64_t trip; ///< from the request to the reply
        std::int64_t server_time;
        std::array<rule_part, limits::max_rules_per_policy> parts;

        [[nodiscard]] std::int64_t held() const noexcept { return lots[0].tokens + lots[1].tokens; }
    };

    [[nodiscard]] entry* find(const hash::digest& key) noexcept {
        return table_.find(key.low, key.high);
    }
    [[nodiscard]] entry* find_or_make(const hash::digest& key, const policy_data& p,
                                      std::int64_t now) noexcept;
    void restart(entry& e, const policy_data& p, std::int64_t now) noexcept;
    static void count_demand(entry& e, const policy_data& p, std::int64_t cost,
                             std::int64_t now) noexcept;
    [[nodiscard]] static std::int64_t time_to_spend(const entry& e, const policy_data& p,
                                                    std::int64_t now) noexcept;
    [[nodiscard]] std::int64_t wanted(const entry& e, const policy_data& p, const operation& op,
                                      std::int64_t now) const noexcept;
    void drop(entry& e) noexcept;
    void lapse(lot& of) noexcept;
    void lapse_ended(entry& e, std::int64_t now) noexcept;
    static void keep(entry& e, lot granted) noexcept;
    static void report(entry& e, const policy_data& p, const decision& d, std::int64_t tokens,
                       std::int64_t sent_at, std::int64_t replied_at) noexcept;
    void spend(entry& e, operation& op, const policy_data& p, std::int64_t now) noexcept;

    clock now_;
    set_table<entry> table_;
    std::uint32_t stamps_ = 0;
    std::uint64_t leases_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t spent_ = 0;
    std::uint64_t lapsed_ = 0;
};

} // namespace colimit::detail
