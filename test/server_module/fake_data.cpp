// SPDX-License-Identifier: BSL-1.0
//
// The commands on the keys of a fake server.

#include <server_module/fake_data.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>

namespace colimit::test::fake {
namespace {

constexpr std::size_t longest_string = 512U << 20U;
constexpr auto wrong_type = "WRONGTYPE Operation against a key holding the wrong kind of value";
constexpr auto not_an_integer = "ERR value is not an integer or out of range";

struct command_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[nodiscard]] std::int64_t integer_in(const std::string& text, const char* error = not_an_integer) {
    auto number = std::int64_t{0};
    const auto* end = text.data() + text.size();
    if (const auto [at, code] = std::from_chars(text.data(), end, number);
        code != std::errc{} || at != end)
        throw command_error{error};
    return number;
}

[[nodiscard]] double score_in(const std::string& text, const char* error) {
    auto number = 0.0;
    const auto* first = text.data() + (text.starts_with('+') ? 1 : 0);
    const auto* end = text.data() + text.size();
    if (const auto [at, code] = std::from_chars(first, end, number);
        code != std::errc{} || at != end || std::isnan(number))
        throw command_error{error};
    return number;
}

/// As servers print scores for clients of the older protocol.
[[nodiscard]] std::string score_text(double score) {
    constexpr auto exact = 4503599627370496.0; // 2^52
    auto text = std::array<char, 64>{};
    if (std::abs(score) < exact && score == std::floor(score))
        return std::to_string(static_cast<long long>(score));
    const auto [end, code] = std::to_chars(text.data(), text.data() + text.size(), score,
                                           std::chars_format::general, 17);
    return {text.data(), end};
}

/// A bound of a range of scores: `(` excludes it.
struct bound {
    double score;
    bool is_excluded;
};

[[nodiscard]] bound bound_in(const std::string& text) {
    const auto is_excluded = text.starts_with('(');
    return {score_in(text.substr(is_excluded ? 1 : 0), "ERR min or max is not a float"),
            is_excluded};
}

[[nodiscard]] reply number_reply(std::int64_t number) {
    return {.kind = reply_kind::integer, .number = number};
}
[[nodiscard]] reply text_reply(std::string_view text) {
    return {.kind = reply_kind::text, .text = std::string{text}};
}

[[nodiscard]] std::string upper(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) {
        return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    });
    return text;
}

// A sketch has the head of a real one, in its sparse encoding, and then the hashes of its members.
constexpr std::size_t sketch_head = 16;
constexpr std::size_t sketch_encoding_at = 4;
constexpr std::size_t sketch_count_at = 8;
constexpr unsigned char invalid_count = 0x80;

[[nodiscard]] bool is_sketch(std::string_view text) noexcept {
    return text.size() >= sketch_head && text.starts_with("HYLL") && text[sketch_encoding_at] == 1;
}

} // namespace

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

struct commands {
    data& d;
    const words& w;

    using run = reply (commands::*)();

    template<class T>
    T* get(const std::string& key) {
        auto* found = d.find(key);
        if (found == nullptr)
            return nullptr;
        if (auto* content = std::get_if<T>(&found->content))
            return content;
        throw command_error{wrong_type};
    }
    template<class T>
    T& get_or_create(const std::string& key) {
        if (auto* found = get<T>(key))
            return *found;
        return std::get<T>(d.put(key, {T{}}).content);
    }
    template<class T>
    void erase_if_empty(const std::string& key, const T& content) {
        if (content.empty())
            d.erase(key);
    }
    void need(std::size_t least) const {
        if (w.size() < least)
            throw command_error{"ERR wrong number of arguments for '" + w[0] + "' command"};
    }
    void expire_at(const std::string& key, std::int64_t at) {
        if (at <= d.now_ms_ && !d.is_replay_)
            d.erase(key);
        else
            d.find(key)->expires_ms = at;
    }

