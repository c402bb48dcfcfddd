// SPDX-License-Identifier: BSL-1.0
//
// A sliding log in the server, through the calls on a key: the twin of lua/check/kinds/log.lua,
// which explains how it is written. Only changes are in memory; events are read where the server
// has them.

#pragma once

#include <core/compiled_policy.hpp>
#include <core/log_value.hpp>
#include <core/state.hpp>
#include <server_module/server_call.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace colimit::server_module {

/// The functions throw call_failure if the log cannot be read or written.
class stored_log {
  public:
    /// @param finds_again whether a later call of the command may open the same log
    stored_log(command_run& run, const core::compiled_policy& rules, bool finds_again) noexcept;

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
    void erase() noexcept;

    /// Writes what the calls have changed.
    void save();

  private:
    using event = core::logged_event;

    [[nodiscard]] std::int64_t end() const noexcept {
        return kept_ + static_cast<std::int64_t>(tail_.size());
    }
    [[nodiscard]] event at(std::int64_t i);
    void read_part(std::int64_t i);
    void read_head();
    [[nodiscard]] std::int64_t first_after(std::int64_t time, std::int64_t first,
                                           std::int64_t last);
    [[nodiscard]] std::int64_t first_with(std::int64_t sum, std::int64_t first, std::int64_t last);
    [[nodiscard]] std::int64_t weight_before(std::int64_t i);
    void forget(std::int64_t until);
    void clear() noexcept;
    void put(std::int64_t i, event e);
    void rebase();
    void merge_oldest() noexcept;
    [[nodiscard]] std::int64_t fits_at(const core::compiled_rule& l, std::int64_t used,
                                       std::int64_t position, std::int64_t over);
    [[nodiscard]] std::string head(double expires, std::int64_t first) const;
    void write_tail(double kept_for, bool has_ttl);
    void write_all(double kept_for);

    command_run& run_;
    const core::compiled_policy& rules_;
    std::int64_t own_longest_; ///< for how long the policy keeps events
    std::int64_t most_;        ///< events
    bool finds_again_;

    api::string* name_ = nullptr;
    core::log_head found_{}; ///< the head of the value; zeros if it is not a log
    std::size_t size_ = 0;   ///< of the value, in bytes
    std::int64_t room_ = 0;  ///< events for which it has room
    std::int64_t ends_ = 0;  ///< and those in it
    std::string part_{};     ///< some of its bytes
    std::size_t part_at_ = 0;
    std::int64_t longest_ = 0; ///< for how long its events are kept
    std::int64_t noted_ = 0;   ///< the same, for the head

    // It consists of the stored events from `from_` to `kept_`, and those of `tail_`.
    std::int64_t from_ = 0;
    std::int64_t kept_ = 0;
    std::int64_t before_ = 0; ///< the weight of the events before `from_`
    std::vector<event> tail_{};
    std::int64_t total_ = 0;  ///< the weight of all events
    std::int64_t newest_ = 0; ///< the time of the newest one; 0: there is none
    bool is_changed_ = false;
    bool is_cut_ = false;   ///< the head must be written
    bool is_whole_ = false; ///< all must be written
};

} // namespace colimit::server_module
