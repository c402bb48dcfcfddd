// SPDX-License-Identifier: BSL-1.0
//
// What a call under `--rule` does not see: states in the storage that `--packed` chooses, or does
// not. A call in the wrong one would succeed, and change nothing for the service.

#pragma once

#include <redis/protocol/key_tags.hpp>
#include <tool/frame/policy_options.hpp>
#include <tool/server/servers.hpp>

#include <string_view>

namespace tool {

/// Checks that a key without a state has none in the other storage; if that is packed, that no key
/// of the policy has. A server that denies EXISTS to the user is not examined.
/// @throws std::runtime_error that says which option is wrong
void require_no_other_storage(servers& at, const limited_key& limited, std::string_view prefix,
                              const colimit::redis::key_tags& tags);

} // namespace tool
