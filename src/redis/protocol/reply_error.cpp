// SPDX-License-Identifier: BSL-1.0
//
// The table of error replies. A script with another error may have been executed in part, so its
// outcome is unknown.

#include <redis/protocol/reply_error.hpp>

#include <algorithm>
#include <array>

namespace colimit::redis {
namespace {

struct row {
    std::string_view begin;
    reply_error meaning;
};

constexpr std::array rows{
    row{"NOSCRIPT", {errc::unavailable, remedy::resend_with_script}},
    row{"LOADING", {errc::unavailable, remedy::hold_off}},
    row{"BUSY", {errc::unavailable, remedy::hold_off}},
    row{"MASTERDOWN", {errc::unavailable, remedy::hold_off}},
    row{"READONLY", {errc::unavailable, remedy::leave_read_only}},
    row{"OOM", {errc::server_error, remedy::keep}},
    row{"MISCONF", {errc::server_error, remedy::keep}},
    row{"NOREPLICAS", {errc::server_error, remedy::keep}},
    row{"EXECABORT", {errc::server_error, remedy::keep}},
    row{"MOVED", {errc::wrong_node, remedy::keep}},
    row{"ASK", {errc::wrong_node, remedy::keep}},
    row{"CROSSSLOT", {errc::wrong_node, remedy::keep}},
    row{"CLUSTERDOWN Hash slot not served", {errc::wrong_node, remedy::keep}},
    row{"TRYAGAIN", {errc::server_error, remedy::keep}},
    row{"CLUSTERDOWN", {errc::unavailable, remedy::hold_off}},
    row{"WRONGTYPE", {errc::key_conflict, remedy::keep}},
    row{"INVALIDOBJ", {errc::key_conflict, remedy::keep}}, // a damaged HyperLogLog
    row{"NOAUTH", {errc::auth_failed, remedy::reconnect_late}},
    row{"WRONGPASS", {errc::auth_failed, remedy::reconnect_late}},
    row{"NOPERM", {errc::auth_failed, remedy::keep}},
    row{"ERR The user executing the script", {errc::auth_failed, remedy::keep}},
    row{"The user executing the script", {errc::auth_failed, remedy::keep}}, // before 7.0
    row{"ERR ACL failure in script", {errc::auth_failed, remedy::keep}},     // since 7.2
    row{"ERR Script attempted to access", {errc::wrong_node, remedy::keep}},
    row{"Lua script attempted to access", {errc::wrong_node, remedy::keep}}, // before 7.0
    row{"DENIED", {errc::auth_failed, remedy::reconnect_late}},              // protected mode
    row{"ERR max number of clients", {errc::unavailable, remedy::reconnect_late}},
    row{"ERR invalid password", {errc::auth_failed, remedy::reconnect_late}},
    row{"ERR unknown command", {errc::auth_failed, remedy::keep}}, // such as a renamed one
    row{"ERR unknown subcommand", {errc::auth_failed, remedy::keep}},
    row{"ERR Unknown Redis command", {errc::auth_failed, remedy::keep}}, // within a script
    row{"Unknown Redis command", {errc::auth_failed, remedy::keep}},     // before 7.0
};

[[nodiscard]] const row* find_row(std::string_view text) noexcept {
    const auto* found =
        std::ranges::find_if(rows, [text](const row& r) { return text.starts_with(r.begin); });
    return found != rows.end() ? found : nullptr;
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
[[nodiscard]] bool ran_nothing(const row& found) noexcept {
    return found.begin == "READONLY" || found.begin == "OOM" || found.begin == "MISCONF" ||
           found.meaning.code == errc::auth_failed;
}

} // namespace

bool is_key_denial(std::string_view text) noexcept {
    // Before 7.2: "access [at least] one of the keys"; a user's name has no spaces.
    constexpr std::array words{std::string_view{"permissions to access one of the keys"},
                               std::string_view{"access at least one of the keys"},
                               std::string_view{"permissions to access a key"}};
    return std::ranges::any_of(
        words, [text](std::string_view w) { return text.find(w) != std::string_view::npos; });
}

reply_error classify(std::string_view text) noexcept {
    if (const auto* refused = find_row(error_of_exec(text)))
        return refused->meaning;
    if (const auto* found = find_row(text))
        return found->meaning;
    const auto from_script = text.find("script") != std::string_view::npos;
    const auto within = error_within(text);
    const auto* found = within.empty() ? nullptr : find_row(within);
    // An error that the script has caught and returned begins with the position; one that ended the
    // script may have come after writes.
    const auto was_caught = !text.starts_with("ERR");
    if (found != nullptr && (was_caught || ran_nothing(*found)))
        return found->meaning;
    return {from_script ? errc::outcome_unknown : errc::server_error, remedy::keep};
}

} // namespace colimit::redis
