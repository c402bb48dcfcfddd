// SPDX-License-Identifier: BSL-1.0
//
// Whether an AOF or replicas read what is propagated. Effects that are not read are not made,
// as they cost as much as the checks.
//
// There is a backlog for replicas from the first command of a replica on, which INFO tells. It is
// asked only after something by which one may begin to listen:
//   - a replica that gets the whole dataset gets that of a child process, and what is propagated
//     after its birth, of which servers tell modules;
//   - a replica that gets only what it has missed needs a backlog, which is not there, or was made
//     when this server was a replica itself: it tells modules of each change of its role;
//   - the flags of each command say whether there is an AOF, and whether slots may be moving.

#pragma once

#include <server_module/api.hpp>

namespace colimit::server_module::listeners {

/// Asks the server to tell when one may begin to listen. Called when the module is loaded.
void watch(api::context* where) noexcept;

/// Returns false if what is propagated now is not read.
/// @param flags of the command's context
[[nodiscard]] bool exist(api::context* where, int flags) noexcept;

} // namespace colimit::server_module::listeners
