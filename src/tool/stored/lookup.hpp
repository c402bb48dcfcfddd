// SPDX-License-Identifier: BSL-1.0
//
// What a server has of a key: its places, looked at without a change.

#pragma once

#include <tool/server/servers.hpp>
#include <tool/stored/key_name.hpp>
#include <tool/stored/stored_value.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

/// A holder of a slot of a `concurrent` rule.
struct stored_holder {
    std::string id;        ///< in hexadecimal digits
    std::int64_t end = 0;  ///< of its lease, in microseconds since 1970
    std::int64_t left = 0; ///< until then, in microseconds
};

/// A place that has something.
struct found_place {
    place where;
    std::string policy;
    std::int64_t ttl_ms = 0;           ///< -1: it does not expire
    std::optional<std::int64_t> bytes; ///< of the server's memory; nullopt if it does not say it
    std::optional<std::int64_t>
        count; ///< events of a log (at most 5,000), members, tokens of a window, holders
    std::vector<stored_slot> slots;     ///< of a state
    std::vector<stored_holder> holders; ///< those with the latest ends, at most 1,000
    bool is_foreign = false;            ///< it is not a value that colimit writes
};

/// Returns the command that reads a log, at most its first 5,000 events: it may have megabytes.
[[nodiscard]] words log_reading(std::string_view redis_key);
/// Returns the number of events in what it answers, of a longer log all 5,000, also those that have
/// expired; nullopt if that is not a log.
[[nodiscard]] std::optional<std::int64_t> events_of(std::string_view value);

/// Returns those of the places that have something.
[[nodiscard]] std::vector<found_place> look_up(servers& from, const std::string& policy,
                                               const std::vector<place>& places);

/// Returns those of the places whose string colimit did not write, so that it counts as no state.
/// Places that the user may not read are left out, and values of other types, which no call
/// changes.
[[nodiscard]] std::vector<place> foreign_strings(servers& in, const std::vector<place>& places);

struct search_result {
    std::vector<found_place> found;
    bool is_complete = true; ///< the budget was sufficient
};

/// Searches the state of a key under policies that are not known, by SCAN.
/// @param budget the number of keys to examine, on each server
[[nodiscard]] search_result search(servers& in, std::string_view key, std::string_view prefix,
                                   const colimit::redis::key_tags& tags, std::uint64_t budget);

} // namespace tool
