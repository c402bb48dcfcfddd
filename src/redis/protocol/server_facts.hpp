// SPDX-License-Identifier: BSL-1.0
//
// The results of a handshake: whether the server is a node of a cluster and, for transactions, the
// first part of the names of this connection's events and the server's time.

#ifndef COLIMIT_REDIS_PROTOCOL_SERVER_FACTS_HPP
#define COLIMIT_REDIS_PROTOCOL_SERVER_FACTS_HPP

#include <cstdint>
#include <string>

namespace colimit::redis {

struct server_facts {
    /// Unique to this connection in all runs of all servers: the server's run id, or the time of
    /// the handshake if INFO is not allowed, and the client id.
    std::string origin;
    bool is_cluster = false;   ///< it is a node of a cluster
    std::int64_t time = 0;     ///< of the server, when it executed TIME
    std::int64_t asked = 0;    ///< of this process, before TIME was sent
    std::int64_t answered = 0; ///< and after the reply arrived
};

} // namespace colimit::redis

#endif
