// SPDX-License-Identifier: BSL-1.0
//
// The verdict on a request: it is let through, or denied with a response.

#pragma once

#include <colimit/decision.hpp>
#include <colimit/error.hpp>
#include <colimit/http.hpp>
#include <colimit/policy_document.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace colimit::http {

/// The result of a check: whether the request may pass, and the fields of its response.
struct verdict {
    bool allowed = true;
    /// For the response, whether the request is allowed or not; each name at most once. For a
    /// denied request also `Content-Type`, `Retry-After` and `Cache-Control`.
    std::vector<field> fields{};
    /// The response to a denied request: a status code, 429, or 503 if the limiter cannot decide,
    /// and a body, a problem of RFC 9457.
    unsigned status = 200;
    std::string body{};
    /// The policies of the request's route; empty if none limits it, or no route matches.
    std::span<const keyed_policy> policies{};
    /// The index of the policy that decided: of several the most restrictive one.
    std::size_t limiting = 0;
    /// The decision under that policy; nullopt if there is none, or the limiter failed.
    std::optional<colimit::decision> decision{};
    /// Why the limiter could not decide, or not under all policies at once. Without a decision
    /// `guard_options::allow_on_error` decided; otherwise the policies did that could.
    error_code error{};
    /// The path of the request as the guard has read it, `normal_path`. Route by it: a router that
    /// reads the target itself may find another handler than the one that was limited, such as that
    /// of `/api/login` for `/api/login/../../health`, of which the path is `/health`. What no
    /// handler has by this path, such as `/api/login%00` and `/api/login.`, is not found.
    std::string path{};
    /// The document that was in force, which has the policies.
    std::shared_ptr<const policy_document> document{};
};

} // namespace colimit::http
