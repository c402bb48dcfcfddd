// SPDX-License-Identifier: BSL-1.0
//
// A command of a fake server while it runs. Each file of fake_*.cpp has those of one type.

#pragma once

#include <server_module/fake_data.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace colimit::test::fake {

struct command_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[nodiscard]] std::int64_t integer_in(const std::string& text);
/// As servers print scores for clients of the older protocol.
[[nodiscard]] std::string score_text(double score);

[[nodiscard]] inline reply number_reply(std::int64_t number) {
    return {.kind = reply_kind::integer, .number = number};
}
[[nodiscard]] inline reply text_reply(std::string_view text) {
    return {.kind = reply_kind::text, .text = std::string{text}};
}
[[nodiscard]] inline reply ok_reply() {
    return {.kind = reply_kind::status, .text = "OK"};
}

/// The number of its words was checked.
struct commands {
    data& d;
    const words& w;

    template<class T>
    T* get(const std::string& key) {
        auto* found = d.find(key);
        if (found == nullptr)
            return nullptr;
        if (auto* content = std::get_if<T>(&found->content))
            return content;
        throw command_error{"WRONGTYPE Operation against a key holding the wrong kind of value"};
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
    void expire_at(const std::string& key, std::int64_t at) {
        if (at <= d.now_ms_ && !d.is_replay_)
            d.erase(key);
        else
            d.find(key)->expires_ms = at;
    }

    reply del();
    reply exists();
    reply expire(std::int64_t from);
    reply pexpireat();
    reply pexpire();
    reply pttl();
    reply persist();
    reply rename();
    reply renamenx();

    std::string_view range_of(std::int64_t first, std::int64_t last);
    reply set();
    reply set_range();
    reply get_string();
    reply mget();
    reply get_range();
    reply strlen();
    reply bitcount();
    reply getdel();
    reply add(std::int64_t sign);
    reply incrby();
    reply decrby();

    reply hset();
    reply hdel();
    reply hmget();

    using entries = std::pair<sorted_set::iterator, sorted_set::iterator>;
    static sorted_set::iterator place_of(sorted_set& in, const std::string& member);
    static entries by_score(sorted_set& in, const std::string& least, const std::string& most);
    static entries by_rank(sorted_set& in, const std::string& from, const std::string& to);
    static reply listed(entries of, bool with_scores);
    reply remove(sorted_set* from,
                 entries (*find)(sorted_set&, const std::string&, const std::string&));
    reply zadd();
    reply zrem();
    reply zremrangebyscore();
    reply zremrangebyrank();
    reply zscore();
    reply zcard();
    reply zcount();
    reply zrange();
    reply zrevrange();
    reply zrangebyscore();

    bytes* get_sketch(const std::string& key);
    static void require_whole(const bytes& sketch);
    reply pfadd();
    reply pfcount();

    reply rpush();
};

} // namespace colimit::test::fake
