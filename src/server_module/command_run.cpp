// SPDX-License-Identifier: BSL-1.0
//
// Propagates commands, with the clock that they used.

#include <base/bytes.hpp>
#include <colimit/limits.hpp>
#include <server_module/command_run.hpp>
#include <server_module/listeners.hpp>
#include <server_module/server_time.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace colimit::server_module {
namespace {

constexpr std::int64_t us_per_second = 1'000'000;
constexpr std::int64_t us_per_ms = 1'000;
constexpr std::int64_t second_in_ms = 1'000;

[[nodiscard]] std::string stamp_of(std::int64_t time) {
    auto stamp = std::string{detail::decimal{time / us_per_second}};
    return stamp.append(" ").append(detail::decimal{time % us_per_second});
}

[[nodiscard]] bool is_replicated_or_loading(int flags) noexcept {
    return (flags & (api::is_replicated | api::is_loading)) != 0;
}

/// Returns whether the server refuses what needs memory. What it is over now says less: a server
/// that evicts may be over it by what a command uses while it runs, or for as long as it evicts.
/// Servers since Redis 7.0 and Valkey 7.2 tell, by refusing a SETRANGE that changes nothing.
[[nodiscard]] bool is_full(api::context* where, api::string* key, int flags) noexcept {
    // If it replays a command, another server has decided.
    if (is_replicated_or_loading(flags) || (flags & api::is_over_maxmemory) == 0)
        return false;
    auto* reply = api::call(where, "SETRANGE", "Mscc", key, "0", "");
    if (reply == nullptr)
        return true;
    api::free_reply(reply);
    return false;
}

} // namespace

bool is_replicated_or_loading(api::context* where) noexcept {
    return is_replicated_or_loading(api::context_flags(where));
}

command_clock command_clock::of_server() noexcept {
    return {.now = server_time()};
}

std::optional<command_clock> command_clock::read(std::string_view argument) {
    if (argument.empty()) {
        const auto time = server_time();
        return command_clock{time, clock_source::server, stamp_of(time)};
    }
    const auto is_origin = argument.front() == '@';
    const auto digits = argument.substr(is_origin ? 1 : 0);
    auto time = std::int64_t{0};
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), time);
    const auto begins_well = !digits.empty() && detail::is_digit(digits.front()); // not `-0`
    if (!begins_well || code != std::errc{} || end != digits.data() + digits.size() ||
        time > limits::max_time)
        return std::nullopt;
    if (is_origin)
        return command_clock{time, clock_source::origin, stamp_of(time)};
    return command_clock{time, clock_source::caller, "0 " + std::string{argument}};
}

// A command of which a part was refused must not be repeated whole, relative TTLs would begin later
// elsewhere, and in a cluster the keys may be on their way to another node.
command_run::command_run(api::context* where, api::string* key, command_clock clock,
                         std::int64_t least_ttl_ms, propagation how)
    : where_(where), clock_(std::move(clock)), least_ttl_ms_(least_ttl_ms),
      clock_ms_((clock_.source == clock_source::caller ? server_time() : clock_.now) / us_per_ms),
      flags_(api::context_flags(where)), is_full_(server_module::is_full(where, key, flags_)),
      propagates_effects_(how == propagation::effects || clock_.source == clock_source::caller ||
                          (flags_ & api::is_in_cluster) != 0 || is_full_),
      has_listeners_(listeners::exist(where, flags_)) {}

expiry command_run::expiry_after(double us) const noexcept {
    const auto ms = static_cast<std::int64_t>(std::floor(us / us_per_ms)) + second_in_ms;
    const auto at = clock_ms_ + std::max(ms, least_ttl_ms_);
    return {at, clock_.source == clock_source::caller ? 0 : at * us_per_ms};
}

void command_run::end(const char* command, std::span<api::string*> arguments,
                      std::size_t clock_at) {
    if (!has_changed_ || !has_listeners_ || propagates_effects_)
        return;
    const auto time = '@' + std::to_string(clock_.now);
    const auto after = arguments.subspan(clock_at + 1);
    (void)api::replicate(where_, command, "vcv", arguments.data(), clock_at, time.c_str(),
                         after.data(), after.size());
}

} // namespace colimit::server_module
