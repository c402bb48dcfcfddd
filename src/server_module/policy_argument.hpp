// SPDX-License-Identifier: BSL-1.0
//
// The policies of a command.

#pragma once

#include <core/compiled_policy.hpp>

#include <string_view>

namespace colimit::server_module {

/// Decodes the policy at the beginning of `bytes`, and removes it from there. The last one is kept,
/// as a batch follows another one with the same policy, and to check a policy takes some 100 ns per
/// rule.
/// @throws colimit::error as core::decode_policy does
[[nodiscard]] core::compiled_policy take_policy(std::string_view& bytes);

} // namespace colimit::server_module
