// SPDX-License-Identifier: BSL-1.0
//
// The calls of a command: ARGV[5] of the script, see lua/check/policy.lua. All are read, and
// refused if one is not valid, before the first is made: so nothing is half done.

#pragma once

#include <colimit/detail/call_request.hpp>
#include <core/compiled_policy.hpp>
#include <core/request_record.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace colimit::server_module {

struct listed_call {
    std::uint32_t key;
    std::uint32_t times;
    detail::call_request request;
    core::call_digests digests = {}; ///< if it has an id
};

/// The calls that a policy's keys may have.
struct policy_keys {
    const core::compiled_policy* rules;
    std::size_t keys;
};

enum class call_form : std::uint8_t {
    any,
    together, ///< for `all or nothing`: without the short forms
    with_ids, ///< one call for each key, in their order
};

/// Appends the calls on the keys of these policies, which have the keys one after another.
/// @param now their time
/// @throws refusal
void read_calls(std::string_view bytes, std::span<const policy_keys> policies, call_form form,
                std::int64_t now, std::vector<listed_call>& calls);

} // namespace colimit::server_module
