// SPDX-License-Identifier: BSL-1.0
//
// A row of packed states as the server should hold it: the hash of this generation and the one
// before, as two maps.

#pragma once

#include <core/compiled_policy.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace colimit::differential {

struct row_hash {
    std::map<std::string, std::string> fields; ///< the head's name is empty
    bool foreign = false;                      ///< it is no hash
    /// Its TTL after the current batch, in milliseconds, or unchanged.
    std::optional<std::int64_t> lives_for;
    std::int64_t end = -2; ///< as PEXPIRETIME answers
};

class row_model {
  public:
    static constexpr std::size_t new_hash = 0;
    static constexpr std::size_t old_hash = 1;

    [[nodiscard]] row_hash& operator[](std::size_t hash) { return hashes_[hash]; }

    /// The value as the script reads it, where brief ones of other numbers are made whole.
    [[nodiscard]] std::optional<std::string> find(const core::compiled_policy& rules,
                                                  const std::string& field) const;

    /// Returns whether values written now are brief.
    [[nodiscard]] bool is_brief(const core::compiled_policy& rules) const;

    /// Returns whether a write would find something else in its way.
    [[nodiscard]] bool turns(const core::compiled_policy& rules, std::int64_t now) const;

    /// Before the first write of a batch: a new generation begins, if it is time.
    /// @param matters for how long what is written matters
    /// @param least_ms how long it lives at least
    /// @param supplied the time is no server's: nothing is promised
    void open(const core::compiled_policy& rules, std::int64_t now, std::int64_t matters,
              std::int64_t least_ms, bool supplied);
    /// @param value whole
    /// @param brief as `is_brief` said before the batch
    void write(const core::compiled_policy& rules, const std::string& field,
               const std::string& value, bool brief);
    void erase(const std::string& field);

  private:
    struct head {
        double since = -1;
        double ends = 0;
        std::string numbers; ///< the plan's, where there is no head
        double longest = 0;  ///< generation of its states, and of those in the old hash
        double before = 0;

        [[nodiscard]] double lasts(const core::compiled_policy& rules) const;
    };
    [[nodiscard]] head read_head(const core::compiled_policy& rules, std::size_t hash) const;

    std::array<row_hash, 2> hashes_;
};

} // namespace colimit::differential
