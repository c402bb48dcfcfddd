// SPDX-License-Identifier: BSL-1.0
//
// The in-process store with plain functions: the same verbs and decisions as `limiter`, for code
// that need not wait for a server.

#pragma once

#include <colimit/bloom_filter.hpp>
#include <colimit/decision.hpp>
#include <colimit/detail/call_request.hpp>
#include <colimit/error.hpp>
#include <colimit/options.hpp>
#include <colimit/policy.hpp>
#include <colimit/seen_item.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace colimit {

namespace memory {
class store;
class bloom_filters;
} // namespace memory

/// Statistics of a `local_limiter`: its fill level, evictions and decisions.
struct local_statistics {
    std::size_t states = 0;       ///< in use: one per key and rule, or as many as its log takes;
                                  ///< and those of calls with ids
    std::size_t capacity = 0;     ///< the largest possible value of `states`
    std::uint64_t evicted = 0;    ///< recovered states whose memory was reused
    std::uint64_t overflowed = 0; ///< calls decided by a shared state because no state was free
    /// Decisions by outcome. For `seen`, a new id counts as allowed and a known one as denied.
    std::uint64_t allowed = 0;
    std::uint64_t denied = 0;
    std::uint64_t never = 0;
};

/// A rate limiter within this process.
///
/// Memory is bounded: at most `states` states of 64 bytes and 6 bytes of index each, and 0.8 MiB of
/// shared states; it is allocated as keys arrive. A key takes one state per rule, one for
/// `prevent_duplicate` and one while it is blocked. A call with an id takes one more than its
/// key, until `request_ttl` has passed; all such calls together take at most half of
/// the states, and one that finds no room is refused with `errc::server_error`. A sliding log takes
/// two for all log rules of its policy, and above two events one per four, rounded up to a power of
/// two; a `distinct` rule takes two, and above 11 members about one per 16, at most 196. (State
/// memory is not reused for logs, so filling the store with states and then logs may use up to
/// twice the bound.)
///
/// When all states are in use, a new key replaces one that has fully recovered; if there is none,
/// it uses one of 1,024 shared states, which count several new keys together. So a flood of keys
/// can neither reset a limited key nor grow memory. While it lasts, new keys are limited together
/// with those of the flood, and may be denied all that time; once no more keys are charged, at most
/// for as long as the limit takes to recover. Such a key is always limited at least as strictly as
/// alone; with `initially(n)` it has at most n tokens. `refund` and `reset` of a key with a shared
/// state change nothing, because the state also belongs to other keys; a `block` of such a key also
/// denies these. A log that cannot grow merges new events into its newest one, which then counts
/// for longer; a sketch that cannot grow denies new members until its window ends.
///
/// There is no `acquire`: a slot has to be renewed, which needs an event loop. A `limiter` with the
/// address `memory:` has it, on the same store; `peek`, `reset` and `block` work here, too.
///
/// @par Clock The system clock, or the times that calls supply. Do not mix them in one limiter:
/// states that have recovered by the time of any call may be deleted.
///
/// @par Errors
/// Every verb throws `colimit::error` with `errc::invalid_argument` or `errc::invalid_key`, with
/// `errc::invalid_policy` if the policy has a `concurrent` rule and the verb is none for it, and
/// with an id `errc::server_error` if there is no room to remember it.
///
/// @par Threads
/// Confined to one thread at a time.
class local_limiter {
  public:
    static constexpr std::size_t default_states = 1'048'576;

    /// @param states 1 to 1,073,741,824
    /// @param request_ttl as `config::advanced.request_ttl`
    /// @throws colimit::error with `errc::invalid_config`
    explicit local_limiter(std::size_t states = default_states,
                           std::chrono::milliseconds request_ttl = std::chrono::minutes{5});
    ~local_limiter();
    local_limiter(local_limiter&&) noexcept;
    local_limiter& operator=(local_limiter&&) noexcept;

