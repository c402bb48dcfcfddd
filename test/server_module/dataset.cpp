// SPDX-License-Identifier: BSL-1.0
//
// Reads values of each type, and compares them.

#include <server_module/dataset.hpp>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace colimit::test {
namespace {

/// A machine under load may take this long from the last command to the end of a comparison.
constexpr std::int64_t soon_ms = 60'000;

/// Returns the texts of a reply; with `sorted`, groups of `size` texts by their first one.
[[nodiscard]] std::string joined(const reply& r, std::size_t size = 0) {
    auto groups = std::vector<std::string>{};
    for (std::size_t i = 0; i < r.elements.size(); ++i) {
        if (size == 0 || i % size == 0)
            groups.emplace_back();
        const auto& text = r.elements[i].text;
        groups.back() += std::to_string(text.size()) + ':' + text;
    }
    if (size != 0)
        std::ranges::sort(groups);
    auto all = std::string{};
    for (const auto& g : groups)
        all += g;
    return all;
}

[[nodiscard]] std::string value_of(raw_client& server, const std::string& key) {
    const auto type = server.must({"TYPE", key}).text;
    if (type == "string")
        return type + ' ' + server.must({"GET", key}).text;
    if (type == "hash")
        return type + ' ' + joined(server.must({"HGETALL", key}), 2);
    if (type == "set")
        return type + ' ' + joined(server.must({"SMEMBERS", key}), 1);
    if (type == "zset")
        return type + ' ' + joined(server.must({"ZRANGE", key, "0", "-1", "WITHSCORES"}));
    if (type == "list")
        return type + ' ' + joined(server.must({"LRANGE", key, "0", "-1"}));
    return type;
}

} // namespace

dataset read_dataset(raw_client& server) {
    auto all = dataset{};
    for (const auto& key : server.keys())
        all[key] = {value_of(server, key), server.must({"PEXPIRETIME", key}).integer};
    return all;
}

std::size_t require_equal(const dataset& expected, const dataset& found, std::int64_t now,
                          std::string_view where) {
    auto compared = std::size_t{0};
    const auto differ = [where](const std::string& key, const std::string& what) {
        throw std::runtime_error{std::string{where} + ": the key " + key + " " + what};
    };
    const auto stays = [now](const stored_key& k) { return k.expires > now + soon_ms; };
    for (const auto& [key, k] : expected) {
        const auto other = found.find(key);
        if (other == found.end()) {
            if (stays(k))
                differ(key, "is missing");
        } else if (stays(k) || stays(other->second)) {
            ++compared;
            if (k.expires != other->second.expires)
                differ(key, "expires at another time");
            if (k.value != other->second.value)
                differ(key, "has another value");
        }
    }
    for (const auto& [key, k] : found)
        if (stays(k) && !expected.contains(key))
            differ(key, "should not be there");
    return compared;
}

} // namespace colimit::test