    reply set() {
        need(3);
        auto expires = value::no_expiry;
        auto keeps = false;
        auto* old = d.find(w[1]);
        for (std::size_t i = 3; i < w.size(); ++i) {
            const auto option = upper(w[i]);
            if (option == "KEEPTTL")
                keeps = true;
            else if ((option == "XX" && old == nullptr) || (option == "NX" && old != nullptr))
                return {};
            else if (option == "PX" && i + 1 < w.size())
                expires = d.now_ms_ + integer_in(w[++i]);
            else if (option == "PXAT" && i + 1 < w.size())
                expires = integer_in(w[++i]);
            else if (option != "XX" && option != "NX")
                throw command_error{"ERR syntax error"};
        }
        if (keeps && old != nullptr)
            expires = old->expires_ms;
        d.put(w[1], {bytes{w[2]}, expires});
        if (expires != value::no_expiry)
            expire_at(w[1], expires);
        return text_reply("OK");
    }

    reply set_range() {
        need(4);
        const auto at = integer_in(w[2]);
        if (at < 0)
            throw command_error{"ERR offset is out of range"};
        auto* found = get<bytes>(w[1]);
        if (w[3].empty())
            return number_reply(found == nullptr ? 0 : static_cast<std::int64_t>(found->size()));
        const auto first = static_cast<std::size_t>(at);
        if (first + w[3].size() > longest_string)
            throw command_error{"ERR string exceeds maximum allowed size (proto-max-bulk-len)"};
        auto& to = get_or_create<bytes>(w[1]);
        to.resize(std::max(to.size(), first + w[3].size()));
        std::ranges::copy(w[3], to.data() + first);
        return number_reply(static_cast<std::int64_t>(to.size()));
    }

    reply del() {
        need(2);
        auto gone = std::int64_t{0};
        for (const auto& key : std::span{w}.subspan(1)) {
            gone += d.find(key) != nullptr ? 1 : 0;
            d.erase(key);
        }
        return number_reply(gone);
    }

    reply expire(std::int64_t from) {
        need(3);
        const auto at = from + integer_in(w[2]);
        if (d.find(w[1]) == nullptr)
            return number_reply(0);
        expire_at(w[1], at);
        return number_reply(1);
    }
    reply pexpireat() { return expire(0); }
    reply pexpire() { return expire(d.now_ms_); }

    reply pttl() {
        need(2);
        const auto* found = d.find(w[1]);
        if (found == nullptr)
            return number_reply(-2);
        const auto end = found->expires_ms;
        return number_reply(end == value::no_expiry ? -1 : end - d.now_ms_);
    }

    reply persist() {
        need(2);
        auto* found = d.find(w[1]);
        const auto had_end = found != nullptr && found->expires_ms != value::no_expiry;
        if (had_end)
            found->expires_ms = value::no_expiry;
        return number_reply(had_end ? 1 : 0);
    }

    reply get_string() {
        need(2);
        const auto* found = get<bytes>(w[1]);
        return found == nullptr ? reply{} : text_reply(found->view());
    }

    reply getdel() {
        auto was = get_string();
        d.erase(w[1]);
        return was;
    }

    reply add(std::int64_t sign) {
        need(3);
        auto* found = get<bytes>(w[1]);
        const auto more = integer_in(w[2]);
        const auto was = found == nullptr ? 0 : integer_in(std::string{found->view()});
        if (found == nullptr)
            found = &get_or_create<bytes>(w[1]);
        found->assign(std::to_string(was + sign * more));
        return number_reply(was + sign * more);
    }
    reply incrby() { return add(1); }
    reply decrby() { return add(-1); }

    reply renamenx() {
        need(3);
        if (d.find(w[1]) != nullptr && d.find(w[2]) != nullptr)
            return number_reply(0);
        (void)rename();
        return number_reply(1);
    }

    reply rename() {
        need(3);
        auto* from = d.find(w[1]);
        if (from == nullptr)
            throw command_error{"ERR no such key"};
        if (w[1] != w[2]) {
            auto moved = std::move(*from);
            d.erase(w[1]);
            d.put(w[2], std::move(moved));
        }
        return text_reply("OK");
    }

