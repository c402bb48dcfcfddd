// SPDX-License-Identifier: BSL-1.0
//
// The scripts that are compared: those of the library, or others in their place, such as
// test/mutation makes, or its functions.

#pragma once

#include <redis/protocol/script.hpp>
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
    /// @param as_functions loads the functions of this build and calls these; `folder` is empty
    scripts(test::raw_client& server, const std::string& folder, bool as_functions);

    /// The commands, with those that run the library's scripts replaced.
    [[nodiscard]] std::string redirect(std::string commands) const;

  private:
    void replace(const redis::script& known, redis::script_words by);

    std::vector<std::pair<std::string, std::string>> replaced_; ///< beginnings of commands
};

} // namespace colimit::differential
