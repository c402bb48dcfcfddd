// SPDX-License-Identifier: BSL-1.0
//
// Looks up names.

#include "catalogue.hpp"

#include <redis/protocol/hash_slot.hpp>
#include <redis/protocol/key.hpp>
#include <support/usual_tags.hpp>

#include <algorithm>
#include <utility>

namespace colimit::simulation {
/// Every other key has the tag of the first one, so that on a cluster they share batches.
catalogue::catalogue(std::vector<policy> policies, std::size_t keys, std::string_view prefix)
    : policies_(std::move(policies)) {
    for (std::size_t k = 0; keys_.size() < keys; ++k) {
        auto key = "key-" + std::to_string(k);
        if (keys_.size() % 2 == 0 || test::tag_of(key) == test::tag_of(keys_.front()))
            keys_.push_back(std::move(key));
    }
    for (std::size_t p = 0; p < policies_.size(); ++p)
        for (std::size_t k = 0; k < keys; ++k) {
            auto name = std::string{};
            (void)redis::append_key(name, prefix, policies_[p].name(), keys_[k]);
            index_[name] = states_.size();
            const auto slot = static_cast<std::uint16_t>(redis::hash_slot(name));
            states_.push_back({p, k, slot, std::move(name)});
        }
}

std::vector<limit> catalogue::limits() const {
    auto all = std::vector<limit>{};
    for (const auto& p : policies_) {
        const auto& r = p[0];
        all.push_back({.capacity = r.capacity(),
                       .period = r.period().count(),
                       .is_window = r.kind() == algorithm::fixed_window});
    }
    return all;
}

std::optional<std::size_t> catalogue::find(std::string_view name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? std::nullopt : std::optional{found->second};
}

std::size_t catalogue::state_of(std::string_view name) const {
    if (const auto found = find(name))
        return *found;
    throw violation{"a command has an unknown key: " + std::string{name}};
}

std::vector<const detail::policy_data*> catalogue::policies_in(std::string_view wire) const {
    auto found = std::vector<const detail::policy_data*>{};
    while (!wire.empty()) {
        const auto next = std::ranges::find_if(policies_, [wire](const policy& p) {
            return wire.starts_with(detail::access::data(p)->wire);
        });
        if (next == policies_.end())
            throw violation{"a command has an unknown policy"};
        found.push_back(detail::access::data(*next).get());
        wire.remove_prefix(found.back()->wire.size());
    }
    return found;
}

} // namespace colimit::simulation
