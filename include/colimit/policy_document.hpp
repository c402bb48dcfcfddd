// SPDX-License-Identifier: BSL-1.0
//
// A document of policies for an HTTP service: which requests each policy limits, what their keys
// consist of, and which proxies are trusted. It is checked as a whole when it is parsed, so a
// document is valid, and a service that has one can use all of it.

#pragma once

#include <colimit/client_address.hpp>
#include <colimit/detail/access.hpp>
#include <colimit/http.hpp>
#include <colimit/http_key.hpp>
#include <colimit/key.hpp>
#include <colimit/policy.hpp>
#include <colimit/policy_set.hpp>
#include <colimit/routes.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace colimit {

namespace detail {
struct document_data;
}

/// A policy, and the template of its keys.
struct keyed_policy {
    keyed_policy(policy l, http::key_template k)
        : limit(std::move(l)), key(std::move(k)), field(http::draft_11::policy_field(limit)) {}

    policy limit;
    http::key_template key;
    /// The value of `RateLimit-Policy`, which is the same for all decisions.
    std::string field;
    /// `http::field_options::prefix` for responses: `NAME/` of the policy on a route where several
    /// policies have rules of equal names (rules without names have that of their algorithm);
    /// otherwise empty.
    std::string prefix{};

    friend bool operator==(const keyed_policy&, const keyed_policy&) = default;
};

/// A valid document: the result of `parse_policy_document`. A copy costs one reference count.
///
/// @par Threads
/// Immutable: one document may be used from all threads.
class policy_document {
  public:
    /// Returns the version in the document, or the one that it was published with in Redis; nullopt
    /// if there is none.
    [[nodiscard]] std::optional<std::int64_t> version() const noexcept;
    [[nodiscard]] const policy_set& policies() const noexcept;
    /// Returns nullptr if there is no such policy. Valid as long as a copy of the document.
    [[nodiscard]] const keyed_policy* find(std::string_view name) const noexcept;
    /// Returns the routes in the order of the document, of which none is hidden by an earlier one.
    [[nodiscard]] const http::route_table& routes() const noexcept;
    /// Returns the policies of a route in the order of the document; empty if it limits nothing.
    /// All of them must allow a request: if there are several, they can be checked with one
    /// `allow_all`.
    /// @param route an index of `routes()`
    [[nodiscard]] std::span<const keyed_policy> policies_of(std::size_t route) const noexcept;
    [[nodiscard]] const http::trusted_proxies& trusted_proxies() const noexcept;
    [[nodiscard]] address_prefixes prefixes() const noexcept;

    /// Returns whether they have equal content, the version included, however they were written.
    friend bool operator==(const policy_document& a, const policy_document& b);

  private:
    friend struct detail::access;

    explicit policy_document(std::shared_ptr<const detail::document_data> data) noexcept
        : data_(std::move(data)) {}

    std::shared_ptr<const detail::document_data> data_;
};

/// Parses a document:
///
///     {"version": 7,
///      "trusted_proxies": ["10.0.0.0/8", "::1"],
///      "proxy_field": "X-Forwarded-For",
///      "ipv6_prefix": 64,
///      "policies": {
///        "api": "100/s; 5000/h named hour",
///        "login": {"rules": "5/m burst 10", "key": "ip+route", "prevent_duplicate": "5s"}
///      },
///      "routes": [
///        {"path": "/health", "policies": []},
///        {"path": "/login", "methods": ["POST"], "policies": ["login", "api"]},
///        {"path": "/*", "policy": "api"}
///      ]}
///
/// `policies` are those of `parse_policies`, and may have `key`, a text of `http::key_template`
/// (default: `ip`). The other fields are optional:
///
/// | field | meaning |
/// |---|---|
/// | `version` | a whole number from 1, which counts changes; of a file it may be lower again |
/// | `trusted_proxies` | their number or networks, see `http::trusted_proxies` (default: none) |
/// | `proxy_field` | `X-Forwarded-For` or `Forwarded`: the one that they write (default: either) |
/// | `ipv6_prefix` | the bits of an IPv6 address that identify a client, 1 to 128 (default: 64) |
/// | `routes` | which requests are limited, see below (default: none) |
///
/// A route has a `path` and, optionally, up to `limits::max_route_methods` `methods`, see
/// `http::route`; and either `policy` with the
/// name of one, or `policies` with an array of up to `limits::max_route_policies`, which may be
/// empty. The first route that matches a request counts, and a request that none matches is not
/// limited. It is an error if earlier routes together match every request that a later one matches.
/// A policy with `storage::shared_hash` must be alone, as `allow_all` does not support it, and one
/// with a `concurrent` or `distinct` rule cannot be used on a route, which neither holds slots nor
/// names members. So every request that a route matches can be decided.
///
/// A JSON schema for editors is `share/colimit/policies.schema.json`: name it in `$schema`, which
/// is ignored here.
///
/// @throws colimit::error with `errc::invalid_policy` and the position in the document, as
/// `parse_policies` does: `routes[2].policy: no such policy (got 'logn', expected one of api,
/// login)`
[[nodiscard]] policy_document parse_policy_document(std::string_view document);

} // namespace colimit
