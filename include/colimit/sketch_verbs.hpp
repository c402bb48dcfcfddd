// SPDX-License-Identifier: BSL-1.0
//
// The verbs of a limiter for Bloom filters and for distinct members. The rules that apply to all
// verbs are in limiter.hpp.

#pragma once

#include <colimit/bloom_filter.hpp>
#include <colimit/decision.hpp>
#include <colimit/detail/access.hpp>
#include <colimit/detail/call_operation.hpp>
#include <colimit/error.hpp>
#include <colimit/options.hpp>
#include <colimit/policy.hpp>
#include <colimit/seen_item.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace colimit {

namespace detail {

/// Completion tokens of the verbs, according to what these complete with.
template<class Token>
concept decision_token = boost::asio::completion_token_for<Token, void(error_code, decision)>;
template<class Token>
concept seen_token = boost::asio::completion_token_for<Token, void(error_code, bool)>;
template<class Token>
concept status_token = boost::asio::completion_token_for<Token, void(error_code, filter_status)>;
template<class Token>
concept count_token = boost::asio::completion_token_for<Token, void(error_code, std::int64_t)>;
template<class Token>
concept code_token = boost::asio::completion_token_for<Token, void(error_code)>;

} // namespace detail

/// The verbs of Bloom filters and of distinct members; a base of `limiter`.
class sketch_verbs {
  public:
    /// Completes with `void(error_code, bool)`: true if the id was seen before, within the TTL of
    /// the filter; otherwise it is recorded. For very many ids in little memory, and therefore
    /// sometimes true for a new id: see `bloom_filter`. Ids are any bytes up to 64 KiB. Calls are
    /// batched like those of policies.
    template<detail::seen_token Token = boost::asio::deferred_t>
    auto seen(std::string_view id, const bloom_filter& f, const reset_options& options,
              Token&& token = Token{}) {
        return look_up(detail::verb::allow, id, f, options, std::forward<Token>(token));
    }
    template<detail::seen_token Token = boost::asio::deferred_t>
    auto seen(std::string_view id, const bloom_filter& f, Token&& token = Token{}) {
        return seen(id, f, reset_options{}, std::forward<Token>(token));
    }

    /// As `seen`, but does not record the id: completes with `void(error_code, bool)`, true if
    /// `seen` would be. Writes nothing, like `peek`.
    template<detail::seen_token Token = boost::asio::deferred_t>
    auto probably_seen(std::string_view id, const bloom_filter& f, const reset_options& options,
                       Token&& token = Token{}) {
        return look_up(detail::verb::peek, id, f, options, std::forward<Token>(token));
    }
    template<detail::seen_token Token = boost::asio::deferred_t>
    auto probably_seen(std::string_view id, const bloom_filter& f, Token&& token = Token{}) {
        return probably_seen(id, f, reset_options{}, std::forward<Token>(token));
    }

    /// Calls `seen` for many ids in few round trips, each independent and in their order: an id
    /// that occurs twice is seen the second time. Completes with `void(error_code)` when all are
    /// decided; each item then has its outcome. The items must live until then, the bytes
    /// of their ids until the call is initiated. If the call is cancelled or the limiter closed,
    /// the call and the undecided items have `operation_aborted` or `errc::closed`.
    ///
    /// Each id is a call of its own, with the same `config::timeout`: ids that the server has not
    /// decided by then, and those above `config::advanced.max_in_flight`, are decided by the
    /// failure mode. So divide very many ids into calls of a few thousand, or increase both.
    template<detail::code_token Token = boost::asio::deferred_t>
    auto seen_many(std::span<seen_item> ids, const bloom_filter& f, const reset_options& options,
                   Token&& token = Token{}) {
        return look_up(detail::verb::allow, ids, f, options, std::forward<Token>(token));
    }
    template<detail::code_token Token = boost::asio::deferred_t>
    auto seen_many(std::span<seen_item> ids, const bloom_filter& f, Token&& token = Token{}) {
        return seen_many(ids, f, reset_options{}, std::forward<Token>(token));
    }

    /// As `seen_many`, but records no id.
    template<detail::code_token Token = boost::asio::deferred_t>
    auto probably_seen_many(std::span<seen_item> ids, const bloom_filter& f,
                            const reset_options& options, Token&& token = Token{}) {
        return look_up(detail::verb::peek, ids, f, options, std::forward<Token>(token));
    }
    template<detail::code_token Token = boost::asio::deferred_t>
    auto probably_seen_many(std::span<seen_item> ids, const bloom_filter& f,
                            Token&& token = Token{}) {
        return probably_seen_many(ids, f, reset_options{}, std::forward<Token>(token));
    }

