// SPDX-License-Identifier: BSL-1.0
//
// The limiter: every verb is an Asio initiating function, `deferred` by default, so that
// `co_await limiter.allow(key, policy)` makes no coroutine frame of its own.

#pragma once

#include <colimit/check_item.hpp>
#include <colimit/config.hpp>
#include <colimit/decision.hpp>
#include <colimit/detail/access.hpp>
#include <colimit/detail/call_operation.hpp>
#include <colimit/diagnostics.hpp>
#include <colimit/error.hpp>
#include <colimit/options.hpp>
#include <colimit/policy.hpp>
#include <colimit/sketch_verbs.hpp>
#include <colimit/slot.hpp>
#include <colimit/statistics.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit {

/// A rate limiter with counters in this process or in Redis. Its verbs for Bloom filters and for
/// distinct members are in `sketch_verbs`.
///
/// These rules apply to all verbs:
///
/// @par Charges Each verb documents when it charges quota. A denied or failed call charges none,
/// with one exception: `errc::outcome_unknown`, where the server may have charged and its reply was
/// lost.
///
/// @par Ids A call of `allow`, `charge`, `refund` or `allow_many` with an id
/// (`check_options::request`) is charged once, however often and by whichever process it is made
/// within `config::advanced.request_ttl`, and each time has the same decision. If its reply is
/// lost, the limiter makes it again until its deadline. If it ends with `outcome_unknown` all the
/// same, make it again with the same id. A store that loses its latest writes, as in a failover,
/// loses ids with them.
///
/// @par Lifetimes Key and policy must live until the call is initiated, no longer. With the default
/// token a call is initiated when it is awaited. The limiter must not outlive its context, like any
/// Asio object.
///
/// @par Completion
/// Exactly once, by `config::timeout`, never from within the initiating function; on the handler's
/// associated executor, by default the limiter's.
///
/// @par Cancellation Through the handler's cancellation slot. A cancelled call completes with
/// `boost::asio::error::operation_aborted`. Before its request is sent, every type cancels a call,
/// and nothing is charged. Afterwards `terminal` and `partial` end the call at once; the server may
/// still execute the request, and a reservation of `wait` is released. `total` promises that a
/// cancelled call has no effect, so it does nothing then, except for verbs that never have one,
/// such as `peek`. A call that is already decided completes with its result; with `memory:` that is
/// every call. src/README.md has a table of every verb and moment.
///
/// @par Out of memory A verb may throw `std::bad_alloc`; then no request was made, and the handler
/// is destroyed. A call may end with `boost::system::errc::not_enough_memory` (nothing charged), or
/// as if its connection was lost. The limiter resumes later. (A `strand<any_io_executor>` may not.)
///
/// @par Errors A call ends with a `colimit::errc` unless `config::on_failure` decides it. The
/// message of an `invalid_argument` or `invalid_policy` says which argument or rule it is, and what
/// is allowed.
///
/// @par Threads A limiter is confined to its executor: use it from the one thread that runs its
/// context, or from its strand. One limiter per thread is recommended. With `config::thread_safe`,
/// every function except moving and destroying may be called from any thread at any time, and the
/// executor may be that of a thread pool. As everywhere in Asio, a cancellation signal must be
/// emitted on the handler's executor, so bind the handler to a strand if another thread may cancel
/// it.
///
/// @par Keys Any bytes. A key of more than 256 bytes is replaced by a 128-bit digest.
///
/// @par Memory A call allocates nothing once as many calls were incomplete at the same time before,
/// while the context runs in `run()` or `run_for()`; Asio drops its own caches whenever `run_one()`
/// returns. Handlers may have any alignment; one of more than 512 bytes may cost an allocation or
/// two per call.
class limiter : public sketch_verbs {
  public:
    using executor_type = boost::asio::any_io_executor;
    /// The completion signature of most verbs.
    using signature = void(error_code, decision);

    /// @param server see `config::server`. The limiter connects on its own; calls need not wait for
    /// that.
    /// @throws colimit::error with `errc::invalid_config`
    limiter(executor_type executor, std::string_view server);
    limiter(executor_type executor, const config& settings);

    /// As `close`.
    ~limiter();
    limiter(limiter&&) noexcept = default;
    limiter& operator=(limiter&& other) noexcept;
    limiter(const limiter&) = delete;
    limiter& operator=(const limiter&) = delete;

    [[nodiscard]] executor_type get_executor() const noexcept;

    /// Checks all rules atomically and charges the cost if all of them allow; otherwise it charges
    /// nothing. With `.at_least` a part of the cost may be granted.
    template<detail::decision_token Token = boost::asio::deferred_t>
    auto allow(std::string_view key, const policy& p, const check_options& options,
               Token&& token = Token{}) {
        return initiate(key, p, detail::make_request(detail::verb::allow, options),
                        std::forward<Token>(token));
    }
    template<detail::decision_token Token = boost::asio::deferred_t>
    auto allow(std::string_view key, const policy& p, Token&& token = Token{}) {
        return allow(key, p, check_options{}, std::forward<Token>(token));
    }

