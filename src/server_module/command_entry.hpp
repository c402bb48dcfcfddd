// SPDX-License-Identifier: BSL-1.0
//
// The boundary to the server, which no exception may cross: what a command throws is its error
// reply.

#pragma once

#include <server_module/api.hpp>

#include <exception>
#include <new>
#include <string>

namespace colimit::server_module {

/// Runs a command. It has sent nothing when it throws.
template<class Run>
int enter(api::context* where, const char* name, Run run) noexcept {
    try {
        run();
    } catch (const std::bad_alloc&) {
        (void)api::send_error(where, "ERR no memory for the command");
    } catch (const std::exception& e) { // a refusal, of this folder or of the core
        try {
            (void)api::send_error(where, ("ERR " + std::string{name} + ": " + e.what()).c_str());
        } catch (...) {
            (void)api::send_error(where, "ERR no memory for the message");
        }
    } catch (...) {
        (void)api::send_error(where, "ERR an internal error");
    }
    return api::ok;
}

} // namespace colimit::server_module
