// SPDX-License-Identifier: BSL-1.0
//
// A value that is a string of its own: read in place, and written in place where its length stays
// the same.

#pragma once

#include <server_module/command_run.hpp>
#include <server_module/key_handle.hpp>
#include <server_module/policy_states.hpp>

#include <optional>
#include <string_view>

namespace colimit::server_module {

/// The first bytes of a value, which promise until when the key exists. Changes that keep the
/// expiry of a key leave them as they are.
inline constexpr std::size_t promise_bytes = core::value_head_bytes;

class string_value {
  public:
    string_value(command_run& run, api::string* name) noexcept
        : run_(run), name_(name), key_(open_key(run.where(), name)),
          type_(api::key_type(key_.get())) {}

    /// Returns whether there is a value of another type.
    [[nodiscard]] bool is_foreign() const noexcept {
        return type_ != api::is_empty && type_ != api::is_string;
    }
    /// Returns whether a value may not be replaced: it is of another type, or was not found. The
    /// latter was written by this command, for a key that is named twice, and the script could not
    /// replace it either.
    [[nodiscard]] bool is_taken(std::optional<std::string_view> found) const noexcept {
        return is_foreign() || (type_ != api::is_empty && !found);
    }
    /// Returns the value, until it is changed; nullopt: there is none, or it is foreign.
    [[nodiscard]] std::optional<std::string_view> read() const noexcept;

    /// Replaces all but the promise of a value of the same length. The key keeps its expiry.
    void change(std::string_view value) noexcept;
    /// Overwrites some bytes, which exist. The key keeps its expiry.
    void change_part(std::size_t from, std::string_view bytes) noexcept;
    /// Writes a value of any length.
    void write(std::string_view value, expiry when) noexcept;
    void erase() noexcept;

  private:
    void overwrite(std::string_view value, std::size_t from) noexcept;
    void signal() noexcept { (void)api::signal_modified(run_.where(), name_); }

    command_run& run_;
    api::string* name_;
    key_handle key_;
    int type_;
};

/// Writes what the calls on a key have changed.
/// @param found the value before them
/// @return the text of an error, or nothing
[[nodiscard]] std::string_view save(command_run& run, string_value& to,
                                    std::optional<std::string_view> found, state_change& change);

} // namespace colimit::server_module
