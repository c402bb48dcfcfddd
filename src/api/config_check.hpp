// SPDX-License-Identifier: BSL-1.0
//
// Validates a configuration, once per limiter.

#pragma once

#include <colimit/config.hpp>

namespace colimit {

/// Checks all but `config::server`, which redis::parse_address reads.
/// @throws colimit::error with `errc::invalid_config`: names the member, its value and the allowed
/// ones.
void validate(const config& settings);

/// Checks that `config::tls` is consistent with the address, and its members with each other.
/// redis::tls_context checks the contents of the files.
/// @throws colimit::error with `errc::invalid_config`: names the member and the problem.
void validate(const tls_options& options, bool is_used);

} // namespace colimit
