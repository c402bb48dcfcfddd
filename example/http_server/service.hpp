// SPDX-License-Identifier: BSL-1.0
//
// What all connections share.

#pragma once

#include "event_stream.hpp"
#include "monitor.hpp"

#include <colimit/http_guard.hpp>
#include <colimit/limiter.hpp>
#include <colimit/policy_source.hpp>

namespace http_server {

struct service {
    colimit::limiter& limiter;
    const colimit::policy_source& policies;
    const colimit::http::guard& guard;
    monitor& watch;
    event_stream& events;
    bool is_limiting = true;
};

} // namespace http_server
