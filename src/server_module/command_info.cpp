// SPDX-License-Identifier: BSL-1.0
//
// Creates the commands. Servers since Redis 7.0 and Valkey 7.2 also learn where the keys are, which
// ACLs and clusters need; older ones ask the command.

#include <server_module/allow_command.hpp>
#include <server_module/check_command.hpp>
#include <server_module/command_info.hpp>
#include <server_module/seen_command.hpp>
#include <server_module/throttle_command.hpp>

#include <array>
#include <cstdint>

namespace colimit::server_module {
namespace api {

// The structures of SetCommandInfo, in their first version.

struct info_version {
    int number = 1;
    std::size_t history_entry = 2 * sizeof(char*);
    std::size_t key_spec;
    std::size_t argument;
};

struct key_spec {
    const char* notes;
    std::uint64_t flags;
    int begin_search;
    union {
        struct {
            int position;
        } index;
        struct {
            const char* word;
            int from;
        } keyword;
    } begin;
    int find_keys;
    union {
        struct {
            int last;
            int step;
            int limit;
        } range;
        struct {
            int count_at;
            int first;
            int step;
        } counted;
    } find;
};

struct command_argument {
    const char* name;
    int type;
    int key_spec;
    const char* token;
    const char* summary;
    const char* since;
    int flags;
    const char* deprecated_since;
    command_argument* parts;
};

struct command_info {
    const info_version* version;
    const char* summary;
    const char* complexity;
    const char* since;
    void* history;
    const char** tips;
    int arity;
    key_spec* keys;
    command_argument* arguments;
};

namespace {

constexpr auto info_version_1 =
    info_version{.key_spec = sizeof(key_spec), .argument = sizeof(command_argument)};

constexpr std::uint64_t reads_and_writes = 1U << 1;
constexpr std::uint64_t returns_value = 1U << 4;
constexpr std::uint64_t updates = 1U << 5;

constexpr int at_index = 2;
constexpr int in_range = 2;
constexpr int by_count = 3;

} // namespace
} // namespace api

namespace {

/// Where a command has its keys.
enum class key_place { one, counted };

struct command_entry {
    const char* name;
    api::command_function run;
    const char* flags;
    key_place keys;
    int arity;
    const char* summary;
    const char* complexity;
};

constexpr auto commands = std::to_array<command_entry>({
    {check_name, check_command, "write getkeys-api", key_place::counted, -2,
     "Makes checks of a rate limit on many keys of one policy.",
     "O(N) in the number of keys, and O(log(M)) in the number of events of a log."},
    {seen_name, seen_command, "write getkeys-api", key_place::counted, -7,
     "Looks ids of a Bloom filter up, and records new ones.", "O(N) in the number of ids."},
    {allow_name, allow_command, "write deny-oom fast", key_place::one, -5,
     "Makes a check of a limit whose numbers are arguments.", "O(1)"},
    {throttle_name, throttle_command, "write deny-oom fast", key_place::one, -5,
     "Makes a check of a limit as the module redis-cell does.", "O(1)"},
});

[[nodiscard]] api::key_spec key_spec_of(key_place place) noexcept {
    auto spec = api::key_spec{};
    spec.flags = api::reads_and_writes | api::returns_value | api::updates;
    spec.begin_search = api::at_index;
    spec.begin.index = {1};
    if (place == key_place::one) {
        spec.find_keys = api::in_range;
        spec.find.range = {0, 1, 0};
    } else {
        spec.find_keys = api::by_count;
        spec.find.counted = {0, 1, 1};
    }
    return spec;
}

[[nodiscard]] bool describe(api::context* where, const command_entry& entry) {
    if (api::get_command == nullptr)
        return true;
    auto* made = api::get_command(where, entry.name);
    auto keys = std::array<api::key_spec, 2>{key_spec_of(entry.keys), api::key_spec{}};
    const auto info = api::command_info{.version = &api::info_version_1,
                                        .summary = entry.summary,
                                        .complexity = entry.complexity,
                                        .since = "0.1.0",
                                        .history = nullptr,
                                        .tips = nullptr,
                                        .arity = entry.arity,
                                        .keys = keys.data(),
                                        .arguments = nullptr};
    if (api::set_command_info != nullptr && api::set_command_info(made, &info) != api::ok)
        return false;
    return api::set_categories == nullptr || api::set_categories(made, "write") == api::ok;
}

[[nodiscard]] bool create(api::context* where, const command_entry& entry) {
    const auto key = entry.keys == key_place::one ? 1 : 0;
    return api::create_command(where, entry.name, entry.run, entry.flags, key, key, key) ==
               api::ok &&
           describe(where, entry);
}

} // namespace

bool create_commands(api::context* where) {
    for (const auto& entry : commands)
        if (!create(where, entry)) {
            if (entry.run == throttle_command) { // of redis-cell, which was loaded earlier
                api::log(where, "notice", "colimit: %s stays the command of another module",
                         entry.name);
                continue;
            }
            api::log(where, "warning", "colimit: the server refuses the command %s", entry.name);
            return false;
        }
    return true;
}

} // namespace colimit::server_module
