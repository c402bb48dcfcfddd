// SPDX-License-Identifier: BSL-1.0
//
// The names of problems, which are part of the output for programs.

#include <tool/lint/findings.hpp>

namespace tool::lint {

std::string_view to_string(problem p) noexcept {
    switch (p) {
    case problem::invalid_document:
        return "invalid_document";
    case problem::unreachable_rule:
        return "unreachable_rule";
    case problem::daily_quota_in_a_second:
        return "daily_quota_in_a_second";
    case problem::slow_recovery:
        return "slow_recovery";
    case problem::day_bucket:
        return "day_bucket";
    case problem::unknown_offset:
        return "unknown_offset";
    case problem::boundless_rule:
        return "boundless_rule";
    case problem::no_policies:
        return "no_policies";
    case problem::no_routes:
        return "no_routes";
    case problem::unused_policy:
        return "unused_policy";
    case problem::foreign_path:
        return "foreign_path";
    case problem::odd_path:
        return "odd_path";
    case problem::final_slash:
        return "final_slash";
    case problem::unknown_method:
        return "unknown_method";
    case problem::head_without_get:
        return "head_without_get";
    case problem::only_shadow:
        return "only_shadow";
    case problem::unused_key:
        return "unused_key";
    case problem::no_effect:
        return "no_effect";
    case problem::wide_proxies:
        return "wide_proxies";
    case problem::one_address:
        return "one_address";
    case problem::wide_prefix:
        return "wide_prefix";
    case problem::no_last_route:
        return "no_last_route";
    case problem::open_route:
        return "open_route";
    case problem::different_tags:
        return "different_tags";
    case problem::invented_key:
        return "invented_key";
    case problem::no_proxy_field:
        break;
    }
    return "no_proxy_field";
}

} // namespace tool::lint
