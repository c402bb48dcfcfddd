// SPDX-License-Identifier: BSL-1.0
//
// The texts of faults, and a category object for each fault of each rule.

#include <base/error_category.hpp>
#include <colimit/limits.hpp>
#include <core/call_fault.hpp>
#include <core/rule_kind.hpp>

#include <boost/assert.hpp>

#include <array>
#include <string_view>
#include <utility>

namespace colimit::detail {
namespace {

constexpr std::size_t fault_count = static_cast<std::size_t>(fault::multi_partial) + 1;
using core::kind_count;

struct words {
    std::string problem;
    std::string expected;
};

[[nodiscard]] words words_of(fault f, const std::string& rule) {
    const auto to = [](std::int64_t most) { return "0 to " + std::to_string(most); };
    switch (f) {
    case fault::cost:
        return {"cost: out of range", to(limits::max_exact_integer)};
    case fault::duration:
        return {"duration: out of range", "a whole number of microseconds, 0 to 100 years"};
    case fault::at_least:
        return {"at_least: out of range", "0 to the cost"};
    case fault::max_wait:
        return {"max_wait: out of range", "0 to 366 days"};
    case fault::packed:
        return {"policy: block and wait keep state for longer than packed storage does",
                "a policy without storage::shared_hash"};
    case fault::not_reservable:
        return {"policy: wait cannot reserve from " + rule,
                "continuous buckets: gcra, cell, token_bucket, leaky_bucket"};
    case fault::member_missing:
        return {"member: missing, and the policy has a distinct rule", "check_options::member"};
    case fault::member_size:
        return {"member: too long", "at most " + std::to_string(limits::max_key_bytes) + " bytes"};
    case fault::time:
        return {"now: out of range", "1970 to 2112"};
    case fault::checks_count:
        return {"checks: wrong number", "1 to " + std::to_string(limits::max_checks)};
    case fault::checks_packed:
        return {"checks: allow_all cannot use packed storage",
                "policies without storage::shared_hash"};
    case fault::checks_time:
        return {"checks: several values of now", "one for all checks"};
    case fault::checks_same_state:
        return {"checks: two are for one key under one policy", "one check per key and policy"};
    case fault::checks_slots:
        return {"checks: the keys are in several hash slots of a cluster", "keys in one slot"};
    case fault::multi_verb:
        return {"execution_mode::multi: this verb needs a script",
                "allow, peek, charge, refund, reset or allow_many"};
    case fault::multi_together:
        return {"execution_mode::multi: allow_all needs a script", "allow_many"};
    case fault::multi_rule:
        return {"execution_mode::multi: " + rule + " needs a script", "sliding_log rules only"};
    case fault::multi_cooldown:
        return {"execution_mode::multi: prevent_duplicate needs a script",
                "sliding_log rules only"};
    case fault::multi_no_rules:
        return {"execution_mode::multi: the policy or filter has no rules", "sliding_log rules"};
    case fault::multi_cost:
        return {"cost: too many events for execution_mode::multi", to(limits::max_log_events)};
    case fault::multi_partial:
        return {"at_least: a policy with count_denied makes no partial grants in "
                "execution_mode::multi",
                "the cost"};
    case fault::none:
        break;
    }
    return {"no fault", "none"};
}

[[nodiscard]] constexpr errc code_of(fault f) noexcept {
    return f == fault::multi_rule || f == fault::multi_cooldown || f == fault::multi_no_rules
               ? errc::invalid_policy
               : errc::invalid_argument;
}

class fault_category final : public code_category {
  public:
    constexpr fault_category() noexcept = default;
    constexpr fault_category(fault f, faulty_rule which) noexcept : fault_(f), rule_(which) {}

    [[nodiscard]] std::string message(int value) const override {
        return value == static_cast<int>(code_of(fault_)) ? text_of(fault_, rule_)
                                                          : code_category::message(value);
    }

  private:
    fault fault_ = fault::none;
    faulty_rule rule_;
};

template<std::size_t... I>
[[nodiscard]] auto categories_of_faults(std::index_sequence<I...> /*all*/) {
    return std::array<fault_category, sizeof...(I)>{fault_category{static_cast<fault>(I), {}}...};
}

/// For a fault of a rule: one object per index and kind.
template<std::size_t... I>
[[nodiscard]] auto categories_of_rules(fault f, std::index_sequence<I...> /*all*/) {
    return std::array<fault_category, sizeof...(I)>{
        fault_category{f, {I / kind_count, static_cast<core::kind>(I % kind_count)}}...};
}

using all_faults = std::make_index_sequence<fault_count>;
using all_rules = std::make_index_sequence<limits::max_rules_per_policy * kind_count>;

} // namespace

error_code error_of(fault f, faulty_rule which) noexcept {
    BOOST_ASSERT(f != fault::none && which.index < limits::max_rules_per_policy);
    static const auto simple = categories_of_faults(all_faults{});
    static const auto reserving = categories_of_rules(fault::not_reservable, all_rules{});
    static const auto in_multi = categories_of_rules(fault::multi_rule, all_rules{});
    const auto value = static_cast<int>(code_of(f));
    const auto of_rule = which.index * kind_count + static_cast<std::size_t>(which.kind);
    if (f == fault::not_reservable)
        return {value, reserving[of_rule]};
    if (f == fault::multi_rule)
        return {value, in_multi[of_rule]};
    return {value, simple[static_cast<std::size_t>(f)]};
}

std::string text_of(fault f, faulty_rule which, const std::string& got) {
    const auto rule = "rule " + std::to_string(which.index + 1) + ", " +
                      std::string{core::description_of(which.kind)};
    const auto said = words_of(f, rule);
    return said.problem + (got.empty() ? " (" : " (got " + got + ", ") + "expected " +
           said.expected + ")";
}

} // namespace colimit::detail
