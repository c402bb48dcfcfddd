// SPDX-License-Identifier: BSL-1.0
//
// The options of `http::guard`.

#pragma once

#include <colimit/http.hpp>
#include <colimit/http_key.hpp>
#include <colimit/http_request.hpp>
#include <colimit/http_verdict.hpp>

#include <functional>
#include <optional>
#include <string>

namespace colimit::http {

/// Options of a `guard`.
struct guard_options {
    /// Whether a policy lets requests through if the limiter ends its call with an error; otherwise
    /// they are denied with status 503. Other policies of the route that can decide stay in force.
    /// While the server is unavailable, the failure mode decides, so the error is one that this
    /// does not mask (such as a wrong password, or a key with a foreign value), or the mode is
    /// `failure_mode::error`.
    bool allow_on_error = true;

    /// Called with each request that the limiter could not decide under all of its policies, and
    /// the verdict, whose `error` says why; empty by default.
    std::function<void(const request&, const verdict&)> on_error{};

    /// Returns the user of a request for keys with the part `user`; nullopt or an empty text if it
    /// has none. Empty by default: `request::user`. Called only for routes with such a key, once
    /// per request, before the limiter is. It must not block. If it throws, the request has no
    /// user.
    std::function<std::optional<std::string>(const request&)> user{};

    /// Returns whether the server knows the value of a part with `verified:` in the key of a
    /// policy, such as an API key; a value that it does not know is as a missing one. Empty by
    /// default: it knows none. Called once per such part, before the limiter is. It must not block.
    /// If it throws, the value is not known.
    value_verifier verifier{};

    /// Called with each denied request, to change the verdict: another status, other fields or
    /// another body, or to allow it after all, which charges nothing, and removes `Retry-After`,
    /// `Cache-Control`, `Content-Type` and the body. Empty by default.
    std::function<void(const request&, verdict&)> on_denied{};

    /// Which older header fields to add.
    field_options fields{};
};

} // namespace colimit::http
