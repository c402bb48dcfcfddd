// SPDX-License-Identifier: BSL-1.0
//
// A batch of calls, as the script `check` or the server module gets it, and what it has decided:
// the decisions follow from the values in its reply, by the C++ twin, and must agree with what is
// stored afterwards.

#pragma once

#include "catalogue.hpp"
#include "ledger.hpp"
#include "server.hpp"

#include <core/evaluate.hpp>
#include <core/request_record.hpp>
#include <server_module/fake_data.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::simulation {

inline constexpr auto no_account = static_cast<std::size_t>(-1);

/// What a node knows of the state of a key.
struct history {
    std::size_t account = no_account;
    bool is_left_behind = false; ///< another node has taken over: its next write is on its own
};

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

/// @param command its second word is the number of keys
[[nodiscard]] batch read_batch(const catalogue& of, words command);

/// The node that has executed a batch.
struct execution_context {
    const catalogue& names;
    ledger& records;
    std::vector<history>& histories;
    const test::fake::data& keys; ///< afterwards
    std::int64_t clock;
    bool is_read_only;
    std::function<void(std::size_t state)> on_history; ///< a state has another account
};

/// Records what was decided.
/// @throws violation if the reply, or what is stored, is not what the twin computes
void account(const batch& b, std::string_view reply, execution_context& on);

} // namespace colimit::simulation