    /// As `limiter::allow`, but returns the decision.
    decision allow(std::string_view key, const policy& p, const check_options& options = {}) {
        return answer(key, p, detail::make_request(detail::verb::allow, options));
    }
    /// As `limiter::peek`.
    decision peek(std::string_view key, const policy& p, const check_options& options = {}) {
        return answer(key, p, detail::make_request(detail::verb::peek, options));
    }
    /// As `limiter::charge`.
    decision charge(std::string_view key, const policy& p, const charge_options& options = {}) {
        return answer(key, p, detail::make_request(detail::verb::charge, options));
    }
    /// As `limiter::refund`.
    decision refund(std::string_view key, const policy& p, const charge_options& options = {}) {
        return answer(key, p, detail::make_request(detail::verb::refund, options));
    }
    /// As `limiter::reset`.
    decision reset(std::string_view key, const policy& p, const reset_options& options = {}) {
        return answer(key, p, detail::make_request(detail::verb::reset, options));
    }

    /// As `limiter::block`: denies every call for `length`, 0 to 100 years. An existing block that
    /// lasts longer stays; `reset` lifts it and deletes the key's state.
    template<class Rep, class Period>
    decision block(std::string_view key, const policy& p, std::chrono::duration<Rep, Period> length,
                   const reset_options& options = {}) {
        const auto us = detail::whole_microseconds(length);
        return answer(key, p, detail::make_request(detail::verb::block, options, us));
    }

    /// As `limiter::once`: allows the first call with this id, and denies all others until the time
    /// has passed, 0 to 100 years.
    template<class Rep, class Period>
    decision once(std::string_view id, std::chrono::duration<Rep, Period> time_to_live,
                  const reset_options& options = {}) {
        const auto us = detail::whole_microseconds(time_to_live);
        return answer_once(id, detail::make_request(detail::verb::once, options, us));
    }
    /// As `limiter::seen`. Filters have separate memory, which `statistics` does not count.
    bool seen(std::string_view id, const bloom_filter& f, const reset_options& options = {}) {
        return look_up(id, f, detail::make_lookup(detail::verb::allow, options));
    }
    /// As `limiter::probably_seen`: does not record the id.
    bool probably_seen(std::string_view id, const bloom_filter& f,
                       const reset_options& options = {}) {
        return look_up(id, f, detail::make_lookup(detail::verb::peek, options));
    }
    /// As `limiter::seen_many`; if one of the ids is not valid, none is recorded.
    void seen_many(std::span<seen_item> ids, const bloom_filter& f,
                   const reset_options& options = {}) {
        look_up(ids, f, detail::make_lookup(detail::verb::allow, options));
    }
    /// As `limiter::probably_seen_many`.
    void probably_seen_many(std::span<seen_item> ids, const bloom_filter& f,
                            const reset_options& options = {}) {
        look_up(ids, f, detail::make_lookup(detail::verb::peek, options));
    }

    /// As `limiter::filter_status`, but returns the state.
    colimit::filter_status filter_status(const bloom_filter& f, const reset_options& options = {});

    /// As `limiter::count_distinct`, but returns the number.
    std::int64_t count_distinct(std::string_view key, const policy& p,
                                const count_options& options = {});
    /// As `limiter::charge_members`; if one of the members is not valid, none is recorded.
    decision charge_members(std::string_view key, const policy& p,
                            std::span<const std::string_view> members,
                            const charge_options& options = {});

    [[nodiscard]] local_statistics statistics() const noexcept;

  private:
    decision answer(std::string_view key, const policy& p, const detail::call_request& request);
    decision answer(std::string_view key, const detail::policy_data& data,
                    const detail::call_request& request);
    decision answer_once(std::string_view id, const detail::call_request& request);
    bool look_up(std::string_view id, const bloom_filter& f, const detail::call_request& request);
    void look_up(std::span<seen_item> ids, const bloom_filter& f,
                 const detail::call_request& request);

    std::unique_ptr<memory::store> store_;
    std::unique_ptr<memory::bloom_filters> filters_;
    std::array<std::uint64_t, 3> decided_{}; ///< by outcome
};

} // namespace colimit