    /// Completes with the decision that `allow` would make now, with the current remaining and
    /// reset_after. Charges and writes nothing.
    template<detail::decision_token Token = boost::asio::deferred_t>
    auto peek(std::string_view key, const policy& p, const check_options& options,
              Token&& token = Token{}) {
        return initiate(key, p, detail::make_request(detail::verb::peek, options),
                        std::forward<Token>(token));
    }
    template<detail::decision_token Token = boost::asio::deferred_t>
    auto peek(std::string_view key, const policy& p, Token&& token = Token{}) {
        return peek(key, p, check_options{}, std::forward<Token>(token));
    }

    /// Records use unconditionally, such as a failed login: always charges, and the balance may
    /// become negative (by at most 366 days of refill). Completes as a peek of cost 0 afterwards
    /// would.
    template<detail::decision_token Token = boost::asio::deferred_t>
    auto charge(std::string_view key, const policy& p, const charge_options& options,
                Token&& token = Token{}) {
        return initiate(key, p, detail::make_request(detail::verb::charge, options),
                        std::forward<Token>(token));
    }
    template<detail::decision_token Token = boost::asio::deferred_t>
    auto charge(std::string_view key, const policy& p, Token&& token = Token{}) {
        return charge(key, p, charge_options{}, std::forward<Token>(token));
    }

    /// Returns quota, never above the limit. Completes as a peek of cost 0 afterwards would.
    template<detail::decision_token Token = boost::asio::deferred_t>
    auto refund(std::string_view key, const policy& p, const charge_options& options,
                Token&& token = Token{}) {
        return initiate(key, p, detail::make_request(detail::verb::refund, options),
                        std::forward<Token>(token));
    }
    template<detail::decision_token Token = boost::asio::deferred_t>
    auto refund(std::string_view key, const policy& p, Token&& token = Token{}) {
        return refund(key, p, charge_options{}, std::forward<Token>(token));
    }

    /// Deletes the key's state under the policy: its whole limit is available again, or what
    /// `rule::initially` gives to a new key.
    template<detail::decision_token Token = boost::asio::deferred_t>
    auto reset(std::string_view key, const policy& p, const reset_options& options,
               Token&& token = Token{}) {
        return initiate(key, p, detail::make_request(detail::verb::reset, options),
                        std::forward<Token>(token));
    }
    template<detail::decision_token Token = boost::asio::deferred_t>
    auto reset(std::string_view key, const policy& p, Token&& token = Token{}) {
        return reset(key, p, reset_options{}, std::forward<Token>(token));
    }

    /// Denies every call for the key under the policy for `length`, 0 to 100 years, regardless of
    /// its rules, unless the policy is in shadow mode; `reset` lifts the block. An existing block
    /// that lasts longer stays. Completes as a peek of cost 0 afterwards would.
    template<class Rep, class Period, detail::decision_token Token = boost::asio::deferred_t>
    auto block(std::string_view key, const policy& p, std::chrono::duration<Rep, Period> length,
               const reset_options& options, Token&& token = Token{}) {
        return initiate(
            key, p,
            detail::make_request(detail::verb::block, options, detail::whole_microseconds(length)),
            std::forward<Token>(token));
    }
    template<class Rep, class Period, detail::decision_token Token = boost::asio::deferred_t>
    auto block(std::string_view key, const policy& p, std::chrono::duration<Rep, Period> length,
               Token&& token = Token{}) {
        return block(key, p, length, reset_options{}, std::forward<Token>(token));
    }

