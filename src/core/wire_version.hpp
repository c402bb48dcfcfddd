// SPDX-License-Identifier: BSL-1.0
//
// The version of what processes and servers exchange and store.
//
// A module could be replaced between two batches, and a connection would not notice. So a version
// with another wire format renames its commands: an old limiter finds its command unknown, as a
// script of another version has another digest. The version in the reply is a second check, and
// text for people.

#pragma once

#include <cstdint>

namespace colimit::core {

/// Increased, from the first release on, by every change to the scripts' keys, arguments, stored
/// values, arithmetic or replies. A server module with another version than the library is not
/// used. Its command has another name, too: COLIMIT.CHECK2 and so on, so that a library of this
/// version that was not told of the change meets an unknown command, and uses the script.
inline constexpr std::int64_t wire_version = 1;

} // namespace colimit::core
