// SPDX-License-Identifier: BSL-1.0
//
// The calls with ids of a history, as a store should remember them.

#pragma once

#include "history.hpp"

#include <base/bytes.hpp>
#include <colimit/decision.hpp>
#include <core/call_fault.hpp>
#include <policy/policy_data.hpp>
#include <policy/request_digest.hpp>
#include <redis/protocol/key.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace colimit::differential {

/// For the records of a history, which is over long before.
inline constexpr std::string_view record_ttl = " 3600000";

/// Returns the end of the name of a call's record.
[[nodiscard]] inline std::string record_of(std::string_view key, std::string_view id) {
    const auto hex = detail::hex_of(detail::record_digest(key, id));
    return std::string{redis::record_family}.append(hex.data(), hex.size());
}

struct known_call {
    core::call_request request;
    std::uint64_t version; ///< of the policy
    decision answer;

    /// Returns how a call with the same id differs from it.
    [[nodiscard]] detail::fault difference(const core::call_request& other,
                                           const detail::policy_data& policy) const {
        using detail::fault;
        return policy.version != version            ? fault::other_policy
               : other.verb != request.verb         ? fault::other_verb
               : other.cost != request.cost         ? fault::other_cost
               : other.at_least != request.at_least ? fault::other_at_least
               : policy.compiled.has_distinct && other.member != request.member
                   ? fault::other_member
                   : fault::none;
    }
};

class known_calls {
  public:
    /// Returns null if the call has no id, or one that is not known.
    [[nodiscard]] const known_call* find(std::size_t key, const core::call_request& request) const {
        const auto found = calls_.find({key, std::string{request.id}});
        return found == calls_.end() || !request.has_id ? nullptr : &found->second;
    }

    void remember(std::size_t key, const core::call_request& request,
                  const detail::policy_data& policy, const decision& answer) {
        if (request.has_id)
            calls_.emplace(std::pair{key, std::string{request.id}},
                           known_call{request, policy.version, answer});
    }

  private:
    std::map<std::pair<std::size_t, std::string>, known_call> calls_;
};

} // namespace colimit::differential
