// SPDX-License-Identifier: BSL-1.0
//
// Forms of names.

#include <colimit/detail/access.hpp>
#include <core/rule_kind.hpp>
#include <policy/policy_data.hpp>
#include <redis/protocol/key.hpp>
#include <tool/stored/key_name.hpp>

#include <utility>

namespace tool {
namespace {

namespace redis = colimit::redis;

/// Removes a beginning; returns whether it was there.
[[nodiscard]] bool take(std::string_view& text, std::string_view beginning) noexcept {
    if (!text.starts_with(beginning))
        return false;
    text.remove_prefix(beginning.size());
    return true;
}

/// Removes the text up to a character, and the character; returns nullopt if it does not occur.
[[nodiscard]] std::optional<std::string_view> take_until(std::string_view& text, char end) {
    const auto at = text.find(end);
    if (at == std::string_view::npos)
        return std::nullopt;
    const auto part = text.substr(0, at);
    text.remove_prefix(at + 1);
    return part;
}

/// Reads `k:bytes` or `h:digest`.
[[nodiscard]] bool take_field(std::string_view text, key_name& into) {
    into.is_digest = text.starts_with("h:");
    if (!take(text, "k:") && !take(text, "h:"))
        return false;
    into.key = text;
    return true;
}

/// Removes the family of a sketch or of a filter's block, which has a fixed size.
[[nodiscard]] bool take_family(std::string_view& text, char first, std::size_t size) noexcept {
    if (text.size() <= size || text.front() != first)
        return false;
    text.remove_prefix(size);
    return true;
}

/// Reads the part after the policy.
[[nodiscard]] bool read_rest(std::string_view rest, key_name& into) {
    if (rest == "new" || rest == "old") {
        into.holds = holding::shard;
        return true;
    }
    if (take_field(rest, into))
        return true;
    if (take(rest, redis::window_family) || take(rest, redis::aside_family)) {
        into.holds = holding::window;
        const auto rule = take_until(rest, ':');
        into.rule = rule.value_or("");
        return rule && take_field(rest, into);
    }
    constexpr auto sketch_size = std::size_t{9}; // d1a2b3c4d
    constexpr auto bits_size = std::size_t{10};  // b01a2b3c4d
    if (take(rest, redis::log_family))
        into.holds = holding::log;
    else if (take(rest, redis::transaction_family))
        into.holds = holding::transaction;
    else if (take(rest, redis::slots_family))
        into.holds = holding::holders;
    else if (take_family(rest, 'd', sketch_size))
        into.holds = holding::sketch;
    else if (take_family(rest, 'b', bits_size))
        into.holds = holding::bits;
    else
        return false;
    return take_field(rest, into);
}

} // namespace

std::string_view to_string(holding h) noexcept {
    switch (h) {
    case holding::value:
        return "state";
    case holding::log:
        return "log";
    case holding::transaction:
        return "log in transactions";
    case holding::window:
        return "window in transactions";
    case holding::holders:
        return "holders";
    case holding::sketch:
        return "distinct members";
    case holding::bits:
        return "Bloom filter";
    case holding::shard:
        return "packed state";
    }
    return "";
}

std::optional<key_name> read_key_name(std::string_view name, std::string_view prefix) {
    if (!take(name, prefix) || !take(name, ":{") || !take_until(name, '}') || !take(name, ":"))
        return std::nullopt;
    const auto policy = take_until(name, ':');
    key_name found;
    if (!policy || !read_rest(name, found))
        return std::nullopt;
    found.policy = *policy;
    return found;
}

std::vector<place> places_of(const colimit::policy& p, std::string_view key,
                             std::string_view prefix, const redis::key_tags& tags, bool is_multi) {
    const auto& data = *colimit::detail::access::data(p);
    prefix = data.prefix(prefix);
    std::vector<place> places;
    if (data.compiled.has_bare_keys)
        return {{holding::value, std::string{key}, {}}};
    if (data.compiled.packed) {
        std::string shard;
        redis::append_shard(shard, prefix, data.name, tags.shard_of(tags.of(key)), tags);
        std::string field;
        redis::append_field(field, key);
        return {{holding::shard, shard + "new", field}, {holding::shard, shard + "old", field}};
    }
    const auto add = [&](holding what, std::string_view family) {
        std::string name;
        const auto at = redis::append_key(name, prefix, data.name, key, tags);
        places.push_back({what, name.insert(at, family), {}});
    };
    if (!is_multi)
        add(holding::value, "");
    if (data.compiled.has_log)
        add(is_multi ? holding::transaction : holding::log,
            is_multi ? redis::transaction_family : redis::log_family);
    if (data.compiled.has_slots)
        add(holding::holders, redis::slots_family);
    for (std::size_t i = 0; i < data.compiled.size; ++i) {
        const auto& l = data.compiled.limits[i];
        if (colimit::core::has_sketch(l)) {
            const auto family = redis::sketch_family(l.tag);
            add(holding::sketch, {family.data(), family.size()});
        } else if (is_multi && !colimit::core::is_log(l)) {
            add(holding::window,
                std::string{redis::window_family} + std::string{p[i].name()} + ":");
        }
    }
    return places;
}

std::string literal_pattern(std::string_view text) {
    std::string pattern;
    for (const auto c : text) {
        if (std::string_view{"*?[]\\^"}.find(c) != std::string_view::npos)
            pattern += '\\';
        pattern += c;
    }
    return pattern;
}

} // namespace tool
