// SPDX-License-Identifier: BSL-1.0
//
// A Redis server with counters, whose ledger hears of all that it decides.

#pragma once

#include "batch.hpp"
#include "script_node.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace colimit::simulation {

class data_server final : public script_node {
  public:
    data_server(network& of, place where, const catalogue& names, ledger& records,
                slot_rules* rules = nullptr);

    /// A state, and the records of calls in its slot, move to another node of the cluster.
    void hand_over(const std::string& key, redis_node& to) override;

  protected:
    std::int64_t execute(session& of, words command, std::string& out) override;
    std::string execute_checks(const redis::script* script, words command) override;
    void copy_data(const redis_node& master) override;
    void be_left() override;
    void clear() override;

  private:
    void expire() override;
    void make_mistakes(const batch& b);
    void replicate_history(std::size_t state);

    const catalogue& names_;
    ledger& records_;
    std::vector<history> histories_; ///< of each state
};

} // namespace colimit::simulation
