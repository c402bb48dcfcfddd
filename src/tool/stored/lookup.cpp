// SPDX-License-Identifier: BSL-1.0
//
// Commands that only read. Two answers of one place may come from different moments, as there is no
// transaction: a place that is gone by then is left out.

#include <base/bytes.hpp>
#include <core/log_value.hpp>
#include <redis/protocol/key.hpp>
#include <tool/frame/format.hpp>
#include <tool/stored/lookup.hpp>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <utility>

namespace tool {
namespace {

namespace core = colimit::core;
namespace redis = colimit::redis;

constexpr auto keys_per_scan = "1000";      // less than a millisecond of the server
constexpr std::int64_t most_events = 5'000; ///< of a log that are read
constexpr auto holders_per_place = std::string_view{"1000"};

/// @param now of the server, in microseconds
[[nodiscard]] words content_of(const place& p, std::int64_t now) {
    switch (p.holds) {
    case holding::holders:
        return {"ZCOUNT", p.redis_key, '(' + std::to_string(now), "+inf"};
    case holding::log:
        return log_reading(p.redis_key);
    case holding::transaction:
        return {"ZCARD", p.redis_key};
    case holding::sketch:
        return {"PFCOUNT", p.redis_key};
    case holding::bits:
        return {"STRLEN", p.redis_key};
    case holding::shard:
        return {"HMGET", p.redis_key, "", p.field};
    case holding::value:
    case holding::window:
        break;
    }
    return {"GET", p.redis_key};
}

[[nodiscard]] std::optional<std::int64_t> integer_of(const reply& r) {
    return r.kind == reply_kind::integer ? std::optional{r.integer} : std::nullopt;
}

[[nodiscard]] bool is_of_another_type(const reply& content) noexcept {
    return content.is_error() && content.text.starts_with("WRONGTYPE");
}

/// Throws an error reply, such as that of a missing permission.
void require(const reply& r, const words& command) {
    if (r.is_error())
        throw std::runtime_error{command.front() + ": " + escaped(r.text)};
}

[[nodiscard]] std::string hex_of(std::string_view bytes) {
    std::string digits;
    for (const auto c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        digits += colimit::detail::hex_digits[byte >> 4U];
        digits += colimit::detail::hex_digits[byte & 15U];
    }
    return digits;
}

/// Reads the last members of a sorted set of holders. The server sends pairs, or with RESP 2 all
/// members and scores in one list.
[[nodiscard]] std::vector<stored_holder> read_holders(const reply& members, std::int64_t now) {
    std::vector<stored_holder> all;
    const auto add = [&](const reply& id, const reply& score) {
        const auto end = std::strtod(score.text.c_str(), nullptr);
        if (const auto us = std::clamp(end, 0.0, 0x1p62); us > static_cast<double>(now))
            all.push_back({hex_of(id.text), static_cast<std::int64_t>(us),
                           static_cast<std::int64_t>(us) - now});
    };
    const auto& found = members.elements;
    for (std::size_t i = 0; i < found.size(); ++i)
        if (found[i].elements.size() == 2)
            add(found[i].elements[0], found[i].elements[1]);
        else if (i + 1 < found.size()) {
            add(found[i], found[i + 1]);
            ++i;
        }
    return all;
}

/// Reads the content; returns whether there is something.
[[nodiscard]] bool read_content(const reply& content, found_place& into) {
    if (content.is_nil())
        return false;
    if (is_of_another_type(content)) {
        into.is_foreign = true;
        return true;
    }
    switch (into.where.holds) {
    case holding::value:
        into.slots = read_value(content.text).value_or(std::vector<stored_slot>{});
        into.is_foreign = into.slots.empty();
        return true;
    case holding::window:
        into.count = std::strtoll(content.text.c_str(), nullptr, 10);
        into.is_foreign = content.text != std::to_string(*into.count);
        return true;
    case holding::shard:
        if (content.elements.size() != 2 || content.elements[1].is_nil())
            return false;
        into.slots = read_value(content.elements[1].text, content.elements[0].text)
                         .value_or(std::vector<stored_slot>{});
        into.is_foreign = into.slots.empty();
        return true;
    case holding::log:
        into.count = events_of(content.text);
        into.is_foreign = !into.count;
        return !content.text.empty();
    default:
        into.count = integer_of(content);
        return true;
    }
}

/// Returns a pattern that matches both texts, which have the same size, and few others.
[[nodiscard]] std::string pattern_of_both(std::string_view a, std::string_view b) {
    std::string pattern;
    for (std::size_t i = 0; i < a.size(); ++i)
        pattern +=
            a[i] == b[i] ? literal_pattern(a.substr(i, 1)) : std::string{'[', a[i], b[i], ']'};
    return pattern;
}

/// Reads all pages of SCAN with a pattern, within the budget, and calls `take(name)`.
template<class Take>
void scan(servers& in, std::size_t server, const std::string& pattern, std::uint64_t budget,
          search_result& into, Take take) {
    auto cursor = std::string{"0"};
    for (std::uint64_t examined = 0;; examined += 1000) {
        if (examined >= budget) {
            into.is_complete = false;
            return;
        }
        const auto page =
            in.ask_one(server, {"SCAN", cursor, "MATCH", pattern, "COUNT", keys_per_scan});
        if (page.elements.size() != 2)
            return;
        for (const auto& name : page.elements[1].elements)
            take(name.text);
        cursor = page.elements[0].text;
        if (cursor == "0")
            return;
    }
}

} // namespace

words log_reading(std::string_view redis_key) {
    const auto size = core::log_head_bytes + most_events * core::logged_event_bytes;
    return {"GETRANGE", std::string{redis_key}, "0", std::to_string(size - 1)};
}

std::optional<std::int64_t> events_of(std::string_view value) {
    if (!core::read_log_head(value) || core::events_in(value.size()) == 0)
        return std::nullopt;
    const auto is_cut = core::events_in(value.size()) == most_events;
    return is_cut ? most_events : static_cast<std::int64_t>(core::kept_events(value).size());
}

std::vector<found_place> look_up(servers& from, const std::string& policy,
                                 const std::vector<place>& places) {
    std::vector<found_place> all;
    for (const auto& p : places) {
        const auto server = from.of(p.redis_key);
        const auto has_holders = p.holds == holding::holders;
        const auto now = has_holders ? from.time(server) : 0;
        auto commands = std::vector<words>{
            content_of(p, now), {"PTTL", p.redis_key}, {"MEMORY", "USAGE", p.redis_key}};
        if (has_holders)
            commands.push_back(
                {"ZRANGE", p.redis_key, "-" + std::string{holders_per_place}, "-1", "WITHSCORES"});
        const auto facts = from.ask(server, commands);
        require(facts[1], commands[1]);
        if (!is_of_another_type(facts[0]))
            require(facts[0], commands[0]);
        auto found =
            found_place{p, policy, facts[1].integer, integer_of(facts[2]), {}, {}, {}, false};
        if (facts[1].integer == -2 || !read_content(facts[0], found))
            continue;
        if (has_holders && !found.is_foreign) {
            require(facts[3], commands[3]);
            found.holders = read_holders(facts[3], now);
        }
        all.push_back(std::move(found));
    }
    return all;
}

std::vector<place> foreign_strings(servers& in, const std::vector<place>& places) {
    std::vector<place> all;
    for (const auto& p : places) {
        const auto content = in.ask(in.of(p.redis_key), {content_of(p, 0)}).front();
        auto found = found_place{p, {}, 0, {}, {}, {}, {}, false};
        if (!content.is_error() && read_content(content, found) && found.is_foreign)
            all.push_back(p);
    }
    return all;
}

search_result search(servers& in, std::string_view key, std::string_view prefix,
                     const redis::key_tags& tags, std::uint64_t budget) {
    std::string field;
    redis::append_field(field, key);
    const auto tag = tags.of(key);
    const auto beginning = [&](std::size_t t) {
        return std::string{prefix} + ":{" + std::string{tags.text(t)} + "}:";
    };
    const auto own = beginning(tag);
    const auto shard = beginning(tags.of_shard(tags.shard_of(tag)));
    search_result result;
    std::set<std::pair<std::string, std::string>> seen; // SCAN may return a key twice
    const auto take = [&](const std::string& name) {
        const auto read = read_key_name(name, prefix);
        const auto is_shard = read && read->holds == holding::shard;
        if (!read || !name.starts_with(is_shard ? shard : own) ||
            (!is_shard && "k:" + std::string{read->key} != field &&
             "h:" + std::string{read->key} != field) ||
            !seen.emplace(name, "").second)
            return;
        for (auto& f : look_up(in, std::string{read->policy},
                               {{read->holds, name, is_shard ? field : std::string{}}}))
            result.found.push_back(std::move(f));
    };
    // One search for both, as SCAN examines all keys of a server, whatever the pattern.
    const auto pattern = pattern_of_both(own, shard) + "*";
    for (const auto server : std::set{in.of(own), in.of(shard)})
        scan(in, server, pattern, budget, result, take);
    std::ranges::sort(result.found, {},
                      [](const found_place& f) { return std::pair{f.policy, f.where.redis_key}; });
    return result;
}

} // namespace tool
