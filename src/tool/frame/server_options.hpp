// SPDX-License-Identifier: BSL-1.0
//
// The options that name a server, which many commands have: --server and those that must be the
// same as in the processes that share the counters.

#pragma once

#include <colimit/config.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace tool {

/// Replaces an address `env:NAME` by the value of that environment variable: a password in an
/// address can be read by every user of the machine, as part of the list of processes.
[[nodiscard]] CLI::Validator address_of_variable();

/// Returns whether an address is `memory:`, in any spelling.
/// @throws colimit::error as a limiter does, if it is not an address
[[nodiscard]] bool is_in_memory(const std::string& server);

struct server_options {
    std::string server; ///< the address; by default that of COLIMIT_SERVER, else the local one
    std::string prefix = "colimit";
    std::size_t hash_tags = 64;
    std::string mode = "script";
    std::string server_module = "if_available";
    double timeout = 5; ///< seconds
    bool is_verbose = false;
    colimit::tls_options tls;
    const CLI::Option* prefix_option = nullptr;
    std::vector<const CLI::Option*> of_servers; ///< those that `memory:` ignores
    std::vector<const CLI::Option*> of_calls;   ///< of these, those of how calls are executed

    /// Declares the options of any command that uses a server.
    /// @param is_required whether `--server` must be given, without a default
    void declare(CLI::App& app, bool is_required = false);
    /// Declares `--hash-tags`, which says where the state of a key is.
    void declare_tags(CLI::App& app);
    /// Declares the options of how a limiter executes calls.
    void declare_calls(CLI::App& app);
    /// Returns where keys with this prefix are searched: `prefix colimit, 64 tags, database 0`.
    [[nodiscard]] std::string place_text(std::string_view key_prefix) const;

    /// Returns a configuration in which calls end with errors, not with decisions of a failure
    /// mode.
    [[nodiscard]] colimit::config config() const;
};

} // namespace tool
