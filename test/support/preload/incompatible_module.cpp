// SPDX-License-Identifier: BSL-1.0
//
// A server module with the commands of colimit and another wire version.

#include <core/wire_version.hpp>
#include <server_module/api.hpp>

namespace {

namespace api = colimit::server_module::api;

int reply(api::context* where, api::string** /*words*/, int count) {
    if (count != 2)
        return api::send_error(where, "ERR an incompatible module was given a call");
    (void)api::send_array(where, 3);
    (void)api::send_string(where, "colimit", 7);
    (void)api::send_integer(where, colimit::core::wire_version + 1);
    return api::send_string(where, "9.9.9", 5);
}

} // namespace

// The name for which the server looks. NOLINTBEGIN(readability-identifier-naming)
extern "C" [[gnu::visibility("default")]] int
RedisModule_OnLoad(api::context* where, api::string** /*words*/, int /*count*/) {
    if (api::look_up(where) != nullptr)
        return api::failed;
    (void)api::set_attributes(where, "colimit", 1, api::version);
    for (const auto* name : {"COLIMIT.CHECK", "COLIMIT.SEEN"})
        if (api::create_command(where, name, &reply, "write", 0, 0, 0) != api::ok)
            return api::failed;
    return api::ok;
}
// NOLINTEND(readability-identifier-naming)
