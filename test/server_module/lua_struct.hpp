// SPDX-License-Identifier: BSL-1.0
//
// The library `struct` of servers, as far as the scripts use it: `<`, B, I, i, d and c, with sizes.

#pragma once

struct lua_State;

namespace colimit::test::fake {

/// Sets the global `struct`.
void open_struct(lua_State* in);

} // namespace colimit::test::fake
