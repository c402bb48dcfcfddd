// SPDX-License-Identifier: BSL-1.0
//
// Decisions in the form of HTTP: header fields, a status code and a problem body. Nothing here
// depends on an HTTP library.
//
// Header fields of rate limits are not standardised yet, and the names of their parameters have
// changed with each draft. So the functions for them are in a namespace with the draft's number: a
// later draft gets another namespace, and programs change when their authors decide to.

#pragma once

#include <colimit/decision.hpp>
#include <colimit/policy.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::http {

/// A header field. The value contains neither line breaks nor other control characters.
struct field {
    std::string_view name;
    std::string value;

    friend bool operator==(const field&, const field&) = default;
};

/// Which header fields are made.
struct field_options {
    /// Whether to add the older fields `X-RateLimit-Limit`, `X-RateLimit-Remaining` and
    /// `X-RateLimit-Reset`: the numbers of the limiting rule, the last one the seconds until it has
    /// fully recovered, rounded up. For a block, and for what `prevent_duplicate` denies, the limit
    /// is 0. Left out if all rules shadow, or if no store has made the decision.
    bool x_ratelimit = false;
    /// A text before the name of each item, up to `limits::max_name_length` letters, digits, dots,
    /// hyphens, underscores and slashes: for a response about several policies whose rules have
    /// equal names.
    std::string_view prefix{};
};

/// Returns the status code for a decision: 200 if it is allowed, 429 if a rule, a duplicate or a
/// block denied it, and 503 if no store could decide (`decision_source::fail_closed`).
[[nodiscard]] unsigned status_of(const decision& d) noexcept;

/// Returns the value of `Retry-After`: whole seconds, at least 1 and rounded up, so that the call
/// is allowed by then unless others charge the key. nullopt if the call is allowed, and if it is
/// denied forever.
[[nodiscard]] std::optional<std::int64_t> retry_after(const decision& d) noexcept;

/// Returns the body of a denied response, of the type `problem_type`: an RFC 9457 problem with
/// type, title, status and `violated-policies`, the names of the rules that denied. The type is
/// `quota-exceeded`, or for a decision with status 503 `temporary-reduced-capacity`, or for a block
/// `abnormal-usage-detected`, all as the draft below registers them. If the call is allowed, the
/// body is empty.
/// @param prefix as `field_options::prefix`
/// @pre the decision was made under the policy
[[nodiscard]] std::string problem_body(const policy& p, const decision& d,
                                       std::string_view prefix = {});

inline constexpr std::string_view problem_type = "application/problem+json";

/// draft-ietf-httpapi-ratelimit-headers-11.
///
/// An item is named as its rule, which a rule without a name is after its algorithm. Rules that
/// only shadow are left out. `policy::prevent_duplicate` is an item of that name with a quota of 1.
/// Numbers above 999,999,999,999,999, the largest integer of structured fields (RFC 9651), are
/// replaced by it.
///
/// A client that trusts the fields is never denied, unless others charge the same key, calls have
/// another cost than 1, or the store that decides changes as the server fails or returns: neither
/// if it sends `r` requests at once and then waits for `t` seconds, nor if it spreads `q` requests
/// evenly over `w` seconds. (Rules with `initially` start with less, and with
/// `config::local_fraction` the local store has smaller limits than `q`. Under a window with
/// `with_leases`, what a lease holds when it ends is lost until the window ends, also for the
/// client that it was leased for.)
namespace draft_11 {

/// Returns the value of `RateLimit-Policy`: for each rule its capacity as `q`, and as `w` the
/// seconds that it takes to recover from all of it, rounded up. It is the same for all decisions,
/// so a server may keep it. Empty, and not a field, if all rules shadow.
/// @param prefix as `field_options::prefix`
[[nodiscard]] std::string policy_field(const policy& p, std::string_view prefix = {});

/// Returns the value of `RateLimit`: for each rule the remaining tokens as `r`, and as `t` the
/// seconds, rounded up, until it allows the call if it denied it, otherwise until it has fully
/// recovered. `t` is omitted if the rule has recovered, if it never allows the call, and for rules
/// that allow a call that another rule denies: so no `t` is later than `Retry-After`. After a grant
/// `prevent_duplicate` has `r=0` and as `t` its whole time, also for `peek`, which has not started
/// it. While the key is blocked, nothing remains of any rule. Empty, and not a field, if no store
/// has made the decision.
/// @param prefix as `field_options::prefix`
/// @pre the decision was made under the policy
[[nodiscard]] std::string limit_field(const policy& p, const decision& d,
                                      std::string_view prefix = {});

/// Returns the fields of a response: `RateLimit-Policy`, `RateLimit`, and for a denied call
/// `Retry-After` and `Cache-Control: no-store`, because a cache must not repeat a denial.
/// @pre the decision was made under the policy
[[nodiscard]] std::vector<field> fields(const policy& p, const decision& d,
                                        const field_options& options = {});
/// The same, for a server that has kept the result of `policy_field` for the policy and the prefix.
[[nodiscard]] std::vector<field> fields(const policy& p, std::string kept_field, const decision& d,
                                        const field_options& options = {});

} // namespace draft_11
} // namespace colimit::http
