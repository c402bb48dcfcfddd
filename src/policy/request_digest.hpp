// SPDX-License-Identifier: BSL-1.0
//
// The digests of a call with an id: of the name of its record, and of the arguments in it. They are
// the same in every process.

#pragma once

#include <core/request_record.hpp>
#include <policy/policy_data.hpp>

#include <array>
#include <string_view>

namespace colimit::detail {

/// Returns the digest that names the record of a call.
[[nodiscard]] std::array<unsigned char, 16> record_digest(std::string_view key,
                                                          std::string_view id) noexcept;

[[nodiscard]] core::call_digests digests_of(const policy_data& p,
                                            const call_request& request) noexcept;

} // namespace colimit::detail
