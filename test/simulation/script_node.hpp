// SPDX-License-Identifier: BSL-1.0
//
// A simulated server that has keys: it runs the scripts of lua/ and the sources of the server
// module on them, so both must leave what the other one reads.

#pragma once

#include "redis_node.hpp"

#include <redis/protocol/script.hpp>
#include <server_module/fake_server.hpp>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::simulation {

class script_node : public redis_node {
  public:
    script_node(network& of, place where, slot_rules* rules);

    bool has_functions = false; ///< the library of this build

    void forget_scripts() override { scripts_.clear(); }
    [[nodiscard]] bool has(std::string_view key) const override;
    [[nodiscard]] std::vector<std::string> keys_in(std::size_t slot) const override;
    void hand_over(const std::string& key, redis_node& to) override;

    /// Returns its keys as they are now.
    [[nodiscard]] test::fake::data& keys();

  protected:
    void copy_data(const redis_node& master) override;
    void clear() override { server_.keys.clear(); }

    /// Executes SCRIPT, EVAL, EVALSHA, FCALL and the commands of the module. Returns false if the
    /// command is of another kind.
    [[nodiscard]] bool run_script(session& of, words command, std::string& out);
    /// Runs a script, or a command of the module, unless the cluster refuses its keys.
    /// @param script null: the command is one of the module
    /// @param command its second word is the number of keys
    void run_checks(session& of, const redis::script* script, words command, std::string& out);
    /// Called by it, with the time and the conditions of the server.
    virtual std::string execute_checks(const redis::script* script, words command);
    void send_to_replicas(const test::fake::words& command);

    [[nodiscard]] virtual bool refuses_writes() const noexcept { return !is_master(); }
    /// Erases what has expired. Called before a command is executed, also one of its master.
    virtual void expire() { (void)keys(); }

    test::fake::server server_;

  private:
    void load_script(std::string_view body, std::string& out);

    std::set<std::string, std::less<>> scripts_; ///< their digests
};

/// The words of a command, of which the first one is in upper case.
[[nodiscard]] test::fake::words owned(words command);

} // namespace colimit::simulation
