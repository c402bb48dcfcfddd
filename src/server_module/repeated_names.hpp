// SPDX-License-Identifier: BSL-1.0
//
// Whether a command names a key twice.

#pragma once

#include <server_module/api.hpp>

#include <span>

namespace colimit::server_module {

[[nodiscard]] bool have_repeated(std::span<api::string* const> names);

} // namespace colimit::server_module
