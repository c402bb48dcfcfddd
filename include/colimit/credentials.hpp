// SPDX-License-Identifier: BSL-1.0
//
// User and password, as config::credentials returns them.

#pragma once

#include <string>

namespace colimit {

/// How a connection authenticates.
struct credentials {
    std::string user{};     ///< empty: the server's default user
    std::string password{}; ///< this and user empty: no authentication
};

} // namespace colimit
