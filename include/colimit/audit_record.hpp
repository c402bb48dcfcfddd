// SPDX-License-Identifier: BSL-1.0
//
// A single call and its decision, for audit logs: the argument of `config::on_decision`.

#pragma once

#include <colimit/decision.hpp>
#include <colimit/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit {

/// The calls for which `config::on_decision` is called: one in so many of each kind, counted by the
/// limiter; 1 is every one, 0 none. With 1,000 it is the 1,000th, the 2,000th and so on.
struct audit_sampling {
    std::uint32_t allowed = 1;
    /// `outcome::denied` and `outcome::never`.
    std::uint32_t denied = 1;
    /// Calls that ended with an error, and calls that were cancelled.
    std::uint32_t failed = 1;
};

/// A call that has ended. Everything that it refers to lives until the function that receives it
/// returns.
struct audit_record {
    /// The key of the call, or the id of `once` and `seen`, as the caller stated it: any bytes, at
    /// most the first `limits::plain_key_bytes` of them. For logs: `log_text`.
    std::string_view key;
    /// The length of the key, in bytes.
    std::size_t key_size;
    /// The name of the policy or filter; empty for `once`.
    std::string_view policy;
    /// The name of the limiter's function: `allow`, `peek`, `charge`, `refund`, `reset`, `block`,
    /// `wait`, `acquire`, `once`, `seen`, `probably_seen`, `count_distinct`, `allow_all`. The parts
    /// of `allow_many`, `seen_many`, `probably_seen_many` and `charge_members` are `allow`, `seen`,
    /// `probably_seen` and `charge`.
    std::string_view verb;
    /// The cost of the call, in tokens; 0 for `reset`, `block` and `once`.
    std::int64_t cost;
    /// The error that the call ends with, if there is no decision.
    error_code ec;
    /// The decision of a call without an error. Of `allow_all`, which has a record per check, that
    /// of the check: a check that would be allowed has `granted` 0 if another one was denied.
    const decision& result;
    /// The number of calls that this one stands for: as in `audit_sampling`.
    std::uint32_t weight;
};

/// Returns bytes for a line of a log: in double quotes, with `\"` and `\\`, and with `\x0a` for all
/// that is not visible ASCII or a blank. So a client whose key it is can neither end the line, nor
/// forge another field, nor send commands to a terminal.
[[nodiscard]] std::string log_text(std::string_view bytes);

} // namespace colimit