    /// Completes when the call is admitted: at once if its cost fits, otherwise as soon as enough
    /// has been refilled. A call that would wait longer than `max_wait` is denied and charges
    /// nothing. To send to a partner at an even pace, use a bucket with `burst(1)`: `gcra(10, 1s)`
    /// admits 10 calls at once and then 10 per second, so 20 in its first second.
    ///
    /// @par Continuous buckets The quota is reserved, and charged, when the store executes the
    /// call, so the calls of one key are admitted in that order, whichever process they come from.
    /// A call that would wait too long is denied immediately, and so is one that a block or
    /// `prevent_duplicate` denies. The decision is as of the time of admission, except `remaining`.
    /// `config::timeout` applies to the reservation only.
    ///
    /// @par Other rules Nothing can be reserved from windows, logs and distinct members, nor with
    /// packed storage. Calls of one key and policy wait in a queue in this process: the first one
    /// asks as `allow` does, and asks again at its `retry_after`, which may be the end of a block;
    /// the others follow in their order.
    /// There is no order between processes, nor between versions of a policy: a call that waits
    /// when the policy is replaced keeps asking under the rules it was made with, and calls under
    /// the new ones have a queue of their own. A call is charged when it is granted, and denied as
    /// soon as the queue cannot reach it within `max_wait`. `config::timeout` applies to each
    /// question. A call that is cancelled while it asks may have been charged, as with `allow`.
    ///
    /// @par Failure modes `failure_mode::local` applies only if the policy has it, or
    /// `config::local_fraction` is less than 1; otherwise the call ends with its error. Processes
    /// that each wait for a whole limit would together exceed it.
    ///
    /// If a call with a reservation is cancelled while it waits, its reservation is released,
    /// unless a later one was made or the store's clock was set back in the meantime: then the
    /// reservation lapses, and its quota stays charged. At most `config::advanced.max_waiting`
    /// calls may be incomplete at once; one more is `errc::too_many_in_flight` and charges nothing.
    /// A step of the store's clock changes neither the order of a key's calls nor the time that a
    /// call waits once its reservation is made.
    template<detail::decision_token Token = boost::asio::deferred_t>
    auto wait(std::string_view key, const policy& p, const wait_options& options,
              Token&& token = Token{}) {
        return initiate(key, p, detail::make_request(options), std::forward<Token>(token));
    }
    template<detail::decision_token Token = boost::asio::deferred_t>
    auto wait(std::string_view key, const policy& p, Token&& token = Token{}) {
        return wait(key, p, wait_options{}, std::forward<Token>(token));
    }

    /// Takes one slot of the policy's `concurrent` rule, if one is free and all other rules allow
    /// the cost, which is charged to them. Completes with `void(error_code, slot)`: a granted slot
    /// is held until it is released or destroyed; a denied call charges nothing and gives
    /// an empty slot, whose `decision()` says why. A policy without such a rule is
    /// `invalid_policy`.
    ///
    /// With `max_wait` the calls of one key and policy wait in a queue in this process, as in
    /// `wait` under rules without reservations: there is no order between processes, nor between
    /// versions of a policy. The first one asks again when this limiter gives back a slot of the
    /// key, at `retry_after`, and every 100 ms, as another process may give one back at any time.
    /// `config::advanced.max_waiting` bounds these calls as it bounds those of `wait`.
    ///
    /// @par Fairness A limiter with a server passes the slots of a key on among its own calls for
    /// 2 s, or for one call that holds a slot for longer. Then it gives way: for 150 ms its calls
    /// that wait do not ask, so that each other process that waits finds free at least once what
    /// was given back; those whose time ends meanwhile are denied. Calls without `max_wait` do not
    /// give way, nor do those with less than 150 ms if none was denied in the queue of their
    /// process. Which of the other processes gets the slot is chance. While some slots are free,
    /// no process gives way.
    ///
    /// @par Errors If the request may have been sent and no reply came, or a call is cancelled
    /// then, the limiter gives the slot back by itself, in case the store has granted it; the cost
    /// may have been charged. If the network delivers the request after that, no call has the
    /// slot, and it is free again when its lease ends. A store without memory for what the call
    /// may add fails it with `errc::server_error`; nothing is charged. `failure_mode::allow` and
    /// `local` do not apply, as no other store has the holders.
    template<detail::slot_token Token = boost::asio::deferred_t>
    auto acquire(std::string_view key, const policy& p, const acquire_options& options,
                 Token&& token = Token{}) {
        return boost::asio::async_initiate<Token, void(error_code, slot)>(
            detail::initiation<true, detail::acquired_slot>{core_.get()}, token,
            detail::call{.kind = detail::call_kind::one,
                         .key = key,
                         .policy = &detail::access::data(p),
                         .request = detail::make_request(options, {}),
                         .max_wait = options.max_wait.count()});
    }
    template<detail::slot_token Token = boost::asio::deferred_t>
    auto acquire(std::string_view key, const policy& p, Token&& token = Token{}) {
        return acquire(key, p, acquire_options{}, std::forward<Token>(token));
    }

    /// Allows the first call with this `id`, and denies all others until `ttl` has passed, 0 to 100
    /// years: for duplicate submissions and messages that are delivered twice. Ids do not collide
    /// with the keys of policies.
    template<class Rep, class Period, detail::decision_token Token = boost::asio::deferred_t>
    auto once(std::string_view id, std::chrono::duration<Rep, Period> ttl,
              const reset_options& options, Token&& token = Token{}) {
        return boost::asio::async_initiate<Token, signature>(
            detail::initiation<true>{core_.get()}, token,
            detail::call{.kind = detail::call_kind::once,
                         .key = id,
                         .request = detail::make_request(detail::verb::once, options,
                                                         detail::whole_microseconds(ttl))});
    }
    template<class Rep, class Period, detail::decision_token Token = boost::asio::deferred_t>
    auto once(std::string_view id, std::chrono::duration<Rep, Period> ttl,
              Token&& token = Token{}) {
        return once(id, ttl, reset_options{}, std::forward<Token>(token));
    }

