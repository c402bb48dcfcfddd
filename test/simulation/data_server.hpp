// SPDX-License-Identifier: BSL-1.0
//
// A Redis server with counters: the handshake, the script `check` and the module with the same
// command, replication, and the rules of a cluster's node.

#pragma once

#include "batch.hpp"
#include "redis_node.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::simulation {

class data_server final : public redis_node {
  public:
    data_server(network& of, place where, const catalogue& names, ledger& records,
                slot_rules* rules = nullptr);

    [[nodiscard]] bool has(std::string_view key) const override;
    [[nodiscard]] std::vector<std::string> keys_in(std::size_t slot) const override;
    /// A state, and the records of its calls, move to another node of the cluster.
    void hand_over(const std::string& key, redis_node& to) override;
    void forget_scripts() override { scripts_.clear(); }

  protected:
    std::int64_t execute(session& of, words command, std::string& out) override;
    void copy_data(const redis_node& master) override;
    void be_left() override;
    void clear() override;

  private:
    std::int64_t run_script(session& of, words command, std::string& out);
    std::int64_t run_module(session& of, words command, std::string& out);
    std::int64_t run_batch(session& of, words command, std::string& out);
    void load(std::string_view body, std::string& out);
    void on_write(std::size_t state);
    void on_record(const std::string& record);
    [[nodiscard]] bool has_any(std::size_t state) const;

    const catalogue& names_;
    ledger& records_;
    std::vector<stored_state> states_;
    stored_records remembered_;
    std::set<std::string, std::less<>> scripts_; ///< their digests
};

} // namespace colimit::simulation
