// SPDX-License-Identifier: BSL-1.0
//
// Remembers what INFO said until the server tells that it may have changed.

#include <server_module/listeners.hpp>

#include <string_view>

namespace colimit::server_module::listeners {
namespace {

// Commands and events are on the main thread of the server only.
bool is_told = false;  ///< the server tells
bool is_known = false; ///< nothing has happened since INFO was asked
bool has_backlog = true;

void forget(api::context*, api::event, std::uint64_t, void*) noexcept {
    is_known = false;
}

[[nodiscard]] bool ask_for_backlog(api::context* where) noexcept {
    auto* reply = api::call(where, "INFO", "c", "replication");
    if (reply == nullptr)
        return true;
    std::size_t size = 0;
    const char* text = api::reply_data(reply, &size);
    const auto is_alone = text != nullptr && std::string_view{text, size}.find(
                                                 "repl_backlog_active:0") != std::string_view::npos;
    api::free_reply(reply);
    return !is_alone;
}

} // namespace

void watch(api::context* where) noexcept {
    is_known = false;
    is_told = api::subscribe != nullptr &&
              api::subscribe(where, api::role_changed, forget) == api::ok &&
              api::subscribe(where, api::fork_child, forget) == api::ok;
}

bool exist(api::context* where, int flags) noexcept {
    // While it loads its dataset, a server may also restore what it was to replicas.
    if (!is_told || (flags & (api::has_aof | api::is_in_cluster | api::is_loading)) != 0)
        return true;
    if (!is_known)
        has_backlog = ask_for_backlog(where);
    is_known = true;
    return has_backlog;
}

} // namespace colimit::server_module::listeners
