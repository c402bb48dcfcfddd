// SPDX-License-Identifier: BSL-1.0
//
// Validates a configuration, once per limiter.

#pragma once

#include <colimit/config.hpp>
#include <redis/connection/address.hpp>

namespace colimit {

/// Checks a configuration, and returns its address.
/// @throws colimit::error with `errc::invalid_config`: names member, value and allowed values.
[[nodiscard]] redis::address checked_address(const config& settings);

/// Checks all but `config::server`, which redis::parse_address reads.
/// @throws colimit::error with `errc::invalid_config`: names member, value and allowed values.
void validate(const config& settings);

/// Checks that `config::tls` is consistent with the address, and its members with each other.
/// redis::tls_context checks the contents of the files.
/// @throws colimit::error with `errc::invalid_config`: names the member and the problem.
void validate(const tls_options& options, bool is_used);

/// Checks that the address leaves the credentials to `config::credentials` and
/// `sentinel_credentials`, where they are given.
/// @throws colimit::error with `errc::invalid_config`: the member and the problem.
void check_credentials_sources(const config& settings, const redis::address& where);

/// Checks that options fit to an address with or without a cluster.
/// @throws colimit::error with `errc::invalid_config`: the member and the problem.
void check_cluster_options(const config& settings, const redis::address& where);

} // namespace colimit
