// SPDX-License-Identifier: BSL-1.0
//
// The table of error replies. A script with another error may have been executed in part, so its
// outcome is unknown.

#include <redis/protocol/reply_error.hpp>
#include <redis/protocol/script.hpp>

#include <algorithm>
#include <array>

namespace colimit::redis {
namespace {

struct entry {
    std::string_view begin;
    reply_error meaning;
};

constexpr std::array entries{
    entry{"NOSCRIPT", {errc::unavailable, recovery::resend_with_script}},
    entry{"ERR Function not found", {errc::invalid_config, recovery::leave_unloaded}},
    entry{"LOADING", {errc::unavailable, recovery::server_busy}},
    entry{"BUSY", {errc::unavailable, recovery::server_busy}},
    entry{"MASTERDOWN", {errc::unavailable, recovery::server_busy}},
    entry{"READONLY", {errc::unavailable, recovery::leave_read_only}},
    entry{"OOM", {errc::server_error, recovery::keep}},
    entry{"MISCONF", {errc::server_error, recovery::keep}},
    entry{"NOREPLICAS", {errc::server_error, recovery::keep}},
    entry{"EXECABORT", {errc::server_error, recovery::keep}},
    entry{"MOVED", {errc::wrong_node, recovery::keep}},
    entry{"ASK", {errc::wrong_node, recovery::keep}},
    entry{"CROSSSLOT", {errc::wrong_node, recovery::keep}},
    entry{"CLUSTERDOWN Hash slot not served", {errc::wrong_node, recovery::keep}},
    entry{"TRYAGAIN", {errc::server_error, recovery::keep}},
    entry{"CLUSTERDOWN", {errc::unavailable, recovery::server_busy}},
    entry{"WRONGTYPE", {errc::key_conflict, recovery::keep}},
    entry{"INVALIDOBJ", {errc::key_conflict, recovery::keep}}, // a damaged HyperLogLog
    entry{"ERR value is not an integer", {errc::key_conflict, recovery::keep}}, // to INCRBY
    entry{"NOAUTH", {errc::auth_failed, recovery::reconnect_late}},
    entry{"WRONGPASS", {errc::auth_failed, recovery::reconnect_late}},
    entry{"NOPERM", {errc::auth_failed, recovery::keep}},
    entry{"ERR The user executing the script", {errc::auth_failed, recovery::keep}},
    entry{"The user executing the script", {errc::auth_failed, recovery::keep}}, // before 7.0
    entry{"ERR ACL failure in script", {errc::auth_failed, recovery::keep}},     // since 7.2
    entry{"ERR Script attempted to access", {errc::wrong_node, recovery::keep}},
    entry{"ERR Attempted to access", {errc::wrong_node, recovery::keep}},        // Valkey 9.1
    entry{"Lua script attempted to access", {errc::wrong_node, recovery::keep}}, // before 7.0
    entry{"DENIED", {errc::auth_failed, recovery::reconnect_late}},              // protected mode
    entry{"ERR max number of clients", {errc::unavailable, recovery::reconnect_late}},
    entry{"ERR invalid password", {errc::auth_failed, recovery::reconnect_late}},
    entry{"ERR unknown command", {errc::auth_failed, recovery::keep}}, // such as a renamed one
    entry{"ERR unknown subcommand", {errc::auth_failed, recovery::keep}},
    entry{"ERR Could not find scripting engine", {errc::auth_failed, recovery::keep}},
    entry{"ERR Unknown Redis command", {errc::auth_failed, recovery::keep}},  // within a script
    entry{"ERR Unknown command called", {errc::auth_failed, recovery::keep}}, // the same in Valkey
    entry{"Unknown Redis command", {errc::auth_failed, recovery::keep}},      // before 7.0
};

[[nodiscard]] const entry* find_entry(std::string_view text) noexcept {
    const auto* found =
        std::ranges::find_if(entries, [text](const entry& r) { return text.starts_with(r.begin); });
    return found != entries.end() ? found : nullptr;
}

/// Returns the error of a command within a script, as reported by Redis before 7.0: after one or
/// two positions in the script, perhaps with the protocol's mark, such as
///
///     ERR Error running script (call to f_1f2e): @user_script:12: @user_script: 12: -READONLY You
///     ...
///
/// Returns an empty text if `text` is not of this form.
[[nodiscard]] std::string_view error_within(std::string_view text) noexcept {
    constexpr std::string_view place = "@user_script:";
    if (!text.starts_with(place) && !text.starts_with("ERR Error running script") &&
        !text.starts_with("ERR Error compiling script"))
        return {};
    const auto at = text.rfind(place);
    if (at == std::string_view::npos)
        return {};
    text.remove_prefix(at + place.size());
    const auto end_of_line_number = text.find_first_not_of(" 0123456789");
    if (end_of_line_number == std::string_view::npos || text[end_of_line_number] != ':')
        return {};
    text.remove_prefix(end_of_line_number + 1);
    text.remove_prefix(std::min(text.find_first_not_of(" -"), text.size()));
    return text;
}

/// Returns the error for which the server refused EXEC itself, as in
///
///     EXECABORT Transaction discarded because of: NOPERM this user has no permissions to run ...
///
/// Returns an empty text if `text` is not of this form.
[[nodiscard]] std::string_view error_of_exec(std::string_view text) noexcept {
    constexpr std::string_view begin = "EXECABORT Transaction discarded because of: ";
    if (!text.starts_with(begin))
        return {};
    text.remove_prefix(begin.size());
    text.remove_prefix(text.starts_with('-') ? 1 : 0);
    return text;
}

/// Returns whether a script that ends with this error has written nothing: the server refuses such
/// commands only before the first write of a script.
[[nodiscard]] bool ran_nothing(const entry& found) noexcept {
    return found.begin == "READONLY" || found.begin == "OOM" || found.begin == "MISCONF" ||
           found.meaning.code == errc::auth_failed;
}

} // namespace

bool is_about_node(std::string_view text) noexcept {
    constexpr std::array beginnings{std::string_view{"MOVED "}, std::string_view{"ASK "},
                                    std::string_view{"TRYAGAIN"}, std::string_view{"CLUSTERDOWN"}};
    return std::ranges::any_of(beginnings,
                               [text](std::string_view b) { return text.starts_with(b); });
}

bool is_about_key_elsewhere(std::string_view text) noexcept {
    return classify(text).code == errc::wrong_node &&
           text.find("ttempted to access") != std::string_view::npos;
}

bool follows_from_errors(std::string_view text) noexcept {
    return text.starts_with("ERR EXEC without MULTI") ||
           (text.starts_with("EXECABORT ") && error_of_exec(text).empty());
}

std::string missing_library() {
    return "the server lacks the function library " + std::string{function_library} +
           ": load share/colimit/colimit.lua with FUNCTION LOAD; it replied:";
}

bool is_key_denial(std::string_view text) noexcept {
    // Before 7.2: "access [at least] one of the keys"; a user's name has no spaces.
    constexpr std::array words{std::string_view{"permissions to access one of the keys"},
                               std::string_view{"access at least one of the keys"},
                               std::string_view{"permissions to access a key"}};
    return std::ranges::any_of(
        words, [text](std::string_view w) { return text.find(w) != std::string_view::npos; });
}

reply_error classify(std::string_view text) noexcept {
    if (const auto* refused = find_entry(error_of_exec(text)))
        return refused->meaning;
    if (const auto* found = find_entry(text))
        return found->meaning;
    const auto from_script = text.find("script") != std::string_view::npos;
    const auto within = error_within(text);
    const auto* found = within.empty() ? nullptr : find_entry(within);
    // An error that the script has caught and returned begins with the position; one that ended the
    // script may have come after writes.
    const auto was_caught = !text.starts_with("ERR");
    if (found != nullptr && (was_caught || ran_nothing(*found)))
        return found->meaning;
    return {from_script ? errc::outcome_unknown : errc::server_error, recovery::keep};
}

} // namespace colimit::redis