    /// Completes with `void(error_code, filter_status)`: how full the filter is, and what fraction
    /// of new ids is reported as seen now. Writes nothing. Costs one script call (on a cluster, one
    /// per hash slot), with up to 4 commands for each of up to 16 blocks: about a millisecond of
    /// the server's time for a large filter. Failure modes do not apply.
    template<detail::status_token Token = boost::asio::deferred_t>
    auto filter_status(const bloom_filter& f, const reset_options& options,
                       Token&& token = Token{}) {
        return boost::asio::async_initiate<Token, void(error_code, colimit::filter_status)>(
            detail::initiation<true, detail::inspected_filter>{core_.get()}, token,
            detail::call{.kind = detail::call_kind::each,
                         .policy = &detail::access::data(f),
                         .request = detail::make_inspection(detail::clock_of(options.now))});
    }
    template<detail::status_token Token = boost::asio::deferred_t>
    auto filter_status(const bloom_filter& f, Token&& token = Token{}) {
        return filter_status(f, reset_options{}, std::forward<Token>(token));
    }

    /// Completes with `void(error_code, std::int64_t)`: how many different members a `distinct`
    /// rule of the policy has counted for the key in its current window, with the rule's standard
    /// error of 0.8 %. Charges and writes nothing. It is the number that PFCOUNT returns for the
    /// key of the sketch, and `limit - balance` of the rule in a `peek`. 0 after an error.
    /// `invalid_argument` if the policy has no such rule. Failure modes do not apply, as they would
    /// have to invent a number.
    template<detail::count_token Token = boost::asio::deferred_t>
    auto count_distinct(std::string_view key, const policy& p, const count_options& options,
                        Token&& token = Token{}) {
        const auto& data = detail::access::data(p);
        return boost::asio::async_initiate<Token, void(error_code, std::int64_t)>(
            detail::initiation<true, detail::counted_members>{core_.get()}, token,
            detail::call{.kind = detail::call_kind::count,
                         .key = key,
                         .policy = &data,
                         .request = detail::make_count(*data, options)});
    }
    template<detail::count_token Token = boost::asio::deferred_t>
    auto count_distinct(std::string_view key, const policy& p, Token&& token = Token{}) {
        return count_distinct(key, p, count_options{}, std::forward<Token>(token));
    }

    /// Records several members of `distinct` rules, as PFADD does: makes a `charge` of
    /// `options.cost` for each member, in their order and in few round trips; `options.member` is
    /// not used. Completes with the decision of the last charge, without members with that of a
    /// peek of cost 0.
    ///
    /// Each charge is atomic, all of them are not: other calls may come in between, and if the call
    /// fails or is cancelled, some members may be recorded. Recording a member again has no effect
    /// on `distinct` rules, so such a call can be repeated if the policy has no others. The members
    /// must live until the call is initiated.
    /// Divide very many members into several calls, for the reason given at `seen_many`.
    template<detail::decision_token Token = boost::asio::deferred_t>
    auto charge_members(std::string_view key, const policy& p,
                        std::span<const std::string_view> members, const charge_options& options,
                        Token&& token = Token{}) {
        return boost::asio::async_initiate<Token, void(error_code, decision)>(
            detail::initiation<true>{core_.get()}, token,
            detail::call{.kind = detail::call_kind::each,
                         .key = key,
                         .policy = &detail::access::data(p),
                         .request = detail::make_request(detail::verb::charge, options),
                         .members = members});
    }
    template<detail::decision_token Token = boost::asio::deferred_t>
    auto charge_members(std::string_view key, const policy& p,
                        std::span<const std::string_view> members, Token&& token = Token{}) {
        return charge_members(key, p, members, charge_options{}, std::forward<Token>(token));
    }

  protected:
    explicit sketch_verbs(std::shared_ptr<detail::limiter_core> core) noexcept
        : core_(std::move(core)) {}
    sketch_verbs(sketch_verbs&&) noexcept = default;
    sketch_verbs& operator=(sketch_verbs&&) noexcept = default;
    ~sketch_verbs() = default;

    std::shared_ptr<detail::limiter_core> core_; // NOLINT: of `limiter`

  private:
    template<detail::seen_token Token>
    auto look_up(detail::verb v, std::string_view id, const bloom_filter& f,
                 const reset_options& options, Token&& token) {
        return boost::asio::async_initiate<Token, void(error_code, bool)>(
            detail::initiation<true, detail::was_seen>{core_.get()}, token,
            detail::call{.kind = detail::call_kind::one,
                         .key = id,
                         .policy = &detail::access::data(f),
                         .request = detail::make_lookup(v, options)});
    }
    template<detail::code_token Token>
    auto look_up(detail::verb v, std::span<seen_item> ids, const bloom_filter& f,
                 const reset_options& options, Token&& token) {
        return boost::asio::async_initiate<Token, void(error_code)>(
            detail::initiation<false>{core_.get()}, token,
            detail::call{.kind = detail::call_kind::each,
                         .policy = &detail::access::data(f),
                         .request = detail::make_lookup(v, options),
                         .ids = ids});
    }
};

} // namespace colimit
