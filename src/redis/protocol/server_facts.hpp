// SPDX-License-Identifier: BSL-1.0
//
// What a greeting finds out about a server, for who asks it by MULTI: where this connection's
// events get their names, and a first look at its clock.

#ifndef COLIMIT_REDIS_PROTOCOL_SERVER_FACTS_HPP
#define COLIMIT_REDIS_PROTOCOL_SERVER_FACTS_HPP

#include <cstdint>
#include <string>

namespace colimit::redis {

struct server_facts {
    /// Of this connection alone, in all runs of all servers: the server's run id, or the time of
    /// the greeting where INFO is not allowed, and the client id.
    std::string origin;
    bool is_cluster = false;   ///< it is a node of a cluster
    std::int64_t time = 0;     ///< of the server, when it was asked
    std::int64_t asked = 0;    ///< of this process, before the question left
    std::int64_t answered = 0; ///< and after the answer came
};

} // namespace colimit::redis

#endif