    reply hset() {
        need(4);
        if (w.size() % 2 != 0)
            throw command_error{"ERR wrong number of arguments for 'hset' command"};
        auto& to = get_or_create<hash>(w[1]);
        auto added = std::int64_t{0};
        for (std::size_t i = 2; i < w.size(); i += 2)
            added += to.insert_or_assign(w[i], w[i + 1]).second ? 1 : 0;
        return number_reply(added);
    }

    reply hdel() {
        need(3);
        auto* from = get<hash>(w[1]);
        auto gone = std::int64_t{0};
        for (std::size_t i = 2; from != nullptr && i < w.size(); ++i)
            gone += static_cast<std::int64_t>(from->erase(w[i]));
        if (from != nullptr)
            erase_if_empty(w[1], *from);
        return number_reply(gone);
    }

    reply hmget() {
        need(3);
        const auto* from = get<hash>(w[1]);
        auto all = reply{.kind = reply_kind::array};
        for (std::size_t i = 2; i < w.size(); ++i) {
            const auto found = from == nullptr ? hash::const_iterator{} : from->find(w[i]);
            const auto is_there = from != nullptr && found != from->end();
            all.elements.push_back(is_there ? text_reply(found->second) : reply{});
        }
        return all;
    }

    static sorted_set::iterator place_of(sorted_set& in, const std::string& member) {
        return std::ranges::find(in, member, &sorted_set::value_type::second);
    }

    /// One entry or several, and with XX only those that exist. An error changes nothing.
    reply zadd() {
        need(4);
        const auto only_old = upper(w[2]) == "XX";
        for (std::size_t i = only_old ? 3 : 2; i + 1 < w.size(); i += 2)
            (void)score_in(w[i], "ERR value is not a valid float");
        if (only_old && get<sorted_set>(w[1]) == nullptr)
            return number_reply(0);
        auto& to = get_or_create<sorted_set>(w[1]);
        auto added = std::int64_t{0};
        for (std::size_t i = only_old ? 3 : 2; i + 1 < w.size(); i += 2) {
            const auto score = score_in(w[i], "ERR value is not a valid float");
            const auto old = place_of(to, w[i + 1]);
            const auto is_new = old == to.end();
            if (is_new && only_old)
                continue;
            if (!is_new)
                to.erase(old);
            auto entry = sorted_set::value_type{score, w[i + 1]};
            to.insert(std::ranges::upper_bound(to, entry), std::move(entry));
            added += is_new ? 1 : 0;
        }
        return number_reply(added);
    }

    reply zrem() {
        need(3);
        auto* from = get<sorted_set>(w[1]);
        auto gone = std::int64_t{0};
        for (std::size_t i = 2; from != nullptr && i < w.size(); ++i)
            if (const auto place = place_of(*from, w[i]); place != from->end()) {
                from->erase(place);
                ++gone;
            }
        if (from != nullptr)
            erase_if_empty(w[1], *from);
        return number_reply(gone);
    }

    using entries = std::pair<sorted_set::iterator, sorted_set::iterator>;

    static entries by_score(sorted_set& in, const std::string& least, const std::string& most) {
        const auto low = bound_in(least);
        const auto high = bound_in(most);
        const auto first = std::ranges::partition_point(in, [&](const auto& e) {
            return low.is_excluded ? e.first <= low.score : e.first < low.score;
        });
        const auto last = std::partition_point(first, in.end(), [&](const auto& e) {
            return high.is_excluded ? e.first < high.score : e.first <= high.score;
        });
        return {first, last};
    }

    static entries by_rank(sorted_set& in, const std::string& from, const std::string& to) {
        const auto size = static_cast<std::int64_t>(in.size());
        auto first = integer_in(from);
        auto last = integer_in(to);
        first = std::max<std::int64_t>(0, first < 0 ? first + size : first);
        last = std::min(size - 1, last < 0 ? last + size : last);
        if (first > last)
            return {in.end(), in.end()};
        return {in.begin() + first, in.begin() + last + 1};
    }

