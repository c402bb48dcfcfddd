// SPDX-License-Identifier: BSL-1.0
//
// Reads stored states for a ranking: the next keys of a SCAN, up to a budget per round, and again
// those that the ranking has. Never KEYS, and no page of more than 1,000 keys.

#pragma once

#include <tool/server/servers.hpp>
#include <tool/stored/key_name.hpp>
#include <tool/top/ranking.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

class state_reader {
  public:
    /// @param prefixes of the keys: that of the options, and those of policies
    /// @param budget keys to examine per round and server
    state_reader(servers& from, std::set<std::string> prefixes, std::uint64_t budget)
        : servers_(from), prefixes_(std::move(prefixes)), budget_(budget),
          cursors_(from.count(), "0") {}

    /// Reads the next keys of all servers into the ranking.
    void read_next(ranking& into);
    /// Reads keys by name, such as those that are in the ranking already.
    void read(const std::vector<std::string>& names, ranking& into);

  private:
    /// What to read of a key. Only hashes of packed states have fields.
    struct wanted_parts {
        bool is_page = false; ///< the next page of a hash; all of another key
        std::vector<std::string> fields;
    };
    using keys_to_read = std::map<std::string, wanted_parts>;

    [[nodiscard]] std::optional<key_name> read_name(std::string_view redis_key) const;
    /// Returns the name of the key in Redis, without a field.
    [[nodiscard]] std::string redis_key_of(const std::string& name) const;
    void read_at(std::size_t server, const keys_to_read& keys, ranking& into);
    void read_fields(std::size_t server, const std::string& redis_key,
                     const std::vector<std::string>& fields, std::int64_t now, ranking& into);
    void read_page(std::size_t server, const std::string& redis_key, std::int64_t now,
                   ranking& into);
    void take_field(const std::string& redis_key, const std::string& field, const reply& content,
                    const std::string& head, std::int64_t now, ranking& into) const;
    void take(const std::string& name, const reply& content, std::int64_t now, ranking& into) const;

    servers& servers_;
    std::set<std::string> prefixes_;
    std::uint64_t budget_;
    std::vector<std::string> cursors_;         ///< of SCAN, by server
    std::map<std::string, std::string> pages_; ///< cursors of hashes that are not read to the end
};

} // namespace tool
