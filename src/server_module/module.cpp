// SPDX-License-Identifier: BSL-1.0
//
// What the server calls when it loads the module: the commands, their flags, keys and categories;
// and when it unloads it.

#include <server_module/api.hpp>
#include <server_module/check_command.hpp>
#include <server_module/command_info.hpp>
#include <server_module/command_run.hpp>
#include <server_module/listeners.hpp>
#include <server_module/server_call.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace colimit::server_module {
namespace {

constexpr int module_version = 1;

/// Reads the arguments of `loadmodule colimit.so ...`. Returns false if they are not understood.
[[nodiscard]] bool read_options(api::context* where, api::string** words, int count) {
    command_run::chosen = propagation::effects;
    if (count == 0)
        return true;
    const auto is_known = count == 2 && api::text_of(words[0]) == "replicate";
    const auto value = is_known ? api::text_of(words[1]) : std::string_view{};
    if (value != "effects" && value != "command") {
        api::log(where, "warning",
                 "colimit: arguments not understood (expected none, `replicate effects` or "
                 "`replicate command`)");
        return false;
    }
    if (value == "command")
        command_run::chosen = propagation::command;
    return true;
}

[[nodiscard]] int load(api::context* where, api::string** words, int count) {
    if (const char* missing = api::look_up(where); missing != nullptr) {
        if (api::log != nullptr)
            api::log(where, "warning",
                     "colimit: this server has no %s: the module needs Redis 6.2.2 or Valkey 7.2, "
                     "or later",
                     missing);
        return api::failed;
    }
    if (api::is_name_busy("colimit") != 0)
        return api::failed;
    (void)api::set_attributes(where, "colimit", module_version, api::version);
    if (!read_options(where, words, count))
        return api::failed;
    api::set_options(where, api::no_implicit_signal |
                                (api::is_valkey() ? api::handles_slot_migration : 0));
    listeners::watch(where);
    return create_commands(where) ? api::ok : api::failed;
}

/// Returns whether the rules of a user, as ACL LIST has them, name a command of the module.
[[nodiscard]] bool name_a_command(std::string rules) {
    std::ranges::transform(rules, rules.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    constexpr std::string_view names[] = {"+colimit.", "-colimit.", "+cl.throttle", "-cl.throttle"};
    return std::ranges::any_of(names, [&rules](std::string_view name) {
        const auto at = rules.find(name);
        return at != std::string::npos && at != 0 && (rules[at - 1] == ' ' || rules[at - 1] == '(');
    });
}

/// Redis 8.0 and Valkey 8.1 end if a rule names a command that is unloaded.
[[nodiscard]] int unload(api::context* where) {
    const auto users = server_reply{api::call(where, "ACL", "c", "LIST")};
    if (users.is_error())
        return api::ok;
    for (std::size_t i = 0; const auto rules = users[i]; ++i)
        if (name_a_command(std::string{*rules})) {
            api::log(where, "warning",
                     "colimit: not unloaded, as rules of users name its commands (expected none in "
                     "ACL LIST)");
            return api::failed;
        }
    return api::ok;
}

} // namespace
} // namespace colimit::server_module

// Valkey looks for these names too. NOLINTBEGIN(readability-identifier-naming)
extern "C" [[gnu::visibility("default")]] int
RedisModule_OnLoad(colimit::server_module::api::context* where,
                   colimit::server_module::api::string** words, int count) noexcept {
    try {
        return colimit::server_module::load(where, words, count);
    } catch (...) {
        return colimit::server_module::api::failed;
    }
}

extern "C" [[gnu::visibility("default")]] int
RedisModule_OnUnload(colimit::server_module::api::context* where) noexcept {
    try {
        return colimit::server_module::unload(where);
    } catch (...) {
        return colimit::server_module::api::failed;
    }
}
// NOLINTEND(readability-identifier-naming)
