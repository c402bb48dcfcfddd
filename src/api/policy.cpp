// SPDX-License-Identifier: BSL-1.0
//
// Policies: validated and encoded once, so that a call only reads.

#include <base/bytes.hpp>
#include <base/enumerator.hpp>
#include <colimit/error.hpp>
#include <colimit/policy.hpp>
#include <core/policy_encoding.hpp>
#include <hash/fnv1a.hpp>
#include <policy/policy_data.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit {
namespace {

void check_options(std::string_view name, const detail::policy_options& options) {
    const auto named = [name](const char* option) {
        return [name, option] { return "policy '" + std::string{name} + "': " + option; };
    };
    if (options.has_prefix)
        core::check_name(options.prefix.view(), named("the prefix")(), options.prefix.fits(),
                         errc::invalid_policy);
    check_failure_mode(named("on_failure"), options.on_failure, errc::invalid_policy);
    check_enumerator(named("stored"), options.storage, {storage::per_key, storage::shared_hash},
                     errc::invalid_policy);
}

void check_kinds(std::string_view policy, std::span<const rule> rules) {
    using enum algorithm;
    using enum calendar_unit;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const auto named = [policy, i](const char* option) {
            return [policy, i, option] {
                return (policy.empty() ? std::string{"rule: "}
                                       : "policy '" + std::string{policy} + "', rule " +
                                             std::to_string(i + 1) + ": ") +
                       option;
            };
        };
        check_enumerator(named("algorithm"), rules[i].kind(),
                         {gcra, cell, token_bucket, leaky_bucket, fixed_window, calendar,
                          sliding_window, sliding_log, distinct},
                         errc::invalid_policy);
        check_enumerator(named("calendar_unit"), rules[i].unit(), {day, week, month, year},
                         errc::invalid_policy);
    }
}

[[nodiscard]] std::shared_ptr<const detail::policy_data>
make(std::string_view name, std::span<const rule> rules,
     const detail::policy_options& options = {}) {
    core::check_name(name, "the policy's name", true, errc::invalid_policy);
    check_options(name, options);
    check_kinds(name, rules);
    auto data = std::make_shared<detail::policy_data>();
    data->name = name;
    data->rules.assign(rules.begin(), rules.end());
    data->options = options;
    data->compiled = core::compile_policy(name, rules, options);
    data->wire = core::encode_policy(data->compiled);
    data->identity = std::string{options.has_prefix ? options.prefix.view() : ""} + ":" +
                     data->name + ":" + data->wire;
    data->fingerprint = hash::fnv1a_64(data->identity);
    data->identify(std::string{data->prefix("")} + ":" + data->name);
    return data;
}

/// Returns the character of a policy name for a character of a rule's text. '+', ':' and '.' become
/// the same, but their position distinguishes them: a sign follows `utc`, a colon the hours, and a
/// '.' belongs to a name, which comes last.
[[nodiscard]] constexpr char name_character(char c) noexcept {
    switch (c) {
    case '/':
        return '-';
    case ' ':
        return '_';
    case '+':
    case ':':
        return '.';
    default:
        return c;
    }
}

/// Returns a rule's text as a policy name: `5/s burst 10` becomes `5-s_burst_10`. If that is too
/// long, its end is replaced by a digest of it, so that different rules still have different names.
[[nodiscard]] std::string name_of(const rule& r) {
    auto text = to_string(r);
    std::ranges::transform(text, text.begin(), name_character);
    if (text.size() <= limits::max_name_length)
        return text;
    const auto digest = detail::hex_of<16>(hash::fnv1a_64(text));
    return text.substr(0, limits::max_name_length - 17) + "." +
           std::string{digest.rbegin(), digest.rend()};
}

} // namespace

policy::policy(std::string_view name, std::span<const rule> rules) : data_(make(name, rules)) {}

policy::policy(const rule& single) {
    // The rule is validated first: the text of an invalid rule is not a valid name.
    check_kinds("", std::span{&single, 1});
    (void)core::compile_policy("", std::span{&single, 1});
    data_ = make(name_of(single), std::span{&single, 1});
}

policy policy::with(const detail::policy_options& options) const {
    auto changed = *this;
    changed.data_ = make(name(), rules(), options);
    return changed;
}

const detail::policy_options& policy::options() const noexcept {
    return data_->options;
}

std::string_view policy::name() const noexcept {
    return data_->name;
}

std::span<const rule> policy::rules() const noexcept {
    return data_->rules;
}

bool operator==(const policy& a, const policy& b) noexcept {
    const auto& x = a.options();
    const auto& y = b.options();
    return a.name() == b.name() && std::ranges::equal(a.rules(), b.rules()) &&
           x.prevent_duplicate == y.prevent_duplicate && x.shadow == y.shadow &&
           x.has_failure_mode == y.has_failure_mode && x.on_failure == y.on_failure &&
           x.storage == y.storage && x.has_prefix == y.has_prefix &&
           x.prefix.view() == y.prefix.view();
}

} // namespace colimit
