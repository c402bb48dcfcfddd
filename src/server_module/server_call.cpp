// SPDX-License-Identifier: BSL-1.0
//
// Reads replies of the server's commands, and sets TTLs.

#include <server_module/server_call.hpp>

namespace colimit::server_module {

std::string server_reply::error() const {
    if (!reply_) // the server did not run the command at all
        return "ERR the server refuses a command of the module";
    std::size_t size = 0;
    const char* text = api::reply_data(reply_.get(), &size);
    return {text, size};
}

std::optional<std::string_view> server_reply::operator[](std::size_t index) const noexcept {
    auto* element = api::reply_element(reply_.get(), index);
    if (element == nullptr || api::reply_type(element) != api::string_reply)
        return std::nullopt;
    std::size_t size = 0;
    const char* text = api::reply_data(element, &size);
    return std::string_view{text, size};
}

/// A key that a later call has erased while its hash slot is being moved is refused.
void set_ttls(command_run& run) noexcept {
    for (const auto& k : run.kept())
        (void)try_change(run, "PEXPIREAT", "!sl", k.name,
                         static_cast<long long>(run.expiry_after(k.us).at_ms));
}

} // namespace colimit::server_module
