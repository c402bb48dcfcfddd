// SPDX-License-Identifier: BSL-1.0
//
// The table of error replies. What is not in it and comes from within a script may have run
// half-way, so its callers are told that they do not know.

#include <redis/reply_error.hpp>

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
    row{"READONLY", {errc::unavailable, remedy::reconnect}},
    row{"OOM", {errc::server_error, remedy::keep}},
    row{"MISCONF", {errc::server_error, remedy::keep}},
    row{"NOREPLICAS", {errc::server_error, remedy::keep}},
    row{"EXECABORT", {errc::server_error, remedy::keep}},
    row{"MOVED", {errc::server_error, remedy::keep}},
    row{"ASK", {errc::server_error, remedy::keep}},
    row{"TRYAGAIN", {errc::server_error, remedy::keep}},
    row{"CLUSTERDOWN", {errc::unavailable, remedy::hold_off}},
    row{"WRONGTYPE", {errc::key_conflict, remedy::keep}},
    row{"INVALIDOBJ", {errc::key_conflict, remedy::keep}}, // a damaged HyperLogLog
    row{"NOAUTH", {errc::auth_failed, remedy::reconnect_late}},
    row{"WRONGPASS", {errc::auth_failed, remedy::reconnect_late}},
    row{"NOPERM", {errc::auth_failed, remedy::keep}},
    row{"ERR The user executing the script", {errc::auth_failed, remedy::keep}},
    row{"ERR max number of clients", {errc::unavailable, remedy::reconnect_late}},
    row{"ERR invalid password", {errc::auth_failed, remedy::reconnect_late}},
    row{"ERR unknown command", {errc::server_error, remedy::keep}},
};

} // namespace

reply_error classify(std::string_view text) noexcept {
    const auto* found = std::ranges::find_if(
        rows, [text](const row& r) { return text.substr(0, r.begin.size()) == r.begin; });
    if (found != rows.end())
        return found->meaning;
    const auto from_script = text.find("script") != std::string_view::npos;
    return {from_script ? errc::outcome_unknown : errc::server_error, remedy::keep};
}

} // namespace colimit::redis
