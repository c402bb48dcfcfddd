// SPDX-License-Identifier: BSL-1.0
//
// The sketches of a key, a HyperLogLog of the server for each distinct rule: the twin of
// lua/check/kinds/distinct.lua. A member is added on trial, as only that says how many there are
// with it, and the former bytes are restored if it does not count after all. A trial is not
// propagated before it is kept.

#pragma once

#include <core/compiled_policy.hpp>
#include <core/state.hpp>
#include <server_module/server_call.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::server_module {

/// The functions throw call_failure if the server refuses a command, or a key has another value.
class member_sketches {
  public:
    /// @param names of the keys' sketches: those of the first distinct rule, then of the next one
    /// @param keys the number of keys
    member_sketches(command_run& run, const core::compiled_policy& rules,
                    std::span<api::string*> names, std::size_t keys);
    member_sketches(const member_sketches&) = delete;
    member_sketches& operator=(const member_sketches&) = delete;
    ~member_sketches() = default;

    /// Turns to a key.
    void open(std::size_t key) noexcept { key_ = key; }

    /// Sets the number of members with the call's to the number without it.
    void report(std::span<core::rule_state> states) const noexcept;
    /// Adds the member on trial, and sets the number of members with it.
    void try_member(std::string_view member, std::span<core::rule_state> states);
    /// Restores the sketches.
    void forget_trial() noexcept;
    /// Keeps the member.
    void keep_trial(std::string_view member, std::span<const core::rule_state> states);

    /// Keeps those with members until their windows end, if they are sketches.
    void keep_all(std::span<const core::rule_state> states);
    /// Throws if a key has another value.
    void check_all() const;
    void erase_all();

  private:
    struct sketch {
        explicit sketch(std::uint32_t number) noexcept : rule(number) {}

        std::uint32_t rule;
        bool is_first = false; ///< the first member of the window: an older sketch is replaced
        bool has_grown = false;
        bool is_counted = false;             ///< the number was computed, and stored in the sketch
        bool is_tried = false;               ///< `before` is what to restore
        std::optional<std::string> before{}; ///< nullopt: there was none
    };

    [[nodiscard]] api::string* name_of(std::size_t index) const noexcept {
        return names_[index * keys_ + key_];
    }
    [[nodiscard]] std::string_view error_in(api::string* name) const noexcept;
    [[nodiscard]] std::optional<std::string> bytes_of(api::string* name) const;
    [[nodiscard]] std::int64_t add_on_trial(sketch& to, api::string* name, std::string_view member);

    command_run& run_;
    std::span<api::string*> names_;
    std::size_t keys_;
    std::size_t key_ = 0;
    std::vector<sketch> sketches_{};
};

} // namespace colimit::server_module
