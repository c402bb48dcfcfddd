// SPDX-License-Identifier: BSL-1.0
//
// The Lua scripts, embedded at build time by lua/embed.cmake: their bytes, and the SHA-1 of exactly
// these bytes, which SCRIPT LOAD returns and EVALSHA takes. Each NAME listed with its parts in
// lua/CMakeLists.txt becomes NAME_script and is declared here.
#pragma once

#include <string_view>

namespace colimit::redis {

struct script {
    std::string_view body;
    std::string_view sha1; // 40 lower-case hex digits
};

extern const script check_script;
extern const script seen_script;
extern const script permissions_script;

} // namespace colimit::redis
