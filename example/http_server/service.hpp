// SPDX-License-Identifier: BSL-1.0
//
// What all connections share.

#pragma once

#include "event_stream.hpp"
#include "monitor.hpp"

#include <colimit/http_guard.hpp>
#include <colimit/limiter.hpp>
#include <colimit/local_limiter.hpp>
#include <colimit/policy_source.hpp>

#include <cstddef>
#include <list>
#include <string>
#include <vector>

namespace http_server {

class session;

struct service {
    colimit::limiter& limiter;
    const colimit::policy_source& policies;
    const colimit::http::guard& guard;
    monitor& watch;
    event_stream& events;
    bool is_limiting = true;
    std::vector<std::string> hosts; ///< names of this server
    /// Connections that wait for their clients, those that wait longest first.
    std::list<session*> waiting{};
    /// Of readers of the metrics, whose text may cost as much as thousands of decisions. It is not
    /// the document's, and counts here, so that a server without Redis can still be watched.
    colimit::local_limiter readers{std::size_t{1024} * 16};
};

} // namespace http_server
