// SPDX-License-Identifier: BSL-1.0
//
// SCAN, GET, GETRANGE, ZCARD, ZCOUNT, HSCAN and HMGET.

#include <tool/frame/format.hpp>
#include <tool/stored/lookup.hpp>
#include <tool/top/reader.hpp>

#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace tool {
namespace {

constexpr std::uint64_t page = 1000;
constexpr char field_mark = '\n'; ///< between the name of a hash and a field, in a ranking

/// Throws an error that says what the user may not run; other errors are those of single keys.
void require_permission(const reply& r, const words& command) {
    if (r.is_error() && r.text.starts_with("NOPERM"))
        throw std::runtime_error{command.front() + ": " + escaped(r.text)};
}

/// Returns a brief value with the numbers that the head of its hash has.
[[nodiscard]] std::string whole(const std::string& value, const std::string& head) {
    constexpr auto brief_bytes = std::size_t{16};
    constexpr auto numbers_at = std::size_t{16};
    constexpr auto numbers_bytes = std::size_t{20};
    return value.size() == brief_bytes && head.size() >= numbers_at + numbers_bytes
               ? std::string(8, '\0') + head.substr(numbers_at, numbers_bytes) + value
               : value;
}

} // namespace

std::optional<key_name> state_reader::read_name(std::string_view redis_key) const {
    for (const auto& prefix : prefixes_)
        if (auto read = read_key_name(redis_key, prefix))
            return read;
    return std::nullopt;
}

std::string state_reader::redis_key_of(const std::string& name) const {
    // Only after the name of a hash comes a field, as a key may contain the mark.
    auto redis_key = name.substr(0, name.find(field_mark));
    const auto read = read_name(redis_key);
    return read && read->holds == holding::shard ? redis_key : name;
}

void state_reader::read_next(ranking& into) {
    const auto pattern =
        (prefixes_.size() == 1 ? literal_pattern(*prefixes_.begin()) : "*") + ":{*";
    for (std::size_t server = 0; server < servers_.count(); ++server) {
        auto& cursor = cursors_[server];
        for (std::uint64_t examined = 0; examined < budget_; examined += page) {
            const auto found = servers_.ask_one(
                server, {"SCAN", cursor, "MATCH", pattern, "COUNT", std::to_string(page)});
            if (found.elements.size() != 2)
                break;
            keys_to_read keys;
            for (const auto& name : found.elements[1].elements)
                keys[name.text].is_page = true;
            read_at(server, keys, into);
            cursor = found.elements[0].text;
            if (cursor == "0")
                break;
        }
    }
}

void state_reader::read(const std::vector<std::string>& names, ranking& into) {
    std::vector<keys_to_read> by_server(servers_.count());
    for (const auto& name : names) {
        const auto redis_key = redis_key_of(name);
        if (!read_name(redis_key))
            continue;
        auto& wanted = by_server[servers_.of(redis_key)][redis_key];
        if (redis_key.size() == name.size())
            wanted.is_page = true;
        else
            wanted.fields.push_back(name.substr(redis_key.size() + 1));
    }
    for (std::size_t server = 0; server < by_server.size(); ++server)
        read_at(server, by_server[server], into);
}

void state_reader::read_at(std::size_t server, const keys_to_read& keys, ranking& into) {
    if (keys.empty())
        return;
    const auto now = servers_.time(server);
    std::vector<words> commands;
    std::vector<std::string> names;
    std::vector<std::string> shards;
    for (const auto& [redis_key, wanted] : keys) {
        const auto read = read_name(redis_key);
        if (!read)
            continue;
        if (read->holds == holding::shard)
            shards.push_back(redis_key);
        if (read->holds == holding::value || read->holds == holding::window)
            commands.push_back({"GET", redis_key});
        else if (read->holds == holding::log)
            commands.push_back(log_reading(redis_key));
        else if (read->holds == holding::transaction)
            commands.push_back({"ZCARD", redis_key});
        else if (read->holds == holding::holders)
            commands.push_back({"ZCOUNT", redis_key, '(' + std::to_string(now), "+inf"});
        else
            continue;
        names.push_back(redis_key);
    }
    const auto contents = commands.empty() ? std::vector<reply>{} : servers_.ask(server, commands);
    for (std::size_t i = 0; i < names.size(); ++i) {
        require_permission(contents[i], commands[i]);
        take(names[i], contents[i], now, into);
    }
    for (const auto& shard : shards) {
        const auto& wanted = keys.at(shard);
        if (!wanted.fields.empty())
            read_fields(server, shard, wanted.fields, now, into);
        if (wanted.is_page)
            read_page(server, shard, now, into);
    }
}

