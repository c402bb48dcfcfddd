// SPDX-License-Identifier: BSL-1.0
//
// The part of the handshake that asks for the server module.

#include <redis/connection/session.hpp>
#include <redis/protocol/server_module.hpp>

#include <string>

namespace colimit::redis {

void session::ask_for_module(std::string& out) {
    if (!runs_scripts() || settings_.server_module == module_use::never)
        return;
    append_module_question(out);
    expect(step::server_module);
}

/// Reads the reply to the question, unless an earlier reply has decided the handshake. A module
/// that is there but not used is reported.
void session::read_module(const resp::decoder& reply, std::string_view bytes) {
    if (result_ != handshake_result::fine)
        return;
    const auto is_required = settings_.server_module == module_use::required;
    const auto text = reply.text(reply.first(), bytes);
    facts_.server_module = read_module_state(reply, bytes);
    switch (facts_.server_module) {
    case module_state::usable:
        return use_module();
    case module_state::incompatible: {
        const auto problem = incompatible_module(reply, bytes);
        return is_required ? refuse(errc::invalid_config, problem)
                           : report(errc::invalid_config, problem);
    }
    case module_state::absent:
        if (is_required)
            refuse(
                errc::invalid_config,
                "config::advanced.server_module is required, but the server lacks the module: load "
                "colimit.so with MODULE LOAD; it replied:",
                text);
        return;
    case module_state::denied:
        return is_required ? record_error(step::server_module, text)
                           : report(errc::auth_failed, text);
    case module_state::withheld:
        withheld_ = text;
        return is_required ? record_error(step::server_module, text) : void();
    case module_state::unknown:
        return record_error(step::server_module, text);
    }
}

/// There are no scripts to load, and no permissions to test. The server accepts writes.
void session::use_module() noexcept {
    denied_.clear();
    writes_failed_ = false;
}

} // namespace colimit::redis
