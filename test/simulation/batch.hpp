// SPDX-License-Identifier: BSL-1.0
//
// A batch of calls, as the script `check` or the server module gets it, and its execution: the C++
// twin of the script, on the states of one node.

#pragma once

#include "catalogue.hpp"
#include "ledger.hpp"
#include "server.hpp"

#include <core/evaluate.hpp>
#include <core/request_record.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::simulation {

inline constexpr auto no_account = static_cast<std::size_t>(-1);

/// The state of a key on a node.
struct stored_state {
    std::optional<std::string> value{};
    std::size_t account = no_account;
    bool is_left_behind = false; ///< another node has taken over: its next write is on its own
};

/// What a node remembers of a call with an id. No run lasts until it expires.
struct stored_record {
    std::size_t state = 0;
    std::string bytes{};
};

/// By the name of their key.
using stored_records = std::map<std::string, stored_record, std::less<>>;

struct batch {
    struct call {
        std::size_t key; ///< in `states`
        std::size_t times;
        core::call_request request;
        core::call_digests digests{}; ///< of a call with an id
    };
    std::vector<const detail::policy_data*> policies; ///< one, or one for each key
    std::vector<std::size_t> states;                  ///< the index of each key
    std::vector<std::string> record_names;            ///< of the calls' records, if they have ids
    std::vector<call> calls;
    std::string nonce;
    bool is_joint = false; ///< all or nothing

    [[nodiscard]] const detail::policy_data& policy_of(std::size_t key) const {
        return *policies[is_joint ? key : 0];
    }
};

/// @param command EVALSHA or EVAL of the script `check`, or COLIMIT.CHECK
[[nodiscard]] batch read_batch(const catalogue& of, words command);

/// What a batch needs of the node that executes it.
struct execution_context {
    const catalogue& names;
    ledger& records;
    std::vector<stored_state>& states;
    stored_records& remembered;
    std::int64_t clock;
    bool is_read_only;
    std::function<void(std::size_t state)> on_write;
    std::function<void(const std::string& record)> on_record;
};

/// Executes a batch and appends the reply.
void execute(const batch& b, execution_context& on, std::string& out);

} // namespace colimit::simulation
