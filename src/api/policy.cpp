// SPDX-License-Identifier: BSL-1.0
//
// Policies: validated and encoded once, so that a call only reads. The names of failure modes and
// storage layouts are those of JSON documents.

#include <base/enumerator.hpp>
#include <colimit/policy.hpp>
#include <colimit/storage.hpp>
#include <policy/make_policy.hpp>

#include <algorithm>

namespace colimit {

std::string_view to_string(failure_mode m) noexcept {
    return name_of(m, {"local", "allow", "deny", "error"});
}

std::string_view to_string(storage s) noexcept {
    return name_of(s, {"per_key", "shared_hash"});
}

policy::policy(std::string_view name, std::span<const rule> rules)
    : data_(detail::make_policy(name, rules)) {}

policy policy::with(const detail::policy_options& options) const {
    auto changed = *this;
    changed.data_ = detail::make_policy(name(), rules(), options);
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
           x.prefix.view() == y.prefix.view() && x.has_leases == y.has_leases &&
           x.leases == y.leases;
}

} // namespace colimit
