// SPDX-License-Identifier: BSL-1.0
//
// Sessions of HOTKEYS.

#include <tool/top/hot_keys.hpp>

namespace tool {
namespace {

constexpr auto most_keys = "64"; // more are refused

} // namespace

std::vector<std::string> names_in(const reply& hot_keys) {
    std::vector<std::string> names;
    const auto* fields = &hot_keys.elements;
    if (fields->size() == 1 && !fields->front().elements.empty()) // one report per node
        fields = &fields->front().elements;
    for (std::size_t i = 0; i + 1 < fields->size(); i += 2) {
        if (!(*fields)[i].text.starts_with("by-cpu-time"))
            continue;
        const auto& pairs = (*fields)[i + 1].elements;
        for (std::size_t k = 0; k + 1 < pairs.size(); k += 2)
            names.push_back(pairs[k].text);
    }
    return names;
}

void hot_keys::start(std::chrono::seconds length) {
    is_started_ = true;
    for (std::size_t i = 0; i < servers_.count(); ++i)
        if (is_used_[i])
            is_used_[i] =
                !servers_
                     .ask_to_end(i, {{"HOTKEYS", "START", "METRICS", "1", "CPU", "COUNT", most_keys,
                                      "DURATION", std::to_string(length.count())}})
                     .front()
                     .is_error();
}

std::vector<std::string> hot_keys::stop() {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < servers_.count() && is_started_; ++i) {
        if (!is_used_[i])
            continue;
        const auto replies =
            servers_.ask_to_end(i, {{"HOTKEYS", "STOP"}, {"HOTKEYS", "GET"}, {"HOTKEYS", "RESET"}});
        for (auto& name : names_in(replies[1]))
            names.push_back(std::move(name));
    }
    is_started_ = false;
    return names;
}

} // namespace tool
