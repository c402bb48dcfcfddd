// SPDX-License-Identifier: BSL-1.0
//
// The holders of slots in the server: a sorted set of their ids by the end of their leases, the
// twin of lua/check/kinds/concurrent.lua.

#pragma once

#include <colimit/detail/call_request.hpp>
#include <core/compiled_policy.hpp>
#include <core/state.hpp>
#include <server_module/server_call.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace colimit::server_module {

/// The functions throw call_failure if the server refuses a command.
class holder_set {
  public:
    /// @param rules have a `concurrent` rule, or nothing is called
    holder_set(command_run& run, const core::compiled_policy& rules) noexcept;

    void open(api::string* name) noexcept { name_ = name; }

    /// Sets the state of the rule, see core/state.hpp.
    void report(const detail::call_request& request, std::span<core::rule_state> states);

    /// Makes leases end at most one lease after now.
    void shorten();
    /// Gives a holder a lease, and stores the token that was reported for it.
    void add(std::string_view id);
    /// Gives a holder a new lease, if its lease has not ended.
    void renew(std::string_view id);
    void release(std::string_view id);
    void erase();

  private:
    [[nodiscard]] double score_of(std::string_view member) const;
    [[nodiscard]] bool holds(std::string_view id) const;
    [[nodiscard]] std::int64_t last_token() const;
    [[nodiscard]] std::int64_t end_of(std::int64_t from_last) const;
    void keep_set();
    void add_with(std::int64_t score, std::string_view member);

    command_run& run_;
    std::size_t rule_ = 0; ///< its index
    std::int64_t limit_ = 0;
    std::int64_t lease_ = 0;
    bool always_grows_ = false; ///< acquires need memory beyond the limit, too

    api::string* name_ = nullptr;
    std::int64_t token_ = 0; ///< of the reported `acquire`
};

} // namespace colimit::server_module
