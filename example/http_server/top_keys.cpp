// SPDX-License-Identifier: BSL-1.0
//
// A linear search: 128 short texts are compared in a microsecond.

#include "top_keys.hpp"

#include <algorithm>

namespace http_server {

void top_keys::add(std::string_view policy, std::string_view key, clock::time_point now) {
    auto& found = place_for(policy, key.substr(0, max_bytes), now);
    ++found.count;
    found.last = now;
}

top_keys::entry& top_keys::place_for(std::string_view policy, std::string_view key,
                                     clock::time_point now) {
    const auto same = std::ranges::find_if(
        entries_, [&](const entry& e) { return e.key == key && e.policy == policy; });
    if (same != entries_.end())
        return *same;
    const auto is_old = [&](const entry& e) { return now - e.last > memory; };
    const auto old = std::ranges::find_if(entries_, is_old);
    if (old != entries_.end())
        return *old = entry{std::string{policy}, std::string{key}, 0, 0, now};
    if (entries_.size() < size)
        return entries_.emplace_back(entry{std::string{policy}, std::string{key}, 0, 0, now});
    auto& least = *std::ranges::min_element(entries_, {}, &entry::count);
    return least = entry{std::string{policy}, std::string{key}, least.count, least.count, now};
}

std::vector<top_keys::entry> top_keys::most(std::size_t n, clock::time_point now) const {
    std::vector<entry> found;
    std::ranges::copy_if(entries_, std::back_inserter(found),
                         [&](const entry& e) { return now - e.last <= memory; });
    std::ranges::sort(found, [](const entry& a, const entry& b) {
        return a.denials() != b.denials() ? a.denials() > b.denials() : a.key < b.key;
    });
    found.resize(std::min(n, found.size()));
    return found;
}

} // namespace http_server
