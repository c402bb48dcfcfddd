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
// and whichever of the two clocks is the faster. What it says has aged since the reply came: so a
// caller who waits for `retry_after` does not come too early.
//
// Whatever changes the key ends it, so that it says what the store would say, but for what other
// processes do. A verb that may give back ends it twice: when it starts, and `changes_` counts
// that, so that a denial which is on its way then is not remembered; and when it has been answered,
// for what overtook it.

#ifndef COLIMIT_ENGINE_DENY_CACHE_HPP
#define COLIMIT_ENGINE_DENY_CACHE_HPP

#include <colimit/detail/operation.hpp>
#include <colimit/limits.hpp>
#include <memory/siphash.hpp>
#include <memory/zeroed_array.hpp>
#include <policy_data.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace colimit::detail {

class deny_cache {
  public:
    using clock = std::int64_t (*)() noexcept;

    /// @param most denials, at least 1. Memory is taken with the first of them.
    /// @param now the clock by which calls are sent, in microseconds
    deny_cache(std::size_t most, clock now);

    /// Before a call: true if it is answered, in `op.result`. Ends what the call ends.
    [[nodiscard]] bool answer(operation& op, const memory::digest& key,
                              const policy_data& p) noexcept;

    /// After the store has answered a call, or not: remembers a denial, and ends what it ends.
    /// @param heard_at when the answer came
    void note(const operation& op, std::int64_t heard_at) noexcept;

    /// Before a call that is not answered here: a denial by other rules than these is over.
    void end_others(const memory::digest& key, const policy_data& p) noexcept;

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
        colimit::reason reason;
        std::uint8_t binding;
        std::array<rule_part, limits::rules_per_policy> parts;
    };
    struct table {
        explicit table(std::size_t size) : tags(size), denials(size) {}
        memory::zeroed_array<std::uint64_t> tags;
        memory::zeroed_array<denial> denials;
    };

    static constexpr std::size_t nowhere = SIZE_MAX;

    [[nodiscard]] std::size_t row_of(const place_in_cache& at) const noexcept;
    [[nodiscard]] std::size_t find(const place_in_cache& at) const noexcept;
    [[nodiscard]] std::size_t place_for(const place_in_cache& at) const noexcept;
    [[nodiscard]] std::uint32_t& changes_of(const place_in_cache& at) noexcept;
    void end_changed(const place_in_cache& at, bool changed) noexcept;
    void free(std::size_t i) noexcept;
    void remember(const operation& op, std::int64_t ends, std::int64_t heard_at);

    clock now_;
    std::size_t ways_;
    std::size_t rows_;
    std::optional<table> table_;
    std::size_t size_ = 0;
    /// How often other verbs than `allow` and `peek` were started, for each of many groups of keys.
    std::array<std::uint32_t, 1024> changes_{};
};

} // namespace colimit::detail

#endif
