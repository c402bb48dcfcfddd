// SPDX-License-Identifier: BSL-1.0
//
// A sliding log in the server: a sorted set of events by time, the twin of
// lua/check/kinds/log.lua, which explains its members.

#pragma once

#include <core/compiled_policy.hpp>
#include <core/state.hpp>
#include <server_module/server_call.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace colimit::server_module {

/// The functions throw call_failure if the server refuses a command.
class event_set {
  public:
    event_set(command_run& run, const core::compiled_policy& rules) noexcept;

    /// Opens the log of a key.
    void open(api::string* name);

    /// Returns whether there are events after now, as after a clock was set back.
    [[nodiscard]] bool is_ahead() const noexcept { return newest_ > run_.now(); }
    /// Replaces events after now by one event at now.
    void move_to_now();

    /// Sets the states of the log rules, see core/state.hpp.
    /// @param amount that must fit
    /// @param denied what the call adds if it is denied and denied calls count
    void report(std::int64_t amount, std::int64_t denied, std::span<core::rule_state> states);

    void record(std::int64_t cost);
    /// Removes the weight from the newest events.
    void refund(std::int64_t weight);
    void erase();

  private:
    /// A member: the weight of all events up to this one, its own, and for how long it is kept.
    struct event {
        std::int64_t sum = 0; ///< 0: not an event
        std::int64_t own = 0;
        std::uint16_t span = 0;
    };
    [[nodiscard]] static event event_in(const server_reply& reply) noexcept;
    void keep_for(std::uint16_t span) noexcept;
    void keep_log();
    void add(std::string_view time, const event& what);
    void add_at_now(const event& what);
    void remove(std::string_view member);
    void remove_until(std::int64_t time);
    [[nodiscard]] server_reply event_at(std::int64_t rank) const;
    [[nodiscard]] std::int64_t count() const;
    [[nodiscard]] event first_after(std::int64_t time) const;
    [[nodiscard]] std::int64_t weight_before(std::int64_t us) const;
    [[nodiscard]] std::int64_t rank_of(std::int64_t sum, std::int64_t from, std::int64_t to) const;
    [[nodiscard]] std::int64_t fits_at(const core::compiled_rule& l, std::int64_t used,
                                       std::int64_t gone, std::int64_t over) const;
    void merge_oldest();

    command_run& run_;
    const core::compiled_policy& rules_;
    std::int64_t own_longest_; ///< for how long the policy keeps events
    std::uint16_t own_span_;
    std::int64_t most_; ///< events

    api::string* name_ = nullptr;
    std::int64_t longest_ = 0; ///< for how long the log is kept
    std::uint16_t span_ = 0;
    std::uint16_t found_span_ = 0;
    std::int64_t total_ = 0;  ///< the weight of all events; 0: there are none
    std::int64_t newest_ = 0; ///< the time of the newest one
    bool exists_ = false;     ///< the key may exist
    /// The weight of the events that are not kept, if a report has found it.
    std::optional<std::int64_t> expired_{};
};

} // namespace colimit::server_module
