// SPDX-License-Identifier: BSL-1.0
//
// Denials that still hold, so that a flood of refused calls costs the server nothing. A bounded
// table, eight places to a row; a key's row is that of its digest:
//
//   tags     [ .  3f..  .  a1..  .  .  .  . ]   half of a digest, 0: free; one line of the cache
//   denials  [ .  {..}  .  {..}  .  .  .  . ]   what the store said, and until when
//
// A denial ends when the time at which its question may have left, plus its retry_after less a
// thousandth, is over: so it never outlives what the store said, however far the reply travelled
// and whichever of the two clocks is the faster. It also ends when that question is `max_age` old,
// because other processes may have changed the key since. What it says has aged since the reply
// came: so a caller who waits for `retry_after` does not come too early.
//
// The latest reply about a key decides. One connection replies in the order in which the server
// ran the calls, and `note` hears of them in that order: a denial under the same rules replaces
// the remembered one, and any other reply ends it, whichever verb was called. What `allow_all` was
// told about a key counts as much as what `peek` was told. Only where one batch asked about several
// costs, at one instant and without a grant, the denial of the smallest cost stays.
//
// A verb that may give back also ends the denial when it starts, and `changes_` counts that, so
// that a denial which is in flight then is not remembered. The same happens when a call that may
// have been made ends without a reply (cancelled, too late, connection lost): when that call
// changed the key is not known.

#ifndef COLIMIT_LIMITER_DENY_CACHE_HPP
#define COLIMIT_LIMITER_DENY_CACHE_HPP

#include <base/zeroed_array.hpp>
#include <colimit/detail/operation.hpp>
#include <colimit/limits.hpp>
#include <hash/siphash.hpp>
#include <policy/policy_data.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace colimit::detail {

class deny_cache {
  public:
    using clock = std::int64_t (*)() noexcept;

    /// @param most denials, at least 1. Memory is taken with the first of them.
    /// @param max_age of a denial, in microseconds
    /// @param now the clock by which calls are sent, in microseconds
    deny_cache(std::size_t most, std::int64_t max_age, clock now);

    /// Before a call: true if it is answered, in `op.result`. Ends what the call ends.
    [[nodiscard]] bool answer(operation& op, const hash::digest& key,
                              const policy_data& p) noexcept;

    /// Before a check of `allow_all`, which always asks the store: a denial under other rules ends.
    [[nodiscard]] place_in_cache begin_check(const hash::digest& key, const policy_data& p,
                                             const check_options& options) noexcept;

    /// After a call has ended, with a reply or with an error.
    /// @param heard_at when it ended
    void note(const operation& op, std::int64_t heard_at) noexcept;

    /// The same for a check of `op`, which is an `allow_all`.
    /// @param at from `begin_check`
    void note_check(const operation& op, const check_item& c, const place_in_cache& at,
                    std::int64_t heard_at) noexcept;

    /// Denials in the table, those that are over included.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

  private:
    struct rule_part {
        std::int64_t balance;
        std::int64_t retry_after;
        std::int64_t reset_after;
    };
    struct denial {
        std::uint64_t digest; ///< the half that is not the tag
        std::uint64_t rules;
        std::int64_t at_least; ///< was refused; so is more
        std::int64_t ends;
        std::int64_t heard_at;
        std::int64_t server_time;
        std::int64_t limit;
        std::int64_t remaining;
        std::int64_t retry_after;
        std::int64_t reset_after;
        denial_reason reason;
        std::uint8_t limiting_rule;
        std::array<rule_part, limits::max_rules_per_policy> parts;
    };
    /// How a question about a key has ended.
    struct news {
        bool may_change;  ///< the key, if it ended with an error
        bool may_replace; ///< as a denial, one that is remembered
        bool may_be_kept; ///< as a denial, also where none is remembered
        std::int64_t at_least;
        std::int64_t sent_at;
        std::int64_t heard_at;
        error_code ec;
        const decision& result;
    };
    struct table {
        explicit table(std::size_t size) : tags(size), denials(size) {}
        zeroed_array<std::uint64_t> tags;
        zeroed_array<denial> denials;
    };

    static constexpr std::size_t nowhere = SIZE_MAX;

    [[nodiscard]] std::size_t row_of(const place_in_cache& at) const noexcept;
    [[nodiscard]] std::size_t find(const place_in_cache& at) const noexcept;
    [[nodiscard]] std::size_t place_for(const place_in_cache& at) const noexcept;
    [[nodiscard]] std::uint32_t& changes_of(const place_in_cache& at) noexcept;
    void learn(const place_in_cache& at, const news& n) noexcept;
    [[nodiscard]] bool is_denial(const place_in_cache& at, const news& n) noexcept;
    [[nodiscard]] static bool stands_beside(const denial& d, const place_in_cache& at,
                                            const news& n) noexcept;
    [[nodiscard]] std::int64_t end_of(const news& n) const noexcept;
    void end(std::size_t i) noexcept;
    void remember(const place_in_cache& at, const news& n);

    clock now_;
    std::int64_t max_age_;
    std::size_t ways_;
    std::size_t rows_;
    std::optional<table> table_;
    std::size_t size_ = 0;
    /// For each of many groups of keys, how often other verbs than `allow` and `peek` were started,
    /// and calls that may have changed a key ended with an error.
    std::array<std::uint32_t, 1024> changes_{};
};

} // namespace colimit::detail

#endif
