// SPDX-License-Identifier: BSL-1.0
//
// The records of calls with ids: the twin of lua/check/requests.lua. A record is written as soon as
// the state is (packed states follow at the end), so the same id later in the command finds it.

#pragma once

#include <server_module/call_list.hpp>
#include <server_module/command_run.hpp>
#include <server_module/key_results.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace colimit::server_module {

class request_records {
  public:
    /// @param names of the records, one for each key
    /// @param ttl_ms how long records are kept
    request_records(command_run& run, std::span<api::string*> names, std::int64_t ttl_ms,
                    key_results& results)
        : run_(run), names_(names), ttl_ms_(ttl_ms), results_(results), written_(names.size()) {}

    /// Looks the call of a key up. Returns whether it is to be made: otherwise the results have its
    /// record, or an error.
    [[nodiscard]] bool admit(std::size_t key);
    /// Reports an error or a conflict if the record cannot be written, unless the state has one.
    void require_room(std::size_t key);
    /// Remembers a call that was made.
    /// @param facts what logs and sketches have reported for it
    void write(const listed_call& call, std::string_view facts);
    /// Forgets the calls of which the states could not be written.
    void undo_failed();

  private:
    command_run& run_;
    std::span<api::string*> names_;
    std::int64_t ttl_ms_;
    key_results& results_;
    std::vector<bool> written_;
};

} // namespace colimit::server_module
