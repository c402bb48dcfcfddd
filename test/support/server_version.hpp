// SPDX-License-Identifier: BSL-1.0
//
// Which server the tests run on. `test/run --servers` runs them on several, one after the other, by
// another redis-server at the front of PATH; where these differ, a test states what it expects of
// each.

#pragma once

#include <compare>
#include <string>

namespace colimit::test {

class raw_client;
class redis_server;

struct server_version {
    std::string name; ///< Redis or Valkey
    int major = 0;
    int minor = 0;
    int patch = 0;

    /// Such as `Valkey 9.1.2`.
    [[nodiscard]] std::string text() const;
    [[nodiscard]] bool is_redis() const { return name == "Redis"; }
    [[nodiscard]] bool is_valkey() const { return name == "Valkey"; }
    /// Returns whether it is of this version or later, by its own numbers.
    [[nodiscard]] bool is_at_least(int wanted_major, int wanted_minor) const {
        return major != wanted_major ? major > wanted_major : minor >= wanted_minor;
    }
};

/// Returns the version in the reply of INFO.
/// @throws std::runtime_error if it has none.
[[nodiscard]] server_version version_in(const std::string& info);

/// Asks a server for its version with INFO.
[[nodiscard]] server_version version_of(raw_client& server);

/// Ends the test if the environment variable COLIMIT_TEST_SERVER is set, such as to `Valkey 9.1.2`,
/// and the server reports another version: then the wrong redis-server was found. A server that
/// needs a password is not asked.
/// @throws std::runtime_error
void require_wanted_server(const redis_server& server);

} // namespace colimit::test
