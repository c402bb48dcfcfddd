// SPDX-License-Identifier: BSL-1.0
//
// The most limited among the states that were read: how much of its limit a key has used, and how
// fast it uses it. No servers, no clock.

#pragma once

#include <colimit/policy.hpp>
#include <tool/stored/stored_value.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

/// A state that was read.
struct sample {
    std::string policy;
    std::string key;
    std::string rule;                    ///< of a window in a transaction; empty otherwise
    std::string value;                   ///< as stored
    std::vector<stored_slot> slots;      ///< the same
    std::optional<std::int64_t> events;  ///< of a log or a window, instead of a value
    std::optional<std::int64_t> holders; ///< of slots, instead of a value
};

/// A line of the table.
struct ranked {
    std::string policy;
    std::string key;
    std::optional<std::int64_t> left;  ///< known with the policy
    std::optional<std::int64_t> limit; ///< known with the policy, or stored
    double used = 0;                   ///< tokens
    bool is_denied = false;            ///< known with the policy
    std::optional<double> rate;        ///< tokens per second, since the previous time
};

class ranking {
  public:
    explicit ranking(std::vector<colimit::policy> known) : known_(std::move(known)) {}

    /// Takes a state.
    /// @param name identifies it: the Redis key and the field
    /// @param now of the server, in microseconds
    void take(const std::string& name, sample read, std::int64_t now);
    /// Forgets a state that is not stored any more.
    void forget(const std::string& name) { entries_.erase(name); }

    /// Returns the most limited, at most `count`: by the share of their limit that is used, then by
    /// rate. Keys that are not among the first `places` are forgotten.
    [[nodiscard]] std::vector<ranked> most(std::size_t count);
    /// Returns the names of those that are worth reading again.
    [[nodiscard]] std::vector<std::string> names() const;

    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

    static constexpr std::size_t places = 1000;

  private:
    struct entry {
        sample last;
        ranked line;
        std::int64_t at = 0;
    };

    [[nodiscard]] const colimit::policy* find(std::string_view policy) const;
    [[nodiscard]] ranked line_of(const sample& s, std::int64_t now) const;

    std::vector<colimit::policy> known_;
    std::map<std::string, entry> entries_;
};

} // namespace tool
