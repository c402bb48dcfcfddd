// SPDX-License-Identifier: BSL-1.0
//
// What a call does not see: states in the storage that `--packed` chooses, or does not, and those
// of another `--mode`. A call in the wrong place would succeed, and change nothing for the service.

#pragma once

#include <redis/protocol/key_tags.hpp>
#include <tool/frame/policy_options.hpp>
#include <tool/server/servers.hpp>

#include <string_view>

namespace tool {

inline constexpr std::string_view or_packed =
    "expected --policies with the document of the service, or --packed";

/// Checks that a key without a state has none in the other storage; if that is packed, that no key
/// of the policy has. A server that denies EXISTS to the user is not examined.
/// @param expected instead of packed states: `--policies with the document of the service`
/// @throws std::runtime_error that says which option is wrong
void require_no_other_storage(servers& at, const limited_key& limited, std::string_view prefix,
                              const colimit::redis::key_tags& tags,
                              std::string_view expected = or_packed);

/// Checks that a key without a state has none of the other mode: `multi`, or the others. A server
/// that denies EXISTS to the user is not examined.
/// @throws std::runtime_error that says which mode has the state
void require_no_other_mode(servers& at, const limited_key& limited, std::string_view prefix,
                           const colimit::redis::key_tags& tags, bool is_multi);

} // namespace tool
