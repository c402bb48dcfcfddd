// SPDX-License-Identifier: BSL-1.0
//
// Calls on packed states: all are read before the first call, and written after the last one, each
// shard at once.

#pragma once

#include <server_module/key_calls.hpp>
#include <server_module/packed_shard.hpp>
#include <server_module/policy_states.hpp>
#include <server_module/script_arguments.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace colimit::server_module {

/// Returns the number of keys, which are arguments after the optional one. @throws refusal
/// @param has_ids there is a record for each of them
[[nodiscard]] std::size_t packed_keys(const script_arguments& from, bool has_ids);

class packed_calls final : public key_calls {
  public:
    /// Reads the states. The sizes of shards are checked, as by packed_keys.
    packed_calls(command_run& run, const core::compiled_policy& rules, const script_arguments& from,
                 key_results& results);

    void begin(std::size_t key) override;
    void make(const listed_call& call, pass how) override;
    void finish() override;
    [[nodiscard]] bool finds_stale() const noexcept override { return false; }
    /// Sets the value of a key to what an earlier call on its field has left. Calls with ids may
    /// have one field.
    void take_left(std::size_t key);

    /// Writes the states that have changed, after the last key.
    void write();
    /// Sends the values found, an array for each shard.
    void send_values(const command_run& run) const noexcept;
    [[nodiscard]] std::size_t shards() const noexcept { return shards_.size(); }

  private:
    key_results& results_;
    shard_policy policy_;
    policy_states states_;
    std::vector<packed_shard> shards_{};
    std::span<api::string*> fields_; ///< of all keys
    /// By key, as calls may be on keys in any order; nullopt: nothing is to be written.
    std::vector<std::optional<packed_write>> writes_{};
    /// With ids: the last key that writes a field, and that of the current one.
    std::map<std::string_view, std::optional<std::size_t>> writers_{};
    std::optional<std::size_t>* writer_ = nullptr;
    std::size_t key_ = 0;
};

} // namespace colimit::server_module
