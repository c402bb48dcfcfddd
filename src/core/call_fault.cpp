// SPDX-License-Identifier: BSL-1.0
//
// The texts of faults, and the category objects: one per fault, or per fault, rule and kind.

#include <base/error_category.hpp>
#include <colimit/limits.hpp>
#include <core/algorithms.hpp>
#include <core/call_fault.hpp>
#include <core/rule_kind.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

namespace colimit::detail {
namespace {

using core::kind_count;
constexpr auto algorithm_count = core::algorithms.size();

/// The text of a fault: `problem`, with the rule for %, and `expected`, with the number `limit` for
/// %.
struct fault_text {
    fault of;
    std::string_view problem;
    std::string_view expected;
    std::int64_t limit = 0;
};

constexpr std::string_view used_id_expects = "the arguments of that call, or a new id";

constexpr fault_text texts[] = {
    {fault::none, "no fault", "none"},
    {fault::cost, "cost: out of range", "0 to %", limits::max_exact_integer},
    {fault::duration, "duration: out of range", "a whole number of microseconds, 0 to 100 years"},
    {fault::at_least, "at_least: out of range", "0 to the cost"},
    {fault::max_wait, "max_wait: out of range", "0 to 366 days"},
    {fault::packed, "policy: block keeps state for longer than packed storage does",
     "a policy without storage::shared_hash"},
    {fault::member_missing, "member: missing, and the policy has a distinct rule",
     "check_options::member"},
    {fault::member_size, "member: too long", "at most % bytes", limits::max_key_bytes},
    {fault::time, "now: out of range", "1970 to 2112"},
    {fault::request_size, "request: wrong length", "1 to % bytes", limits::max_request_bytes},
    {fault::request_verb, "request: this verb takes no id", "allow, charge or refund"},
    {fault::request_checks, "request: a check of allow_all takes no id",
     "allow_many, or checks without an id"},
    {fault::request_members, "request: charge_members takes no id",
     "a charge with its own id for each member"},
    {fault::request_bare_keys, "request: calls under the policy CL.THROTTLE are not remembered",
     "another policy"},
    {fault::other_verb, "request: the id was used for another verb", used_id_expects},
    {fault::other_cost, "request: the id was used for another cost", used_id_expects},
    {fault::other_at_least, "request: the id was used for another at_least", used_id_expects},
    {fault::other_member, "request: the id was used for another member", used_id_expects},
    {fault::other_policy, "request: the id was used for another version of the policy",
     used_id_expects},
    {fault::request_room, "request: no room to remember one more id",
     "fewer ids within request_ttl, or a store of more states"},
    {fault::slots_verb, "policy: a policy with concurrent is used with acquire",
     "acquire, peek, reset or block"},
    {fault::slots_policy, "policy: acquire needs slots to take", "a policy with a concurrent rule"},
    {fault::holder_room, "acquire: no room to remember one more holder",
     "fewer keys, or a store of more states"},
    {fault::count_policy, "policy: nothing to count", "a policy with a distinct rule"},
    {fault::count_rule, "rule: not a distinct rule of the policy",
     "the name of a distinct rule, or none for the first one"},
    {fault::filter_count, "filter: one more than this store keeps",
     "at most % filters that know ids", limits::max_local_filters},
    {fault::checks_count, "checks: wrong number", "1 to %", limits::max_checks},
    {fault::checks_packed, "checks: allow_all cannot use packed storage",
     "policies without storage::shared_hash"},
    {fault::checks_time, "checks: several values of now", "one for all checks"},
    {fault::checks_same_state, "checks: two are for one key under one policy",
     "one check per key and policy"},
    {fault::checks_slots, "checks: the keys are in several hash slots of a cluster",
     "keys with a common tag: scoped_key::tagged"},
    {fault::bare_keys, "policy: CL.THROTTLE has keys in any hash slot of a cluster",
     "another policy, or the commands COLIMIT.ALLOW and CL.THROTTLE"},
    {fault::multi_verb, "execution_mode::multi: this verb needs a script",
     "allow, peek, charge, refund, reset, wait or allow_many"},
    {fault::multi_together, "execution_mode::multi: allow_all needs a script", "allow_many"},
    {fault::multi_request, "execution_mode::multi: a call with an id needs a script",
     "a call without an id"},
    {fault::multi_rule, "execution_mode::multi: %, needs a script",
     "sliding_log and fixed_window rules only"},
    {fault::multi_period, "execution_mode::multi: the period of %, is counted by the server",
     "whole milliseconds"},
    {fault::multi_cooldown, "execution_mode::multi: prevent_duplicate needs a script",
     "sliding_log and fixed_window rules only"},
    {fault::multi_no_rules, "execution_mode::multi: the policy or filter has no rules",
     "sliding_log or fixed_window rules"},
    {fault::multi_packed, "execution_mode::multi: packed storage needs a script",
     "a policy without storage::shared_hash"},
    {fault::multi_cost, "cost: too many events for execution_mode::multi", "0 to %",
     limits::max_log_events},
    {fault::multi_partial,
     "at_least: a policy with count_denied makes no partial grants in execution_mode::multi",
     "the cost"},
    {fault::multi_refund,
     "refund: execution_mode::multi cannot return tokens to a policy with a fixed_window",
     "sliding_log rules only"},
    {fault::multi_time, "now: the server's clock ends a fixed_window in execution_mode::multi",
     "no time"},
};
constexpr auto fault_count = std::size(texts);
static_assert(fault_count == static_cast<std::size_t>(fault::multi_time) + 1);
static_assert(std::ranges::all_of(texts,
                                  [](const auto& t) {
                                      return &t == &texts[static_cast<std::size_t>(t.of)];
                                  }),
              "the entries have the order of the faults");

/// Returns the text with `value` for its %, if it has one.
[[nodiscard]] std::string filled_in(std::string_view text, std::string_view value) {
    auto out = std::string{text};
    if (const auto at = out.find('%'); at != std::string::npos)
        out.replace(at, 1, value);
    return out;
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

/// Returns the objects of a fault of a rule, one per index and kind.
template<std::size_t... I>
[[nodiscard]] auto categories_of_rules(fault f, std::index_sequence<I...> /*all*/) {
    return std::array<fault_category, sizeof...(I)>{
        fault_category{f, {I / kind_count, static_cast<core::kind>(I % kind_count)}}...};
}

/// Returns the objects of multi_rule, one per index and algorithm.
template<std::size_t... I>
[[nodiscard]] auto categories_of_algorithms(std::index_sequence<I...> /*all*/) {
    return std::array<fault_category, sizeof...(I)>{
        fault_category{fault::multi_rule,
                       {I / algorithm_count, {}, static_cast<algorithm>(I % algorithm_count)}}...};
}

using all_faults = std::make_index_sequence<fault_count>;
using all_rules = std::make_index_sequence<limits::max_rules_per_policy * kind_count>;
using all_algorithms = std::make_index_sequence<limits::max_rules_per_policy * algorithm_count>;

} // namespace

errc code_of(fault f) noexcept {
    if (f == fault::request_room || f == fault::holder_room)
        return errc::server_error;
    const auto is_policy = (f >= fault::multi_rule && f <= fault::multi_packed) ||
                           f == fault::slots_verb || f == fault::slots_policy;
    return is_policy ? errc::invalid_policy : errc::invalid_argument;
}

error_code error_of(fault f, faulty_rule which) noexcept {
    BOOST_ASSERT(f != fault::none && which.index < limits::max_rules_per_policy);
    static const auto simple = categories_of_faults(all_faults{});
    static const auto of_period = categories_of_rules(fault::multi_period, all_rules{});
    static const auto in_multi = categories_of_algorithms(all_algorithms{});
    const auto value = static_cast<int>(code_of(f));
    const auto of_rule = which.index * kind_count + static_cast<std::size_t>(which.kind);
    if (f == fault::multi_period)
        return {value, of_period[of_rule]};
    if (f == fault::multi_rule)
        return {
            value,
            in_multi[which.index * algorithm_count + static_cast<std::size_t>(which.algorithm)]};
    return {value, simple[static_cast<std::size_t>(f)]};
}

std::string text_of(fault f, faulty_rule which, const std::string& got) {
    const auto& text = texts[static_cast<std::size_t>(f)];
    const auto what = f == fault::multi_rule
                          ? "a " + std::string{core::traits_of(which.algorithm).name}
                          : std::string{core::description_of(which.kind)};
    const auto rule = "rule " + std::to_string(which.index + 1) + ", " + what;
    return filled_in(text.problem, rule) + (got.empty() ? " (" : " (got " + got + ", ") +
           "expected " + filled_in(text.expected, std::to_string(text.limit)) + ")";
}

} // namespace colimit::detail
