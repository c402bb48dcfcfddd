// SPDX-License-Identifier: BSL-1.0
//
// The calls on the keys of one policy, key by key: `begin`, `make` for each call, `finish`. How
// their states are stored differs.

#pragma once

#include <server_module/call_list.hpp>

#include <cstddef>
#include <cstdint>

namespace colimit::server_module {

/// Calls together are asked for first, and then made, if all are granted; else what lies after now
/// is moved there.
enum class pass : std::uint8_t { make, ask, move };

class key_calls {
  public:
    key_calls() = default;
    key_calls(const key_calls&) = delete;
    key_calls& operator=(const key_calls&) = delete;
    virtual ~key_calls() = default;

    /// Reads the state of a key, an index of the results.
    virtual void begin(std::size_t key) = 0;
    virtual void make(const listed_call& call, pass how) = 0;
    /// Writes what the calls have changed.
    virtual void finish() = 0;
    /// Returns whether a value was found that even a denial must replace.
    [[nodiscard]] virtual bool finds_stale() const noexcept = 0;
};

/// Returns the call in the form in which a pass makes it; not for pass::move.
[[nodiscard]] inline detail::call_request request_of(const listed_call& call, pass how) noexcept {
    auto request = call.request;
    if (how == pass::ask)
        request.verb = detail::verb::peek;
    return request;
}

} // namespace colimit::server_module
