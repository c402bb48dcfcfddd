// SPDX-License-Identifier: BSL-1.0
//
// An open key, which is closed when its handle ends.

#pragma once

#include <server_module/api.hpp>

#include <memory>

namespace colimit::server_module {

struct key_closer {
    void operator()(api::key* open) const noexcept { api::close_key(open); }
};

using key_handle = std::unique_ptr<api::key, key_closer>;

/// Opens a key for reading and writing; one that does not exist is not created by that.
[[nodiscard]] inline key_handle open_key(api::context* where, api::string* name) noexcept {
    return key_handle{api::open_key(where, name, api::read | api::write)};
}

} // namespace colimit::server_module
