// SPDX-License-Identifier: BSL-1.0
//
// The scripts that are compared: those of the library, or others in their place, such as
// test/mutation makes.

#pragma once

#include <support/raw_client.hpp>

#include <string>
#include <utility>
#include <vector>

namespace colimit::differential {

class scripts {
  public:
    /// Loads them.
    /// @param folder has the whole text of one or more scripts as `check.lua` and `seen.lua`, which
    ///        take the places of the library's; empty: none does
    scripts(test::raw_client& server, const std::string& folder);

    /// The commands, with the digests of the library's scripts replaced.
    [[nodiscard]] std::string redirect(std::string commands) const;

  private:
    std::vector<std::pair<std::string, std::string>> replaced_; ///< digests
};

} // namespace colimit::differential