void state_reader::take(const std::string& name, const reply& content, std::int64_t now,
                        ranking& into) const {
    if (content.is_nil() || content.is_error() || content.text.empty() ||
        (content.kind == reply_kind::integer && content.integer == 0))
        return into.forget(name);
    const auto read = read_name(name);
    auto made = sample{.policy = std::string{read->policy},
                       .key = std::string{read->key},
                       .rule = std::string{read->rule},
                       .value = {},
                       .slots = {},
                       .events = {},
                       .holders = {}};
    if (content.kind == reply_kind::integer)
        (read->holds == holding::holders ? made.holders : made.events) = content.integer;
    else if (read->holds == holding::window)
        made.events = std::strtoll(content.text.c_str(), nullptr, 10);
    else if (read->holds == holding::log)
        made.events = events_of(content.text).value_or(0);
    else if (auto slots = read_value(content.text)) {
        made.slots = std::move(*slots);
        made.value = content.text;
    } else
        return;
    into.take(name, std::move(made), now);
}

void state_reader::read_fields(std::size_t server, const std::string& redis_key,
                               const std::vector<std::string>& fields, std::int64_t now,
                               ranking& into) {
    auto command = words{"HMGET", redis_key, ""};
    command.insert(command.end(), fields.begin(), fields.end());
    const auto values = servers_.ask(server, {command}).front();
    require_permission(values, command);
    const auto is_whole = values.elements.size() == fields.size() + 1;
    for (std::size_t i = 0; i < fields.size(); ++i)
        take_field(redis_key, fields[i], is_whole ? values.elements[i + 1] : reply{},
                   is_whole ? values.elements[0].text : "", now, into);
}

void state_reader::read_page(std::size_t server, const std::string& redis_key, std::int64_t now,
                             ranking& into) {
    auto cursor = std::string{"0"};
    if (const auto begun = pages_.find(redis_key); begun != pages_.end())
        cursor = begun->second;
    const auto commands = std::vector<words>{
        {"HMGET", redis_key, ""}, {"HSCAN", redis_key, cursor, "COUNT", std::to_string(page)}};
    const auto replies = servers_.ask(server, commands);
    pages_.erase(redis_key);
    for (std::size_t i = 0; i < commands.size(); ++i)
        require_permission(replies[i], commands[i]);
    if (replies[0].elements.size() != 1 || replies[1].elements.size() != 2)
        return;
    if (const auto& next = replies[1].elements[0].text; next != "0")
        pages_[redis_key] = next;
    const auto& fields = replies[1].elements[1].elements;
    for (std::size_t i = 0; i + 1 < fields.size(); i += 2)
        take_field(redis_key, fields[i].text, fields[i + 1], replies[0].elements[0].text, now,
                   into);
}

/// Takes a packed state, or forgets it if it is not stored any more.
void state_reader::take_field(const std::string& redis_key, const std::string& field,
                              const reply& content, const std::string& head, std::int64_t now,
                              ranking& into) const {
    auto value = whole(content.text, head);
    auto slots = read_value(value);
    const auto name = redis_key + field_mark + field;
    if (field.size() < 2 || !slots)
        return into.forget(name);
    into.take(name,
              {.policy = std::string{read_name(redis_key)->policy},
               .key = field.substr(2),
               .rule = {},
               .value = std::move(value),
               .slots = std::move(*slots),
               .events = {},
               .holders = {}},
              now);
}

} // namespace tool
