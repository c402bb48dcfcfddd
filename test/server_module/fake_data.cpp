// SPDX-License-Identifier: BSL-1.0
//
// The keys of a fake server, and the table of the commands on them.

#include <server_module/fake_commands.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

namespace colimit::test::fake {
namespace {

struct command {
    reply (commands::*run)();
    std::size_t least_words;
    command_effect effect;
};

[[nodiscard]] const command* find_command(const std::string& name) {
    using enum command_effect;
    static const auto known = std::map<std::string, command, std::less<>>{
        {"SET", {&commands::set, 3, grows}},
        {"SETRANGE", {&commands::set_range, 4, grows}},
        {"DEL", {&commands::del, 2, writes}},
        {"UNLINK", {&commands::del, 2, writes}},
        {"EXISTS", {&commands::exists, 2, reads}},
        {"PEXPIREAT", {&commands::pexpireat, 3, writes}},
        {"PEXPIRE", {&commands::pexpire, 3, writes}},
        {"PTTL", {&commands::pttl, 2, reads}},
        {"PERSIST", {&commands::persist, 2, writes}},
        {"GET", {&commands::get_string, 2, reads}},
        {"MGET", {&commands::mget, 2, reads}},
        {"GETRANGE", {&commands::get_range, 4, reads}},
        {"STRLEN", {&commands::strlen, 2, reads}},
        {"BITCOUNT", {&commands::bitcount, 2, reads}},
        {"GETDEL", {&commands::getdel, 2, writes}},
        {"INCRBY", {&commands::incrby, 3, grows}},
        {"DECRBY", {&commands::decrby, 3, grows}},
        {"RENAME", {&commands::rename, 3, writes}},
        {"RENAMENX", {&commands::renamenx, 3, writes}},
        {"HSET", {&commands::hset, 4, grows}},
        {"HDEL", {&commands::hdel, 3, writes}},
        {"HMGET", {&commands::hmget, 3, reads}},
        {"ZADD", {&commands::zadd, 4, grows}},
        {"ZREM", {&commands::zrem, 3, writes}},
        {"ZREMRANGEBYSCORE", {&commands::zremrangebyscore, 4, writes}},
        {"ZREMRANGEBYRANK", {&commands::zremrangebyrank, 4, writes}},
        {"ZSCORE", {&commands::zscore, 3, reads}},
        {"ZCARD", {&commands::zcard, 2, reads}},
        {"ZCOUNT", {&commands::zcount, 4, reads}},
        {"ZRANGE", {&commands::zrange, 4, reads}},
        {"ZREVRANGE", {&commands::zrevrange, 4, reads}},
        {"ZRANGEBYSCORE", {&commands::zrangebyscore, 4, reads}},
        {"PFADD", {&commands::pfadd, 2, grows}},
        {"PFCOUNT", {&commands::pfcount, 2, caches}},
        {"RPUSH", {&commands::rpush, 3, grows}}};
    const auto found = known.find(upper(name));
    return found == known.end() ? nullptr : &found->second;
}

} // namespace

std::string upper(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) {
        return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    });
    return text;
}

std::int64_t integer_in(const std::string& text) {
    auto number = std::int64_t{0};
    const auto* end = text.data() + text.size();
    if (const auto [at, code] = std::from_chars(text.data(), end, number);
        code != std::errc{} || at != end)
        throw command_error{"ERR value is not an integer or out of range"};
    return number;
}

std::string score_text(double score) {
    constexpr auto exact = 4503599627370496.0; // 2^52
    auto text = std::array<char, 64>{};
    if (std::abs(score) < exact && score == std::floor(score))
        return std::to_string(static_cast<long long>(score));
    const auto [end, code] = std::to_chars(text.data(), text.data() + text.size(), score,
                                           std::chars_format::general, 17);
    return {text.data(), end};
}

void bytes::assign(std::string_view text) {
    auto made = std::make_unique<char[]>(text.size());
    std::ranges::copy(text, made.get());
    data_ = std::move(made);
    size_ = text.size();
}

void bytes::resize(std::size_t size) {
    auto text = std::string{view()};
    text.resize(size, '\0');
    assign(text);
}

reply commands::rpush() {
    auto& to = get_or_create<list>(w[1]);
    to.insert(to.end(), w.begin() + 2, w.end());
    return number_reply(static_cast<std::int64_t>(to.size()));
}

void data::begin(std::int64_t now_ms, bool is_replay) {
    now_ms_ = now_ms;
    is_replay_ = is_replay;
    std::erase_if(keys_, [now_ms](const auto& k) {
        return k.second->expires_ms != value::no_expiry && k.second->expires_ms <= now_ms;
    });
}

std::optional<command_effect> effect_of(const std::string& command) {
    const auto* found = find_command(command);
    return found == nullptr ? std::nullopt : std::optional{found->effect};
}

std::optional<reply> data::execute(const words& command) {
    const auto* found = find_command(command.front());
    if (found == nullptr)
        return std::nullopt;
    if (command.size() < found->least_words)
        return reply{.kind = reply_kind::error,
                     .text = "ERR wrong number of arguments for '" + command[0] + "' command"};
    try {
        return (commands{*this, command}.*found->run)();
    } catch (const command_error& e) {
        return reply{.kind = reply_kind::error, .text = e.what()};
    }
}

value* data::find(const std::string& key) noexcept {
    const auto found = keys_.find(key);
    return found == keys_.end() ? nullptr : found->second.get();
}

value& data::put(const std::string& key, value with) {
    auto& place = keys_[key];
    place = std::make_unique<value>(std::move(with));
    return *place;
}

std::string data::text_of(const std::string& key) const {
    const auto found = keys_.find(key);
    if (found == keys_.end())
        return {};
    const auto& v = *found->second;
    auto text = std::to_string(v.expires_ms) + ' ' + std::to_string(v.content.index());
    const auto add = [&text](std::string_view part) {
        text += ' ' + std::to_string(part.size()) + ':';
        text += part;
    };
    if (const auto* s = std::get_if<bytes>(&v.content))
        add(s->view());
    if (const auto* h = std::get_if<hash>(&v.content))
        for (const auto& [field, state] : *h) {
            add(field);
            add(state);
        }
    if (const auto* z = std::get_if<sorted_set>(&v.content))
        for (const auto& [score, member] : *z) {
            add(score_text(score));
            add(member);
        }
    if (const auto* l = std::get_if<list>(&v.content))
        for (const auto& element : *l)
            add(element);
    return text;
}

void data::copy_from(const data& other) {
    keys_.clear();
    for (const auto& [key, v] : other.keys_)
        copy(other, key);
}

void data::copy(const data& from, const std::string& key) {
    const auto found = from.keys_.find(key);
    if (found == from.keys_.end())
        return;
    const auto& v = *found->second;
    auto copied = value{.content = {}, .expires_ms = v.expires_ms};
    if (const auto* s = std::get_if<bytes>(&v.content))
        copied.content = bytes{s->view()};
    if (const auto* h = std::get_if<hash>(&v.content))
        copied.content = *h;
    if (const auto* z = std::get_if<sorted_set>(&v.content))
        copied.content = *z;
    if (const auto* l = std::get_if<list>(&v.content))
        copied.content = *l;
    put(key, std::move(copied));
}

} // namespace colimit::test::fake