    reply remove(sorted_set* from,
                 entries (*find)(sorted_set&, const std::string&, const std::string&)) {
        auto none = sorted_set{};
        const auto [first, last] = find(from == nullptr ? none : *from, w[2], w[3]);
        const auto gone = last - first;
        if (from != nullptr) {
            from->erase(first, last);
            erase_if_empty(w[1], *from);
        }
        return number_reply(gone);
    }
    reply zremrangebyscore() {
        need(4);
        return remove(get<sorted_set>(w[1]), by_score);
    }
    reply zremrangebyrank() {
        need(4);
        return remove(get<sorted_set>(w[1]), by_rank);
    }

    reply zmscore() {
        need(3);
        auto none = sorted_set{};
        auto* found = get<sorted_set>(w[1]);
        auto& in = found == nullptr ? none : *found;
        auto all = reply{.kind = reply_kind::array};
        for (std::size_t i = 2; i < w.size(); ++i) {
            const auto place = place_of(in, w[i]);
            all.elements.push_back(place == in.end() ? reply{}
                                                     : text_reply(score_text(place->first)));
        }
        return all;
    }

    reply zcard() {
        need(2);
        const auto* found = get<sorted_set>(w[1]);
        return number_reply(found == nullptr ? 0 : static_cast<std::int64_t>(found->size()));
    }

    reply zcount() {
        need(4);
        auto none = sorted_set{};
        auto* found = get<sorted_set>(w[1]);
        const auto [first, last] = by_score(found == nullptr ? none : *found, w[2], w[3]);
        return number_reply(last - first);
    }

    static reply listed(entries of, bool with_scores) {
        auto all = reply{.kind = reply_kind::array};
        for (auto at = of.first; at != of.second; ++at) {
            all.elements.push_back(text_reply(at->second));
            if (with_scores)
                all.elements.push_back(text_reply(score_text(at->first)));
        }
        return all;
    }

    reply zrange() {
        need(4);
        auto none = sorted_set{};
        auto* found = get<sorted_set>(w[1]);
        return listed(by_rank(found == nullptr ? none : *found, w[2], w[3]),
                      w.size() == 5 && upper(w[4]) == "WITHSCORES");
    }

    reply zrevrange() {
        need(4);
        auto newest_first = sorted_set{};
        if (const auto* found = get<sorted_set>(w[1]))
            newest_first.assign(found->rbegin(), found->rend());
        return listed(by_rank(newest_first, w[2], w[3]),
                      w.size() == 5 && upper(w[4]) == "WITHSCORES");
    }

    /// Perhaps with `LIMIT 0 count`.
    reply zrangebyscore() {
        need(4);
        auto none = sorted_set{};
        auto* found = get<sorted_set>(w[1]);
        auto [first, last] = by_score(found == nullptr ? none : *found, w[2], w[3]);
        if (w.size() == 7)
            last = first + std::min(last - first, integer_in(w[6]));
        return listed({first, last}, false);
    }

    bytes* get_sketch(const std::string& key) {
        auto* found = get<bytes>(key);
        if (found != nullptr && !is_sketch(found->view()))
            throw command_error{"WRONGTYPE Key is not a valid HyperLogLog string value."};
        return found;
    }

    static void require_whole(const bytes& sketch) {
        if (sketch.size() % sizeof(std::uint64_t) != 0)
            throw command_error{"INVALIDOBJ Corrupted HLL object detected"};
    }

