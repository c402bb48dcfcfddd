// SPDX-License-Identifier: BSL-1.0
//
// One trial of leases on a connection that is cut. Two keys take a lease in one command, and later
// the first one takes the next lease while some of the former one is left; one of these commands is
// cut. Then the limiter calls on another connection, and at last it spends what it holds without a
// server. Callers are granted what the server has charged, except what a lost reply would have
// brought: whether there was one is computed from the bytes that have passed.

#pragma once

#include <faults/cuts.hpp>
#include <faults/lease_calls.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::test {

/// The command that is cut, and how the server executes it.
struct lease_command {
    enum class step : std::uint8_t { take, renew };

    std::string_view name;
    step cut;
    module_use server_module = module_use::never;
    /// The server does not know the script of the command that takes the first leases: NOSCRIPT,
    /// SCRIPT LOAD and EVAL.
    bool is_forgotten = false;

    /// Returns the message that is sent first. The calls before it, that make leases worth it, are
    /// one message.
    [[nodiscard]] std::size_t first_message() const {
        const auto is_plain = server_module == module_use::never;
        return (is_plain ? plain_handshake : module_handshake) + (cut == step::take ? 1U : 2U);
    }
    /// Returns the message that the server executes.
    [[nodiscard]] std::size_t last_message() const {
        return first_message() + (is_forgotten ? 2U : 0U);
    }
};

/// A conversation without a fault.
struct measured_lease {
    traffic seen;
    of_keys charged{};        ///< by the command that is cut
    int calls_of_a_lease = 0; ///< those for the first key before one asks for the next lease
};

struct lease_trial {
    int number; ///< of its keys
    fault wrong{};
    std::chrono::milliseconds silence{100};
};

/// The results of several trials.
struct lease_findings {
    int heard = 0;
    int unheard = 0;
    int lost = 0;   ///< unheard, and executed
    int lapsed = 0; ///< trials in which tokens have lapsed
    std::vector<std::string> wrong = {};
    /// Trials in which a timeout that is short for the sake of silence ended another call than that
    /// of the fault, or came before it could strike: on a busy machine.
    std::vector<lease_trial> disturbed = {};
};

/// Runs a conversation without a fault.
/// @param look a limiter that asks the server itself
/// @param number of its keys
asio::awaitable<measured_lease> measure_lease(asio::io_context& context, const std::string& server,
                                              const lease_command& command, limiter& look,
                                              int number);

asio::awaitable<void> run_lease_trial(asio::io_context& context, const std::string& server,
                                      const lease_command& command, limiter& look,
                                      const measured_lease& usual, const lease_trial& t,
                                      lease_findings& into);

} // namespace colimit::test
