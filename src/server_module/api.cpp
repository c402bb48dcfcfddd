// SPDX-License-Identifier: BSL-1.0
//
// Looks up the functions of the server.

#include <server_module/api.hpp>

#include <cstring>

namespace colimit::server_module::api {

// As in the header. NOLINTBEGIN(bugprone-macro-parentheses)
#define COLIMIT_API_DEFINE(name, text, result, types) result(*name) types = nullptr;
COLIMIT_API_REQUIRED(COLIMIT_API_DEFINE)
COLIMIT_API_OPTIONAL(COLIMIT_API_DEFINE)
#undef COLIMIT_API_DEFINE

namespace {

using look_up_function = int (*)(const char* name, void* function);

bool runs_on_valkey = false;

} // namespace

const char* look_up(context* where) noexcept {
    // The first member of a context is the function that returns all others.
    look_up_function find = nullptr;
    std::memcpy(static_cast<void*>(&find), where, sizeof find);

    const char* missing = nullptr;
#define COLIMIT_API_FIND(name, text, result, types)                                                \
    name = nullptr;                                                                                \
    if (find("RedisModule_" text, static_cast<void*>(&name)) != ok)                                \
        missing = "RedisModule_" text;
    COLIMIT_API_REQUIRED(COLIMIT_API_FIND)
#undef COLIMIT_API_FIND
#define COLIMIT_API_TRY(name, text, result, types)                                                 \
    name = nullptr;                                                                                \
    (void)find("RedisModule_" text, static_cast<void*>(&name));
    COLIMIT_API_OPTIONAL(COLIMIT_API_TRY)
#undef COLIMIT_API_TRY

    void* unused = nullptr;
    runs_on_valkey = find("ValkeyModule_CreateCommand", static_cast<void*>(&unused)) == ok;
    return missing;
}

// NOLINTEND(bugprone-macro-parentheses)

bool is_valkey() noexcept {
    return runs_on_valkey;
}

} // namespace colimit::server_module::api
