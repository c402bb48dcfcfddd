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
#include <vector>

namespace colimit::server_module {

/// Returns the number of keys, which are arguments after the optional one. @throws refusal
[[nodiscard]] std::size_t packed_keys(const script_arguments& from);

class packed_calls final : public key_calls {
  public:
    /// Reads the states. The sizes of shards are checked, as by packed_keys.
    packed_calls(command_run& run, const core::compiled_policy& rules, const script_arguments& from,
                 key_results& results);

    void begin(std::size_t key) override;
    void make(const listed_call& call, pass how) override;
    void finish() override;
    [[nodiscard]] bool finds_stale() const noexcept override { return false; }

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
    std::vector<packed_write> writes_{};
    std::size_t key_ = 0;
};

} // namespace colimit::server_module
