// SPDX-License-Identifier: BSL-1.0
//
// The keys of a fake server, and the commands that the module and its tests use, with the types,
// errors and side effects of real servers. Its sketches count exactly, and have only the head of
// real ones.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace colimit::test::fake {

using words = std::vector<std::string>;

/// A string in memory of exactly its size, so that a sanitizer sees what is outside; every change
/// of its size moves it.
class bytes {
  public:
    bytes() = default;
    explicit bytes(std::string_view text) { assign(text); }
    void assign(std::string_view text);
    void resize(std::size_t size);
    /// Moves it, as servers do when a string is to be written in place.
    void unshare() { assign(std::string{view()}); }
    [[nodiscard]] char* data() noexcept { return data_.get(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::string_view view() const noexcept { return {data_.get(), size_}; }

  private:
    std::unique_ptr<char[]> data_ = std::make_unique<char[]>(0);
    std::size_t size_ = 0;
};

using hash = std::map<std::string, std::string>;
using sorted_set = std::vector<std::pair<double, std::string>>; ///< in the order of a server
using list = std::vector<std::string>;

struct value {
    std::variant<bytes, hash, sorted_set, list> content;
    std::int64_t expires_ms = no_expiry;

    static constexpr std::int64_t no_expiry = -1;
};

enum class reply_kind { nil, text, status, error, integer, array };

struct reply {
    reply_kind kind = reply_kind::nil;
    std::string text = {};
    std::int64_t number = 0;
    std::vector<reply> elements = {};
};

enum class command_effect {
    reads,
    caches, ///< it may store what it has computed, also on a replica
    writes,
    grows, ///< refused by a server over its `maxmemory`
};

[[nodiscard]] std::string upper(std::string text);

/// Returns what a command on keys may do; nullopt: there is no such command.
[[nodiscard]] std::optional<command_effect> effect_of(const std::string& command);

class data {
  public:
    /// Deletes what has expired. Until the next call the time stands still.
    /// @param is_replay the commands come from a master or an AOF: a TTL that has passed already
    ///        then deletes nothing until the next call
    void begin(std::int64_t now_ms, bool is_replay);

    /// Executes a command; nullopt: there is no such command.
    [[nodiscard]] std::optional<reply> execute(const words& command);

    [[nodiscard]] value* find(const std::string& key) noexcept;
    [[nodiscard]] const value* find(const std::string& key) const noexcept {
        return const_cast<data*>(this)->find(key);
    }
    /// Replaces the value of a key.
    value& put(const std::string& key, value with);
    void erase(const std::string& key) { keys_.erase(key); }
    void clear() { keys_.clear(); }
    /// Moves a key to another server.
    void move(const std::string& key, data& to) { to.keys_.insert(keys_.extract(key)); }

    [[nodiscard]] const std::map<std::string, std::unique_ptr<value>>& keys() const noexcept {
        return keys_;
    }
    /// Returns all of a key as text; empty: there is no such key.
    [[nodiscard]] std::string text_of(const std::string& key) const;
    void copy_from(const data& other);
    /// Copies one key, if the other has it.
    void copy(const data& from, const std::string& key);

  private:
    friend struct commands;
    std::map<std::string, std::unique_ptr<value>> keys_;
    std::int64_t now_ms_ = 0;
    bool is_replay_ = false;
};

} // namespace colimit::test::fake
