// SPDX-License-Identifier: BSL-1.0
//
// Whether a configuration makes sense, asked once when a limiter is made.

#ifndef COLIMIT_API_CONFIG_CHECK_HPP
#define COLIMIT_API_CONFIG_CHECK_HPP

#include <colimit/config.hpp>

namespace colimit {

/// Checks all but `config::server`, which redis::parse_address reads.
/// @throws colimit::error with `errc::invalid_config`: the member, its value and what is allowed.
void validate(const config& settings);

/// Checks that `config::tls` fits the address, and its members each other. What is in the files is
/// looked at by redis::tls_context.
/// @throws colimit::error with `errc::invalid_config`: the member, and what is wrong.
void validate(const tls_options& options, bool is_used);

} // namespace colimit

#endif
