// SPDX-License-Identifier: BSL-1.0
//
// One request on its way through `http::guard`: the calls of the limiter that it needs, and the
// handler that turns their results into a verdict.
//
//   allow      one policy
//   allow_all  several: all are charged or none
//   allow_many the same, after an error that may not be one of all of them: the others stay in
//   force

#pragma once

#include <colimit/check_item.hpp>
#include <colimit/decision.hpp>
#include <colimit/error.hpp>
#include <colimit/guard_options.hpp>
#include <colimit/http_key.hpp>
#include <colimit/http_request.hpp>
#include <colimit/http_verdict.hpp>
#include <colimit/key.hpp>
#include <colimit/limiter.hpp>
#include <colimit/policy_document.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/associator.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace colimit::detail {

struct guard_settings {
    colimit::limiter* limiter;
    std::function<std::shared_ptr<const policy_document>()> documents;
    http::guard_options options;
};

class guard_call {
  public:
    guard_call(std::shared_ptr<const guard_settings> settings, const http::request& r);

    [[nodiscard]] colimit::limiter& limiter() const noexcept { return *settings_->limiter; }
    /// The policies that limit the request, and its keys under them.
    [[nodiscard]] std::span<const keyed_policy> policies() const noexcept {
        return verdict_.policies;
    }
    /// Returns the key under the first policy.
    [[nodiscard]] scoped_key first_key() const;
    /// Returns the checks of several policies; valid as long as this object.
    [[nodiscard]] std::span<check_item> make_checks();
    [[nodiscard]] std::span<check_item> checks() noexcept { return checks_; }

    /// Returns whether policies that were checked together and ended with this error are to be
    /// checked one by one, as some of them may decide.
    [[nodiscard]] bool should_ask_apart(error_code ec) const;
    /// Notes the error of the checks together, before they are made one by one.
    void note_apart(error_code ec) noexcept { verdict_.error = ec; }

    /// Return the verdict, once. Not for a call that was cancelled.
    [[nodiscard]] http::verdict finish(error_code ec, const decision& d);
    /// For checks that were made one by one.
    [[nodiscard]] http::verdict finish_apart();

  private:
    http::verdict end();
    void set_fields(const decision& d);
    void add_items(const keyed_policy& p, decision d, bool allowed);
    void deny(const keyed_policy& p, const decision& d);
    void deny_or_allow();
    void fail(error_code ec);

    std::shared_ptr<const guard_settings> settings_;
    http::request request_;
    http::verdict verdict_;
    std::optional<std::string> user_; ///< from the callback
    http::key_context context_;
    std::vector<scoped_key> keys_;
    std::vector<check_item> checks_;
};

/// Completes a check with its verdict; for the limiter it is a handler with everything that is
/// associated with the handler of the check.
template<class Handler>
class guard_handler {
  public:
    guard_handler(Handler handler, std::unique_ptr<guard_call>&& call)
        : handler_(std::move(handler)), call_(std::move(call)) {}

    void operator()(error_code ec, const decision& d) {
        if (ec == boost::asio::error::operation_aborted)
            return complete(ec, {});
        if (call_->should_ask_apart(ec))
            return ask_apart(ec);
        complete({}, call_->finish(ec, d));
    }
    /// For checks that were made one by one.
    void operator()(error_code ec) {
        if (ec == boost::asio::error::operation_aborted)
            return complete(ec, {});
        complete({}, call_->finish_apart());
    }
    /// For a request that no policy limits.
    void operator()() { complete({}, call_->finish({}, {})); }

    [[nodiscard]] const Handler& inner() const noexcept { return handler_; }

  private:
    /// The handler may run elsewhere than on the limiter's executor, which the limiter needs.
    void ask_apart(error_code ec) {
        call_->note_apart(ec);
        const auto on = call_->limiter().get_executor();
        auto work =
            boost::asio::make_work_guard(boost::asio::get_associated_executor(handler_, on));
        boost::asio::dispatch(on, [self = std::move(*this), work = std::move(work)]() mutable {
            auto& call = *self.call_;
            call.limiter().allow_many(call.checks(), std::move(self));
        });
    }

    /// Frees the call before the handler runs.
    void complete(error_code ec, http::verdict v) {
        call_.reset();
        std::move(handler_)(ec, std::move(v));
    }

    Handler handler_;
    std::unique_ptr<guard_call> call_;
};

/// Trivially destructible (GCC 12 and co_await).
class guard_initiation {
  public:
    using executor_type = boost::asio::any_io_executor;

    /// @param settings must live until the initiation
    explicit guard_initiation(const std::shared_ptr<const guard_settings>& settings) noexcept
        : settings_(&settings) {}

    [[nodiscard]] executor_type get_executor() const noexcept {
        return (*settings_)->limiter->get_executor();
    }

    template<class Handler>
    void operator()(Handler&& handler, const http::request& r) const {
        auto owner = std::make_unique<guard_call>(*settings_, r);
        auto& call = *owner;
        auto finish =
            guard_handler<std::decay_t<Handler>>{std::forward<Handler>(handler), std::move(owner)};
        if (call.policies().empty())
            return boost::asio::post(get_executor(), std::move(finish));
        if (call.policies().size() == 1)
            return call.limiter().allow(call.first_key(), call.policies().front().limit,
                                        std::move(finish));
        call.limiter().allow_all(call.make_checks(), std::move(finish));
    }

  private:
    const std::shared_ptr<const guard_settings>* settings_;
};

} // namespace colimit::detail

template<template<class, class> class Associator, class Handler, class Default>
struct boost::asio::associator<Associator, colimit::detail::guard_handler<Handler>, Default>
    : Associator<Handler, Default> {
    [[nodiscard]] static auto get(const colimit::detail::guard_handler<Handler>& h) noexcept {
        return Associator<Handler, Default>::get(h.inner());
    }
    [[nodiscard]] static auto get(const colimit::detail::guard_handler<Handler>& h,
                                  const Default& otherwise) noexcept {
        return Associator<Handler, Default>::get(h.inner(), otherwise);
    }
};
