// SPDX-License-Identifier: BSL-1.0
//
// The Lua scripts, embedded at build time by lua/embed.cmake: their bytes, and the SHA-1 of exactly
// these bytes, which SCRIPT LOAD returns and EVALSHA takes. Each NAME listed with its parts in
// lua/CMakeLists.txt becomes NAME_script and is declared here. Each is also a function of a
// library, which administrators load from a file.
#pragma once

#include <cstdint>
#include <string_view>

namespace colimit::redis {

struct script {
    std::string_view body;
    std::string_view sha1; // 40 lower-case hex digits
    // The names of its functions in the library, which are others for every other text. The second
    // one may be called on a server over its `maxmemory`, and does what the script does there.
    std::string_view function;
    std::string_view function_if_full;
    std::string_view module_command; // of the server module, which has none for `permissions`
};

extern const script check_script;
extern const script seen_script;
extern const script permissions_script;

/// The name of the library, with its version.
extern const std::string_view function_library;

/// The command that runs a script.
enum class script_command : std::uint8_t {
    evalsha,       ///< by its digest: a script that was loaded
    eval,          ///< with its text
    fcall,         ///< as a function of the library
    fcall_if_full, ///< the same on a server over its `maxmemory`
    server_module, ///< as a command of the server module
};

/// Returns the form in which a call is repeated that the server has rejected in the first form
/// without the module, as it has forgotten the script or is over its `maxmemory`.
[[nodiscard]] constexpr script_command second_form(script_command first) noexcept {
    return first == script_command::evalsha ? script_command::eval : script_command::fcall_if_full;
}

/// The beginning of a command that runs a script.
struct script_words {
    std::string_view command;
    std::string_view script; ///< empty if the command is the script
};

[[nodiscard]] constexpr script_words words_of(script_command how, const script& s) noexcept {
    switch (how) {
    case script_command::evalsha:
        return {"EVALSHA", s.sha1};
    case script_command::eval:
        return {"EVAL", s.body};
    case script_command::fcall:
        return {"FCALL", s.function};
    case script_command::server_module:
        return {s.module_command, {}};
    case script_command::fcall_if_full:
        break;
    }
    return {"FCALL", s.function_if_full};
}

} // namespace colimit::redis
