// SPDX-License-Identifier: BSL-1.0
//
// The scripts that are compared: those of the library, or others in their place, such as
// test/mutation makes, or its functions; and the server module beside them.

#pragma once

#include <policy/policy_data.hpp>
#include <redis/protocol/script.hpp>
#include <redis/script/script_batch.hpp>
#include <support/raw_client.hpp>

#include <cstdint>
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

    /// From now on every other batch is a command of the server module.
    void alternate_with_module() noexcept { alternates_ = true; }

    /// Returns the form in which a batch is sent: the module has no holders of slots.
    /// @param number of the batch
    [[nodiscard]] redis::script_command form_of(const redis::script_batch& batch,
                                                std::uint64_t number) const noexcept {
        return alternates_ && number % 2 == 0 && !batch.policy()->compiled.has_slots
                   ? redis::script_command::server_module
                   : redis::script_command::evalsha;
    }

    /// The commands, with those that run the library's scripts replaced.
    [[nodiscard]] std::string redirect(std::string commands) const;

  private:
    void replace(const redis::script& known, redis::script_words by);

    std::vector<std::pair<std::string, std::string>> replaced_; ///< beginnings of commands
    bool alternates_ = false;
};

} // namespace colimit::differential
