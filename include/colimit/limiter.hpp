// SPDX-License-Identifier: BSL-1.0
//
// The limiter: every verb is an Asio initiating function, `deferred` by default, so that
// `co_await limiter.allow(key, policy)` makes no coroutine frame of its own.

#ifndef COLIMIT_LIMITER_HPP
#define COLIMIT_LIMITER_HPP

#include <colimit/config.hpp>
#include <colimit/decision.hpp>
#include <colimit/detail/call_operation.hpp>
#include <colimit/error.hpp>
#include <colimit/options.hpp>
#include <colimit/policy.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <concepts>
#include <memory>
#include <string_view>
#include <utility>

namespace colimit {

/// Limits how often things happen, with counters in this process or in Redis.
///
/// What the verbs share:
///
/// @par Charges
/// Each verb says when it takes quota. A refused or failed call takes none, with one exception:
/// `errc::outcome_unknown`, where the server may have charged and its reply was lost.
///
/// @par Lifetimes
/// Key and policy must live until the call is initiated, no longer. With the default token a call
/// is initiated when it is awaited.
///
/// @par Completion
/// Exactly once, by `config::timeout`, never from within the initiating function; on the handler's
/// associated executor, by default the limiter's.
///
/// @par Cancellation
/// By the handler's slot, all types. It ends the wait with
/// `boost::asio::error::operation_aborted`. A call that had not left yet charges nothing, one that
/// had may be charged.
///
/// @par Errors
/// `colimit::errc`. `invalid_argument` for numbers out of the ranges that `options.hpp` states,
/// `invalid_key` for a key above 64 KiB.
///
/// @par Threads
/// A limiter is confined to its executor: use it from the one thread that runs its context, or from
/// its strand. One limiter for each thread is the recommended shape.
///
/// @par Keys
/// Any bytes. Above 256 bytes a 128-bit digest stands for them.
///
/// @par Memory
/// A call allocates nothing once as many were under way at the same time before, while the context
/// runs in `run()` or `run_for()`; Asio drops its own caches whenever `run_one()` returns.
class limiter {
  public:
    using executor_type = boost::asio::any_io_executor;
    /// How the verbs complete.
    using signature = void(error_code, decision);

    /// @param server see `config::server`. Connects by itself; no call needs to wait for that.
    /// @throws colimit::error with `errc::invalid_config`
    limiter(executor_type executor, std::string_view server);
    limiter(executor_type executor, const config& settings);

    /// Ends every call with `errc::closed`; their handlers run on the executor afterwards.
    ~limiter();
    limiter(limiter&&) noexcept = default;
    limiter& operator=(limiter&& other) noexcept;
    limiter(const limiter&) = delete;
    limiter& operator=(const limiter&) = delete;

    [[nodiscard]] executor_type get_executor() const noexcept;

    /// Checks all rules at one instant, atomically, and charges the cost if all of them allow;
    /// otherwise it charges nothing. With `.at_least` a part of the cost may be granted.
    template<class Token = boost::asio::deferred_t>
    auto allow(std::string_view key, const policy& p, const check_options& options,
               Token&& token = Token{}) {
        return initiate(key, p, detail::ask(detail::verb::allow, options),
                        std::forward<Token>(token));
    }
    template<class Token = boost::asio::deferred_t>
        requires(!std::convertible_to<Token, check_options>)
    auto allow(std::string_view key, const policy& p, Token&& token = Token{}) {
        return allow(key, p, check_options{}, std::forward<Token>(token));
    }

    /// What `allow` would say now, with remaining and reset_after as they are. Charges and writes
    /// nothing.
    template<class Token = boost::asio::deferred_t>
    auto peek(std::string_view key, const policy& p, const check_options& options,
              Token&& token = Token{}) {
        return initiate(key, p, detail::ask(detail::verb::peek, options),
                        std::forward<Token>(token));
    }
    template<class Token = boost::asio::deferred_t>
        requires(!std::convertible_to<Token, check_options>)
    auto peek(std::string_view key, const policy& p, Token&& token = Token{}) {
        return peek(key, p, check_options{}, std::forward<Token>(token));
    }

    /// Records use without asking, such as a failed login: always charges, and the balance may go
    /// below zero (at most 366 days of it). Answers as a peek of cost 0 afterwards.
    template<class Token = boost::asio::deferred_t>
    auto charge(std::string_view key, const policy& p, const charge_options& options,
                Token&& token = Token{}) {
        return initiate(key, p, detail::ask(detail::verb::charge, options),
                        std::forward<Token>(token));
    }
    template<class Token = boost::asio::deferred_t>
        requires(!std::convertible_to<Token, charge_options>)
    auto charge(std::string_view key, const policy& p, Token&& token = Token{}) {
        return charge(key, p, charge_options{}, std::forward<Token>(token));
    }

    /// Gives back, never above the limit. Answers as a peek of cost 0 afterwards.
    template<class Token = boost::asio::deferred_t>
    auto refund(std::string_view key, const policy& p, const charge_options& options,
                Token&& token = Token{}) {
        return initiate(key, p, detail::ask(detail::verb::refund, options),
                        std::forward<Token>(token));
    }
    template<class Token = boost::asio::deferred_t>
        requires(!std::convertible_to<Token, charge_options>)
    auto refund(std::string_view key, const policy& p, Token&& token = Token{}) {
        return refund(key, p, charge_options{}, std::forward<Token>(token));
    }

    /// Forgets the key's state under the policy: its whole limit is there again.
    template<class Token = boost::asio::deferred_t>
    auto reset(std::string_view key, const policy& p, const reset_options& options,
               Token&& token = Token{}) {
        return initiate(key, p, detail::ask(detail::verb::reset, options),
                        std::forward<Token>(token));
    }
    template<class Token = boost::asio::deferred_t>
        requires(!std::convertible_to<Token, reset_options>)
    auto reset(std::string_view key, const policy& p, Token&& token = Token{}) {
        return reset(key, p, reset_options{}, std::forward<Token>(token));
    }

    /// Completes with `void(error_code)` when the store has answered once since the last connection
    /// was made; at once for `memory:`. The call waits as long as that takes: it has no deadline.
    /// Fails with `errc::auth_failed` when the server refuses the credentials, and `errc::closed`.
    template<class Token = boost::asio::deferred_t>
    auto ready(Token&& token = Token{}) {
        return boost::asio::async_initiate<Token, void(error_code)>(
            detail::initiation<false>{}, token, detail::call{engine_.get(), {}, nullptr, {}});
    }

    /// Ends every call with `errc::closed`, closes the connection and lets the context run out.
    /// Later calls get `errc::closed` too. Closing twice does nothing.
    void close() noexcept;

  private:
    template<class Token>
    auto initiate(std::string_view key, const policy& p, const detail::question& asked,
                  Token&& token) {
        return boost::asio::async_initiate<Token, signature>(
            detail::initiation<true>{}, token, detail::call{engine_.get(), key, &p.data(), asked});
    }

    std::shared_ptr<detail::engine> engine_;
};

} // namespace colimit

#endif
