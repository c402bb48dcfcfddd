// SPDX-License-Identifier: BSL-1.0
//
// A middleware for any HTTP framework: from a request to a verdict. An adapter passes views of a
// request (http_request.hpp), and either sends the denial or adds the fields to its response.
// `colimit/beast.hpp` is one for Boost.Beast.

#pragma once

#include <colimit/detail/guard_call.hpp>
#include <colimit/error.hpp>
#include <colimit/guard_options.hpp>
#include <colimit/http_request.hpp>
#include <colimit/http_verdict.hpp>
#include <colimit/limiter.hpp>
#include <colimit/policy_document.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace colimit::http {

/// Limits the requests of an HTTP service according to a document of policies.
///
/// @par Threads As `limiter`: confined to the limiter's executor. If the limiter is thread-safe, so
/// is `check`; the functions of `guard_options` and the source of documents must be, too, then.
class guard {
  public:
    /// Returns the document in force, never null: `[&] { return source.current(); }`.
    using document_source = std::function<std::shared_ptr<const policy_document>()>;
    /// The completion signature.
    using signature = void(error_code, verdict);

    /// @param source called for each request, so a new document applies to the next one
    guard(limiter& l, document_source source, guard_options options = {})
        : settings_(std::make_shared<const detail::guard_settings>(
              detail::guard_settings{&l, std::move(source), std::move(options)})) {}
    /// For a document that is never replaced.
    guard(limiter& l, const policy_document& document, guard_options options = {})
        : guard(
              l, [fixed = std::make_shared<const policy_document>(document)] { return fixed; },
              std::move(options)) {}

    /// Finds the route of a request, and its keys under the policies of the route, and checks them:
    /// one policy with `allow`, several with one `allow_all`, so that all or none are charged. On a
    /// cluster their keys need a common tag then (`tag:NAME`): otherwise they are checked one by
    /// one, so a request that one policy denies may have been charged to others, and the call
    /// ends with `errc::invalid_argument`. A request without a route is allowed, with an empty
    /// verdict. Completes with the verdict, on the handler's associated executor, never from within
    /// this function.
    ///
    /// If `allow_all` ends with an error that may be about some of the policies only (a foreign
    /// value at one key, keys without a common tag, failure modes that differ), the guard asks each
    /// policy once more, on its own: those that decide stay in force, also by their failure mode,
    /// and a denial of one of them denies the request. If all of them failed, or one did and none
    /// denies, `guard_options::allow_on_error` decides. The error is in the verdict in any case.
    ///
    /// If several policies apply, the fields list the rules of all of them, as `POLICY/RULE` if
    /// rules of two policies have equal names; other fields and the body are about the most
    /// restrictive policy.
    ///
    /// @par Errors Only `boost::asio::error::operation_aborted`, if the call was cancelled; all
    /// others are in the verdict, which `guard_options::allow_on_error` decided. `on_error` and
    /// `on_denied` must not throw.
    ///
    /// @par Lifetimes What the request refers to, and the limiter, must live until the call
    /// completes; the guard until it is initiated. With the default token a call is initiated when
    /// it is awaited.
    ///
    /// @par Charges As `allow` and `allow_all`, with a cost of 1. Policies that are asked on their
    /// own are charged one by one, so one may be charged for a request that another denies, and
    /// charged twice if `allow_all` ended with `condition::maybe_charged`.
    template<boost::asio::completion_token_for<signature> Token = boost::asio::deferred_t>
    auto check(const request& r, Token&& token = Token{}) const {
        return boost::asio::async_initiate<Token, signature>(detail::guard_initiation{settings_},
                                                             token, r);
    }

  private:
    std::shared_ptr<const detail::guard_settings> settings_;
};

} // namespace colimit::http
