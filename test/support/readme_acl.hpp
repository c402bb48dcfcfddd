// SPDX-License-Identifier: BSL-1.0
//
// The rules of users that src/tool/README.md lists: so tests use exactly these, and no others work
// there.

#pragma once

#include <support/raw_client.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace colimit::test {

/// Returns the rules of one row of the list, with those of the rows that it names.
[[nodiscard]] std::vector<std::string> readme_acl(std::string_view row);

/// Makes `name` a user with these rules and the password `pw`, instead of one that exists.
void set_user(raw_client& server, std::string_view name, const std::vector<std::string>& rules);

} // namespace colimit::test
