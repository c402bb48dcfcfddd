// SPDX-License-Identifier: BSL-1.0
//
// A Redis server with counters: the handshake, the script `check` and the module with the same
// command, replication, and the rules of a cluster's node.

#pragma once

#include "batch.hpp"
#include "server.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::simulation {

class data_server;

/// What the cluster says to a node.
class slot_rules {
  public:
    virtual ~slot_rules() = default;
    /// Returns the error reply to a batch; empty if the node executes it.
    [[nodiscard]] virtual std::string refusal(const data_server& at, const batch& b,
                                              bool is_asking) = 0;
    [[nodiscard]] virtual std::string info(const data_server& at) = 0;
    [[nodiscard]] virtual std::string slots(const data_server& at) = 0;
};

class data_server final : public server {
  public:
    data_server(network& of, place where, const catalogue& names, ledger& records,
                slot_rules* rules = nullptr);

    [[nodiscard]] bool is_master() const noexcept { return master_ == nullptr; }
    [[nodiscard]] bool has(std::size_t state) const { return states_[state].value.has_value(); }
    /// Returns whether it has the state or a record of its calls.
    [[nodiscard]] bool has_any(std::size_t state) const;
    /// Returns how many keys of the batch it has.
    [[nodiscard]] std::size_t keys_of(const batch& b) const;
    [[nodiscard]] bool is_loading() noexcept { return loading_until_ > os().now(); }

    /// Begins to be a replica: has the state of the master, and then its writes a moment later.
    void follow(data_server& master, std::int64_t lag);
    /// Becomes a master. Writes that have not arrived are lost.
    /// @param is_orderly all have arrived, as with FAILOVER
    void take_over(bool is_orderly);
    /// The replication of its writes stops, without anyone noticing.
    void stop_replication() noexcept {
        for (auto* r : replicas_)
            r->lag_ = never / 2;
    }

    void kill() override;
    /// Starts again, without data, and is loading for so long.
    void start_empty(std::int64_t loading);
    void forget_scripts() { scripts_.clear(); }
    /// A state, and the records of its calls, move to another node of the cluster.
    void hand_over(std::size_t state, data_server& to);

    bool has_module = false; ///< the server module is loaded

  protected:
    std::int64_t execute(session& of, words command, std::string& out) override;

  private:
    struct write {
        std::int64_t at = 0; ///< when it arrives
        std::size_t state = 0;
        stored_state value{};
        std::string record{}; ///< the name, if it is the write of a record instead
        std::optional<stored_record> remembered{}; ///< none: it was removed
    };

    [[nodiscard]] bool greet(words command, std::string& out);
    [[nodiscard]] bool tell_about_cluster(words command, std::string& out);
    std::int64_t run_script(session& of, words command, std::string& out);
    std::int64_t run_module(session& of, words command, std::string& out);
    std::int64_t run_batch(session& of, words command, std::string& out);
    void load(std::string_view body, std::string& out);
    void on_write(std::size_t state);
    void on_record(const std::string& record);
    void replicate(write& w);
    void apply_writes(std::int64_t until);

    const catalogue& names_;
    ledger& records_;
    slot_rules* rules_;
    std::vector<stored_state> states_;
    stored_records remembered_;
    std::set<std::string, std::less<>> scripts_; ///< their digests
    data_server* master_ = nullptr;
    std::vector<data_server*> replicas_;
    std::int64_t lag_ = 0;
    std::deque<write> incoming_;
    std::int64_t loading_until_ = 0;
};

} // namespace colimit::simulation
