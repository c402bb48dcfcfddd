// SPDX-License-Identifier: BSL-1.0
//
// Properties of compiled policies, and the tags of their states.

#include <core/compiled_policy.hpp>
#include <core/rule_kind.hpp>
#include <hash/fnv1a.hpp>

namespace colimit::core {
namespace {

/// Returns the largest value of a member in the policy's log rules, or 0.
[[nodiscard]] std::int64_t largest_of_logs(const compiled_policy& rules,
                                           std::int64_t compiled_rule::* member) noexcept {
    auto largest = std::int64_t{0};
    for (const auto& l : rules.rules())
        if (is_log(l))
            largest = std::max(largest, l.*member);
    return largest;
}

} // namespace

std::int64_t log_period(const compiled_policy& rules) noexcept {
    return largest_of_logs(rules, &compiled_rule::period);
}

std::int64_t log_capacity(const compiled_policy& rules) noexcept {
    return 2 * largest_of_logs(rules, &compiled_rule::capacity) + 16;
}

std::uint32_t state_tag(char family, std::string_view rule_name) noexcept {
    auto made = hash::fnv1a_begin_32;
    const auto add = [&made](char c) {
        made = hash::fnv1a_32(made, static_cast<unsigned char>(c));
    };
    add(family);
    std::ranges::for_each(rule_name, add);
    return made == 0 ? 1 : made;
}

} // namespace colimit::core