    reply pfadd() {
        need(2);
        auto* found = get_sketch(w[1]);
        const auto is_new = found == nullptr;
        if (is_new)
            found = &std::get<bytes>(
                d.put(w[1], {bytes{{"HYLL\1\0\0\0\0\0\0\0\0\0\0\0", sketch_head}}}).content);
        require_whole(*found);
        auto text = std::string{found->view()};
        for (const auto& member : std::span{w}.subspan(2)) {
            const auto number = std::hash<std::string>{}(member);
            auto part = std::string(sizeof number, '\0');
            std::memcpy(part.data(), &number, sizeof number);
            auto is_known = false;
            for (auto at = sketch_head; at < text.size(); at += sizeof number)
                is_known = is_known || text.compare(at, sizeof number, part) == 0;
            if (!is_known)
                text += part;
        }
        const auto has_grown = is_new || text.size() != found->size();
        if (has_grown) {
            text[sketch_head - 1] = static_cast<char>(invalid_count);
            found->assign(text);
        }
        return number_reply(has_grown ? 1 : 0);
    }

    reply pfcount() {
        need(2);
        auto* found = get_sketch(w[1]);
        if (found == nullptr)
            return number_reply(0);
        auto count = std::int64_t{0};
        std::memcpy(&count, found->data() + sketch_count_at, sizeof count);
        if (count >= 0)
            return number_reply(count);
        require_whole(*found);
        count = static_cast<std::int64_t>((found->size() - sketch_head) / sizeof(std::uint64_t));
        found->unshare();
        std::memcpy(found->data() + sketch_count_at, &count, sizeof count);
        return number_reply(count);
    }

    reply rpush() {
        need(3);
        auto& to = get_or_create<list>(w[1]);
        to.insert(to.end(), w.begin() + 2, w.end());
        return number_reply(static_cast<std::int64_t>(to.size()));
    }
};

void data::begin(std::int64_t now_ms, bool is_replay) {
    now_ms_ = now_ms;
    is_replay_ = is_replay;
    std::erase_if(keys_, [now_ms](const auto& k) {
        return k.second->expires_ms != value::no_expiry && k.second->expires_ms <= now_ms;
    });
}

std::optional<reply> data::execute(const words& command) {
    static const auto known = std::map<std::string, commands::run, std::less<>>{
        {"SET", &commands::set},
        {"SETRANGE", &commands::set_range},
        {"DEL", &commands::del},
        {"UNLINK", &commands::del},
        {"PEXPIREAT", &commands::pexpireat},
        {"PEXPIRE", &commands::pexpire},
        {"PTTL", &commands::pttl},
        {"PERSIST", &commands::persist},
        {"GET", &commands::get_string},
        {"GETDEL", &commands::getdel},
        {"INCRBY", &commands::incrby},
        {"DECRBY", &commands::decrby},
        {"RENAME", &commands::rename},
        {"RENAMENX", &commands::renamenx},
        {"HSET", &commands::hset},
        {"HDEL", &commands::hdel},
        {"HMGET", &commands::hmget},
        {"ZADD", &commands::zadd},
        {"ZREM", &commands::zrem},
        {"ZREMRANGEBYSCORE", &commands::zremrangebyscore},
        {"ZREMRANGEBYRANK", &commands::zremrangebyrank},
        {"ZMSCORE", &commands::zmscore},
        {"ZCARD", &commands::zcard},
        {"ZCOUNT", &commands::zcount},
        {"ZRANGE", &commands::zrange},
        {"ZREVRANGE", &commands::zrevrange},
        {"ZRANGEBYSCORE", &commands::zrangebyscore},
        {"PFADD", &commands::pfadd},
        {"PFCOUNT", &commands::pfcount},
        {"RPUSH", &commands::rpush}};
    const auto found = known.find(upper(command.front()));
    if (found == known.end())
        return std::nullopt;
    try {
        return (commands{*this, command}.*found->second)();
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
    for (const auto& [key, v] : other.keys_) {
        auto copy = value{.content = {}, .expires_ms = v->expires_ms};
        if (const auto* s = std::get_if<bytes>(&v->content))
            copy.content = bytes{s->view()};
        if (const auto* h = std::get_if<hash>(&v->content))
            copy.content = *h;
        if (const auto* z = std::get_if<sorted_set>(&v->content))
            copy.content = *z;
        if (const auto* l = std::get_if<list>(&v->content))
            copy.content = *l;
        put(key, std::move(copy));
    }
}

} // namespace colimit::test::fake
