// SPDX-License-Identifier: BSL-1.0
//
// The part of the server's module interface that is used here, declared from its documentation:
// https://redis.io/docs/latest/develop/reference/modules/modules-api-ref/ and
// https://valkey.io/topics/modules-api-ref/. The server gives a module one function, which returns
// the others by name. So one binary runs on every server that has the functions of the list.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colimit::server_module::api {

// The server's types, of which a module knows no more than the names.
struct context;
struct key;
struct string;
struct call_reply;
struct command;
struct command_info;

inline constexpr int ok = 0;
inline constexpr int failed = 1;
inline constexpr int version = 1;

// Modes of open_key and string_dma.
inline constexpr int read = 1;
inline constexpr int write = 2;

// Types of keys.
inline constexpr int is_empty = 0;
inline constexpr int is_string = 1;

// Types of replies.
inline constexpr int string_reply = 0;
inline constexpr int error_reply = 1;

// Flags of a context.
inline constexpr int is_in_cluster = 1 << 5;
inline constexpr int has_aof = 1 << 6;
inline constexpr int is_over_maxmemory = 1 << 10;
inline constexpr int is_replicated = 1 << 12;
inline constexpr int is_loading = 1 << 13;

// Options of a module.
inline constexpr int no_implicit_signal = 1 << 1;
inline constexpr int handles_slot_migration = 1 << 5; // of Valkey 9

using command_function = int (*)(context*, string**, int);

/// What SubscribeToServerEvent reports.
struct event {
    std::uint64_t id;
    std::uint64_t version;
};
inline constexpr event role_changed = {0, 1}; ///< to a master or to a replica
inline constexpr event fork_child = {13, 1};  ///< one was born, or has ended
using event_function = void (*)(context*, event, std::uint64_t subevent, void* data);

// Without any of these the module does not load. (C++ name, name in the documentation, type)
#define COLIMIT_API_REQUIRED(X)                                                                    \
    X(log, "Log", void, (context*, const char* level, const char* format, ...))                    \
    X(set_attributes, "SetModuleAttribs", int, (context*, const char* name, int, int api))         \
    X(is_name_busy, "IsModuleNameBusy", int, (const char* name))                                   \
    X(set_options, "SetModuleOptions", void, (context*, int options))                              \
    X(create_command, "CreateCommand", int,                                                        \
      (context*, const char* name, command_function, const char* flags, int first_key,             \
       int last_key, int step))                                                                    \
    X(is_keys_request, "IsKeysPositionRequest", int, (context*))                                   \
    X(key_at, "KeyAtPos", void, (context*, int position))                                          \
    X(context_flags, "GetContextFlags", int, (context*))                                           \
    X(string_data, "StringPtrLen", const char*, (const string*, std::size_t* size))                \
    X(create_string, "CreateString", string*, (context*, const char*, std::size_t))                \
    X(free_string, "FreeString", void, (context*, string*))                                        \
    X(open_key, "OpenKey", key*, (context*, string * name, int mode))                              \
    X(close_key, "CloseKey", void, (key*))                                                         \
    X(key_type, "KeyType", int, (key*))                                                            \
    X(string_dma, "StringDMA", char*, (key*, std::size_t* size, int mode))                         \
    X(string_truncate, "StringTruncate", int, (key*, std::size_t size))                            \
    X(delete_key, "DeleteKey", int, (key*))                                                        \
    X(set_expiry, "SetAbsExpire", int, (key*, long long milliseconds))                             \
    X(signal_modified, "SignalModifiedKey", int, (context*, string * name))                        \
    X(replicate, "Replicate", int, (context*, const char* command, const char* format, ...))       \
    X(replicate_command, "ReplicateVerbatim", int, (context*))                                     \
    X(call, "Call", call_reply*, (context*, const char* command, const char* format, ...))         \
    X(reply_type, "CallReplyType", int, (call_reply*))                                             \
    X(reply_integer, "CallReplyInteger", long long, (call_reply*))                                 \
    X(reply_element, "CallReplyArrayElement", call_reply*, (call_reply*, std::size_t))             \
    X(reply_data, "CallReplyStringPtr", const char*, (call_reply*, std::size_t* size))             \
    X(free_reply, "FreeCallReply", void, (call_reply*))                                            \
    X(send_array, "ReplyWithArray", int, (context*, long size))                                    \
    X(send_string, "ReplyWithStringBuffer", int, (context*, const char*, std::size_t))             \
    X(send_integer, "ReplyWithLongLong", int, (context*, long long))                               \
    X(send_null, "ReplyWithNull", int, (context*))                                                 \
    X(send_error, "ReplyWithError", int, (context*, const char*))

// What older servers lack is null there.
#define COLIMIT_API_OPTIONAL(X)                                                                    \
    X(get_command, "GetCommand", command*, (context*, const char* name))                           \
    X(set_command_info, "SetCommandInfo", int, (command*, const command_info*))                    \
    X(send_map, "ReplyWithMap", int, (context*, long size))                                        \
    X(subscribe, "SubscribeToServerEvent", int, (context*, event, event_function))                 \
    X(set_categories, "SetCommandACLCategories", int, (command*, const char* categories))

// The names are declared, so parentheses cannot enclose them.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define COLIMIT_API_DECLARE(name, text, result, types) extern result(*name) types;
COLIMIT_API_REQUIRED(COLIMIT_API_DECLARE)
COLIMIT_API_OPTIONAL(COLIMIT_API_DECLARE)
#undef COLIMIT_API_DECLARE
// NOLINTEND(bugprone-macro-parentheses)

/// Looks all of them up. Returns the name of a required one that the server lacks; nullptr: none.
[[nodiscard]] const char* look_up(context* where) noexcept;

/// Returns whether the server is Valkey. Valid after look_up.
[[nodiscard]] bool is_valkey() noexcept;

[[nodiscard]] inline std::string_view text_of(const string* s) noexcept {
    std::size_t size = 0;
    const char* data = string_data(s, &size);
    return {data, size};
}

} // namespace colimit::server_module::api
