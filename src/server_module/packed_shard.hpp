// SPDX-License-Identifier: BSL-1.0
//
// A shard of packed states: the hash of this generation and that of the previous one, the twin of
// lua/check/shards.lua, which explains them.

#pragma once

#include <core/compiled_policy.hpp>
#include <core/state_encoding.hpp>
#include <server_module/key_results.hpp>
#include <server_module/server_call.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::server_module {

/// What all shards of a command share.
struct shard_policy {
    explicit shard_policy(const core::compiled_policy& rules) noexcept
        : generation(rules.generation), has_brief_values(core::has_brief_values(rules)),
          own(core::brief_numbers_of(rules)) {}

    std::int64_t generation;
    bool has_brief_values;
    core::brief_numbers own;
};

/// What is to be written of a key.
struct packed_write {
    std::size_t key;
    std::optional<std::string> value = {}; ///< whole; nullopt: there is no state any more
    bool gives_back;
    std::int64_t matters = 0; ///< for how long, in microseconds
};

class packed_shard {
  public:
    /// @param fields of the keys, the first of which has the index `first` in the results
    packed_shard(command_run& run, const shard_policy& policy, api::string* new_hash,
                 api::string* old_hash, std::span<api::string*> fields, std::size_t first) noexcept
        : run_(run), policy_(policy), new_(new_hash), old_(old_hash), fields_(fields),
          first_(first) {}

    [[nodiscard]] std::size_t first() const noexcept { return first_; }
    [[nodiscard]] std::size_t size() const noexcept { return fields_.size(); }

    /// Passes the values found to the results, whole if they have other numbers than the policy's.
    void read(key_results& results);
    /// Writes what is to be written of its keys, and passes errors to the results.
    void write(std::span<std::optional<packed_write>> states, key_results& results);

  private:
    struct head {
        double since = -1; ///< negative: there is none
        double ends = 0;   ///< the hash does not expire before
        core::brief_numbers numbers;
        std::int64_t longest = 0; ///< generation of its states
        std::int64_t before = 0;  ///< and of those in the old hash when it began
    };
    class arguments;

    [[nodiscard]] head read_head(std::optional<std::string_view> bytes) const noexcept;
    [[nodiscard]] std::string head_bytes() const;
    [[nodiscard]] double lasts() const noexcept;
    [[nodiscard]] bool is_open() const noexcept;
    void set_found(key_results& results, std::size_t index, std::string_view value,
                   const head& of) const;
    void read_old(key_results& results, std::span<const std::size_t> missing);

    void erase(const packed_write& state, key_results& results);
    void rewrite(const packed_write& state, key_results& results);
    void write_all(std::span<const packed_write> states, std::int64_t matters);
    void fail(std::span<const packed_write> states, std::string_view error, key_results& results);
    [[nodiscard]] expiry open(std::int64_t matters);
    void begin_generation();

    command_run& run_;
    const shard_policy& policy_;
    api::string* new_;
    api::string* old_;
    std::span<api::string*> fields_;
    std::size_t first_;
    head head_{};
};

} // namespace colimit::server_module