    /// Makes many checks in as few requests as possible, each independent, like an `allow`:
    /// up to `config::advanced.batch_size` keys of a policy share one. Completes with
    /// `void(error_code)` when all are decided; each check then has its `ec` and `result`. The
    /// checks must live until then. If the call is cancelled or the limiter closed, the call and
    /// the undecided checks have `operation_aborted` or `errc::closed`.
    template<detail::code_token Token = boost::asio::deferred_t>
    auto allow_many(std::span<check_item> checks, Token&& token = Token{}) {
        return boost::asio::async_initiate<Token, void(error_code)>(
            detail::initiation<false>{core_.get()}, token,
            detail::call{.kind = detail::call_kind::each, .checks = checks});
    }

    /// Checks several keys atomically, such as a user and a tenant: allows and charges all checks
    /// or, if one is denied, charges none of them. The decision is that of the most restrictive
    /// check: the denial with the longest wait, else the grant with the least remaining;
    /// `limiting_check` is its index. Each check has its own decision in `result`; if another check
    /// was denied, its `granted` is 0. If the server refuses a command after some were charged,
    /// for which the user's permissions must be incomplete, the call ends with
    /// `errc::outcome_unknown`. 1 to 64 checks, all with the same clock, no two for one key
    /// under one policy, on a cluster all in one hash slot (`scoped_key::tagged`): otherwise
    /// `invalid_argument`.
    template<detail::decision_token Token = boost::asio::deferred_t>
    auto allow_all(std::span<check_item> checks, Token&& token = Token{}) {
        return boost::asio::async_initiate<Token, signature>(
            detail::initiation<true>{core_.get()}, token,
            detail::call{.kind = detail::call_kind::all, .checks = checks});
    }

    /// Completes with `void(error_code)` when the current connection is ready; immediately for
    /// `memory:`. The call has no deadline. Fails with `errc::auth_failed`, `untrusted_server`,
    /// `bad_reply`, `closed`, and `invalid_config` if most Sentinels do not know the master, or if
    /// the server lacks the library for `execution_mode::function` or the module that
    /// `config::advanced.server_module` requires; `last_error` has the details.
    ///
    /// The handshake checks the credentials, and that the server knows the commands that a check of
    /// an ordinary policy needs and lets the user run them: TIME, MGET, SET, EVALSHA and SCRIPT
    /// LOAD (with `execution_mode::function` FCALL instead of the last two; with
    /// `execution_mode::multi` those that it lists; with the server module only COLIMIT.CHECK);
    /// otherwise `auth_failed`. It checks neither other commands, such as those for logs, nor key
    /// permissions, as a user may be restricted to the keys of some policies. Without the server
    /// module it tries one key with `config::prefix`; if that is denied, `last_error` says so. A
    /// call for a denied key ends with `auth_failed`.
    template<detail::code_token Token = boost::asio::deferred_t>
    auto ready(Token&& token = Token{}) {
        return boost::asio::async_initiate<Token, void(error_code)>(
            detail::initiation<false>{core_.get()}, token, detail::call{});
    }

    /// Completes every call with `errc::closed`, also later ones, and closes the connection, so
    /// that the context can run out of work. Places that were released before are given back, if
    /// the connection can send that at once; otherwise they are free when their leases end.
    /// Closing twice does nothing.
    void close() noexcept;

    /// Returns the counters since the limiter was constructed, also after `close`. Copies about
    /// 2.4 KB.
    [[nodiscard]] colimit::statistics statistics() const;

    /// Returns the counters of each policy that was called, in the order of their first calls, also
    /// after `close`; empty unless `config::counted_policies` is set. Copies about 2.3 KB for each.
    [[nodiscard]] std::vector<colimit::policy_statistics> policy_statistics() const;

    /// Returns the last problem with the server, even if it has been solved; nullopt if there was
    /// none. An invalid argument is reported by the error code of the call, not here.
    ///
    /// Behind Sentinel, a problem of the master is returned until a connection to the master is
    /// ready; otherwise the last problem of the master or a Sentinel. So a dead Sentinel does not
    /// hide why the master decides no calls.
    [[nodiscard]] std::optional<problem> last_error() const;
    /// Returns whether the server decides calls, and since when.
    [[nodiscard]] colimit::health health() const;

  private:
    template<detail::decision_token Token>
    auto initiate(std::string_view key, const policy& p, const detail::call_request& request,
                  Token&& token) {
        return boost::asio::async_initiate<Token, signature>(
            detail::initiation<true>{core_.get()}, token,
            detail::call{.kind = detail::call_kind::one,
                         .key = key,
                         .policy = &detail::access::data(p),
                         .request = request});
    }
};

} // namespace colimit
