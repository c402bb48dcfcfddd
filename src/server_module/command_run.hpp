// SPDX-License-Identifier: BSL-1.0
//
// What all keys of a command share: the clock, TTLs, the server's memory, and the propagation of
// changes to replicas and the AOF. The twin of lua/clock.lua.
//
// Effects are propagated unless the module was loaded with `replicate command`: then a command that
// has written is propagated whole, with the time that it used (`@` and microseconds instead of the
// clock), so that a replica makes the same changes.

#pragma once

#include <server_module/api.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::server_module {

using std::string_view_literals::operator""sv;

/// The error of a server over its `maxmemory`, as a script gets it.
inline constexpr std::string_view over_maxmemory =
    "OOM command not allowed when used memory > 'maxmemory'."sv;
/// The error of a key with a value of another type.
inline constexpr std::string_view wrong_type =
    "WRONGTYPE Operation against a key holding the wrong kind of value"sv;

/// Returns whether the command comes from the server's own master or AOF.
[[nodiscard]] bool is_replicated_or_loading(api::context* where) noexcept;

enum class propagation : std::uint8_t { effects, command };

/// What the time of a command is.
enum class clock_source : std::uint8_t {
    server, ///< this server's clock
    origin, ///< that of the server that has propagated the command
    caller, ///< any number: TTLs are relative, and no value promises one
};

struct command_clock {
    std::int64_t now = 0; ///< in microseconds
    clock_source source = clock_source::server;
    std::string stamp = {}; ///< as the reply has it: seconds and microseconds

    /// Returns the time of this server, for a command whose reply does not have it.
    [[nodiscard]] static command_clock of_server() noexcept;

    /// Reads the argument: empty, `@` and microseconds, or microseconds. Returns nullopt if it is
    /// none of them.
    [[nodiscard]] static std::optional<command_clock> read(std::string_view argument);
};

/// When a key expires.
struct expiry {
    std::int64_t at_ms;       ///< since 1970 on this server's clock
    std::int64_t promised_us; ///< the key does not expire before, for its value; 0: unknown
};

/// A key that is kept for so many microseconds and a second.
struct kept_key {
    api::string* name;
    double us;
};

class command_run {
  public:
    /// Chooses what is propagated. Set when the module is loaded.
    static inline propagation chosen = propagation::effects;

    /// @param key one of the command's; none is open yet
    /// @param how a command without a clock among its arguments propagates effects
    command_run(api::context* where, api::string* key, command_clock clock,
                std::int64_t least_ttl_ms, propagation how = chosen);
    command_run(const command_run&) = delete;
    command_run& operator=(const command_run&) = delete;
    ~command_run() = default;

    [[nodiscard]] api::context* where() const noexcept { return where_; }
    [[nodiscard]] const command_clock& clock() const noexcept { return clock_; }
    [[nodiscard]] std::int64_t now() const noexcept { return clock_.now; }

    /// Returns when a key expires that is kept for so many microseconds and a second.
    [[nodiscard]] expiry expiry_after(double us) const noexcept;

    /// Returns when a key expires that is kept for exactly so many milliseconds.
    [[nodiscard]] expiry expiry_in(std::int64_t ms) const noexcept { return {clock_ms_ + ms, 0}; }

    /// Notes for how long a log or a sketch is kept. It is set after all calls of
    /// the command (`set_ttls`): if the server was halted for long after the clock was read, the
    /// TTL has passed by then, which deletes the key at once, and a later call would find nothing.
    void keep(api::string* name, double us) {
        if (kept_.empty() || kept_.back().name != name)
            kept_.push_back({name, us});
        kept_.back().us = us;
    }
    [[nodiscard]] std::span<const kept_key> kept() const noexcept { return kept_; }

    /// Returns whether the server refuses what needs memory.
    [[nodiscard]] bool is_full() const noexcept { return is_full_; }

    /// Returns whether the changes are propagated one by one.
    [[nodiscard]] bool propagates_effects() const noexcept { return propagates_effects_; }
    /// Propagates one effect, whose arguments follow in the form that api::replicate takes.
    template<class... Arguments>
    void propagate(const char* command, const char* format, Arguments... arguments) noexcept {
        if (!has_listeners_ && !has_changed_) // counts as a change of the dataset, for `save`
            (void)api::replicate_command(where_);
        has_changed_ = true;
        if (propagates_effects_ && has_listeners_)
            (void)api::replicate(where_, command, format, arguments...);
    }
    /// For changes that api::call makes.
    void note_change() noexcept { has_changed_ = true; }

    /// Propagates the command, if something has changed and its effects were not propagated.
    /// @param arguments those after the command's name; `clock_at` is the index of its clock
    void end(const char* command, std::span<api::string*> arguments, std::size_t clock_at);

  private:
    api::context* where_;
    command_clock clock_;
    std::int64_t least_ttl_ms_;
    std::int64_t clock_ms_; ///< of this server, from which relative TTLs count
    int flags_;             ///< what the server says of itself
    bool is_full_;
    bool propagates_effects_;
    bool has_listeners_; ///< replicas or an AOF
    bool has_changed_ = false;
    std::vector<kept_key> kept_{};
};

} // namespace colimit::server_module
