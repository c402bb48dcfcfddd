// SPDX-License-Identifier: BSL-1.0
//
// What is wrong with a document of policies: the error that makes it invalid, or warnings about
// limits that hardly mean what they say.

#pragma once

#include <colimit/policy.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tool::lint {

/// The warnings, and the error. Their names are part of the output for programs.
enum class problem : unsigned char {
    /// The document is not valid, and has no other finding.
    invalid_document,
    /// Another rule denies every call first that this one would deny: one of the policy, or of a
    /// policy that is on all of its routes.
    unreachable_rule,
    /// A full bucket has at least the tokens that return in a day, and no other rule keeps a client
    /// from taking them within a second.
    daily_quota_in_a_second,
    /// An empty bucket takes two days or longer to be full.
    slow_recovery,
    /// A bucket per day, week, month or year: hardly the quota of a calendar day that it looks
    /// like.
    day_bucket,
    /// A rule grants more tokens per second than any traffic has.
    boundless_rule,
    /// The days of a calendar begin where no time zone has its midnight.
    unknown_offset,
    /// The document has no policies.
    no_policies,
    /// The document has an empty list of routes.
    no_routes,
    /// There are routes, and none has the policy.
    unused_policy,
    /// A segment of a path is written as parameters or patterns of another router are.
    foreign_path,
    /// A path has blanks or control characters that are not encoded, so hardly any request has it.
    odd_path,
    /// A path ends with a slash, which means no more here.
    final_slash,
    /// A method is not a registered one.
    unknown_method,
    /// A route has the method HEAD without GET, which answers the same.
    head_without_get,
    /// No policy denies anything, as all are in shadow mode.
    only_shadow,
    /// A policy has a key, and the document has no routes, which alone use it.
    unused_key,
    /// A field has a value that switches it off, or is about addresses, which no limit reads.
    no_effect,
    /// Requests that no route matches are not limited.
    no_last_route,
    /// A route limits nothing and has a path without a text, before one that would limit.
    open_route,
    /// The keys of a route's policies have different tags, or some have one and others none.
    different_tags,
    /// Every policy of a route has a key that a client can choose.
    invented_key,
    /// There are trusted proxies, and not the field that they write.
    no_proxy_field,
    /// A trusted proxy may be in a large part of all networks.
    wide_proxies,
    /// A network of trusted proxies lacks its prefix length, so it is one address.
    one_address,
    /// All clients of an IPv6 provider have one key.
    wide_prefix,
};

[[nodiscard]] std::string_view to_string(problem p) noexcept;

struct finding {
    lint::problem problem;
    std::string path; ///< `policies.login`, or the position of an error: `JSON, line 3, column 5`
    std::string message;

    friend bool operator==(const finding&, const finding&) = default;
};

/// Returns `rule 2 (5000/h named hour)`.
[[nodiscard]] std::string rule_text(const colimit::policy& p, std::size_t i);

/// Returns the findings about a document for `parse_policy_document`, in the order of the names of
/// policies and then that of rules, then that of routes; empty if there are none.
[[nodiscard]] std::vector<finding> findings_of(std::string_view document);

} // namespace tool::lint
