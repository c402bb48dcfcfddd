// SPDX-License-Identifier: BSL-1.0
//
// The in-process store on its own: the same verbs and the same answers as plain functions, for code
// that has nothing to wait for.

#ifndef COLIMIT_LOCAL_LIMITER_HPP
#define COLIMIT_LOCAL_LIMITER_HPP

#include <colimit/bloom_filter.hpp>
#include <colimit/decision.hpp>
#include <colimit/detail/question.hpp>
#include <colimit/error.hpp>
#include <colimit/options.hpp>
#include <colimit/policy.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

namespace colimit {

namespace memory {
class store;
class bloom_filters;
} // namespace memory

/// How full a `local_limiter` is, what it did about that, and what it decided.
struct local_statistics {
    std::size_t states = 0;       ///< in use: for each key and rule one, or what its log takes
    std::size_t capacity = 0;     ///< at most
    std::uint64_t evicted = 0;    ///< recovered states whose place was used again
    std::uint64_t overflowed = 0; ///< calls answered by a shared state because none was free
    /// Decisions by their outcome. For `seen`, an id that is new is allowed and another limited.
    std::uint64_t allowed = 0;
    std::uint64_t limited = 0;
    std::uint64_t never = 0;
};

/// Limits within this process.
///
/// Memory is bounded: at most `states` states of 64 bytes and 6 bytes of index each, and 0.8 MiB of
/// shared states; it is taken as keys come. A key takes one state for each of its rules, one for
/// `prevent_duplicate` and one while it is blocked. A sliding log takes two for all log rules of
/// its policy, and above two events one for each four, rounded up to a power of two; a `distinct`
/// rule takes two, and above 11 members about one for each 16, at most 196. (Memory that held
/// states is kept for states: who first fills the store with keys of other rules and then with logs
/// has up to twice as much.)
///
/// When all states are in use, a new key takes the place of one that has fully recovered; when
/// there is none, it is answered by one of 1,024 shared states, which count several new keys
/// together. So a flood of keys can neither free a limited key, nor lock newcomers out for ever,
/// nor grow memory. `refund` and `reset` of a key that shares a state change nothing, for it is not
/// its own; a `block` of such a key also refuses the others. A log that cannot grow merges what
/// comes into its newest event, which then counts for longer; a sketch that cannot refuses new
/// members until its window ends.
///
/// @par Clock
/// The system's, or the one that the calls supply. One limiter goes by one clock: what has
/// recovered by the time of any call may be forgotten.
///
/// @par Errors
/// Every verb throws `colimit::error` with `errc::invalid_argument` or `errc::invalid_key`.
///
/// @par Threads
/// Confined to one thread at a time.
class local_limiter {
  public:
    static constexpr std::size_t default_states = 1'048'576;

    /// @param states 1 to 1,073,741,824. @throws colimit::error with `errc::invalid_config`
    explicit local_limiter(std::size_t states = default_states);
    ~local_limiter();
    local_limiter(local_limiter&&) noexcept;
    local_limiter& operator=(local_limiter&&) noexcept;

    /// As `limiter::allow`, at once.
    decision allow(std::string_view key, const policy& p, const check_options& options = {}) {
        return answer(key, p, detail::ask(detail::verb::allow, options));
    }
    /// As `limiter::peek`.
    decision peek(std::string_view key, const policy& p, const check_options& options = {}) {
        return answer(key, p, detail::ask(detail::verb::peek, options));
    }
    /// As `limiter::charge`.
    decision charge(std::string_view key, const policy& p, const charge_options& options = {}) {
        return answer(key, p, detail::ask(detail::verb::charge, options));
    }
    /// As `limiter::refund`.
    decision refund(std::string_view key, const policy& p, const charge_options& options = {}) {
        return answer(key, p, detail::ask(detail::verb::refund, options));
    }
    /// As `limiter::reset`.
    decision reset(std::string_view key, const policy& p, const reset_options& options = {}) {
        return answer(key, p, detail::ask(detail::verb::reset, options));
    }

    /// As `limiter::block`: nothing is allowed for so long, 0 to 100 years. A block that lasts
    /// longer stays; `reset` lifts it, and forgets the key's state.
    template<class Rep, class Period>
    decision block(std::string_view key, const policy& p, std::chrono::duration<Rep, Period> length,
                   const reset_options& options = {}) {
        const auto us = detail::whole_microseconds(length);
        return answer(key, p, detail::ask(detail::verb::block, options, us));
    }

    /// As `limiter::once`: allowed for who comes first with this id, then for nobody until the time
    /// is over, 0 to 100 years.
    template<class Rep, class Period>
    decision once(std::string_view id, std::chrono::duration<Rep, Period> time_to_live,
                  const reset_options& options = {}) {
        const auto us = detail::whole_microseconds(time_to_live);
        return answer_once(id, detail::ask(detail::verb::once, options, us));
    }
    /// As `limiter::seen`. Filters take memory of their own, which `statistics` does not count.
    bool seen(std::string_view id, const bloom_filter& f, const reset_options& options = {});

    [[nodiscard]] local_statistics statistics() const noexcept;

  private:
    decision answer(std::string_view key, const policy& p, const detail::question& asked);
    decision answer(std::string_view key, const detail::policy_data& data,
                    const detail::question& asked);
    decision answer_once(std::string_view id, const detail::question& asked);

    std::unique_ptr<memory::store> store_;
    std::unique_ptr<memory::bloom_filters> filters_;
    std::array<std::uint64_t, 3> decided_{}; ///< by outcome
};

} // namespace colimit

#endif
