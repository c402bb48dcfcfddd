// SPDX-License-Identifier: BSL-1.0
//
// Parses from left to right, and stops at the quote that begins the request.

#include <base/bytes.hpp>
#include <http/address_text.hpp>
#include <tool/replay/access_log.hpp>
#include <tool/replay/limits.hpp>
#include <tool/replay/times.hpp>

#include <algorithm>
#include <cstddef>

namespace tool::replay {

namespace {

/// Longer than any host name that DNS allows.
constexpr std::size_t longest_client = 255;

constexpr std::size_t time_size = std::string_view{"dd/Mon/yyyy:hh:mm:ss +hhmm"}.size();

using colimit::detail::is_digit;

/// Returns whether a character is part of addresses and host names: letters, digits, and as in
/// `fe80::1%eth0`, `a-b.example`.
bool is_client_character(char c) noexcept {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view{".:-_%"}.find(c) != std::string_view::npos;
}

std::string_view client_problem(std::string_view client) noexcept {
    if (client.empty())
        return "does not start with a client address";
    if (client.size() > longest_client)
        return "the client address is longer than 255 characters";
    if (!std::ranges::all_of(client, is_client_character))
        return "does not start with an address or a host name";
    // Otherwise all clients of a virtual host would be one client.
    const auto port = client.find(':') + 1;
    if (port != 0 && port != client.size() && std::ranges::all_of(client.substr(port), is_digit))
        return "starts with HOST:PORT, where the address of the client should be";
    // A file's name or a number before the address, as grep writes it, would divide clients.
    const auto is_number = client.find_first_not_of("0123456789.") == std::string_view::npos;
    if ((port != 0 || is_number || client.front() == '-') && !colimit::http::parse_address(client))
        return "starts with a text that is neither an address nor a host name";
    return {};
}

/// What may stand around an address, as in `10.0.0.5 - "192.0.2.7, 10.0.0.6" - anna`.
constexpr std::string_view around_addresses = " \t,;|=/\"'()[]{}<>";

struct user_reading {
    std::string_view user; ///< empty: none
    std::string_view problem;
};

/// Reads ` - anna`, which is between client and time; a format without users may end earlier.
user_reading read_user(std::string_view text) noexcept {
    constexpr std::string_view identity = " -";
    if (text.empty() || text == identity)
        return {};
    if (!text.starts_with(identity) || text[identity.size()] != ' ')
        return {{},
                "has no - after its first word, so that may not be the client: remove what stands "
                "in front of the client, such as a virtual host, a time, or the name of a program "
                "or container"};
    const auto user = text.substr(identity.size() + 1);
    if (has_address(user, around_addresses))
        return {{}, "has a second address, so the first one may not be that of the client"};
    return {user == "-" ? std::string_view{} : user, {}};
}

/// Adds method and target of `GET /path HTTP/1.1" 200 ...`.
void read_request(std::string_view text, log_line& into) noexcept {
    const auto request = text.substr(0, text.find('"'));
    const auto space = request.find(' ');
    if (space == std::string_view::npos)
        return;
    into.method = request.substr(0, space);
    const auto rest = request.substr(space + 1);
    into.target = rest.substr(0, rest.find(' '));
}

} // namespace

log_reading read_log_line(std::string_view text) noexcept {
    const auto space = text.find(' ');
    const auto client = text.substr(0, space);
    if (const auto problem = client_problem(client); !problem.empty())
        return {{}, problem};

    // A user name may contain anything except an unescaped quote, even a time in brackets; so the
    // time is the one before the quote.
    constexpr std::string_view end = "] \"";
    for (auto at = text.find(" [", space); at != std::string_view::npos;
         at = text.find(" [", at + 1)) {
        const auto rest = text.substr(at + 2);
        if (rest.size() < time_size || rest.substr(time_size, end.size()) != end)
            continue;
        const auto [time, problem] = read_log_time(rest.substr(0, time_size));
        if (!problem.empty())
            return {{}, problem};
        const auto [user, user_problem] = read_user(text.substr(space, at - space));
        if (!user_problem.empty())
            return {{}, user_problem};
        log_line line{client, time, user};
        read_request(rest.substr(time_size + end.size()), line);
        return {line, {}};
    }
    return {{}, "has no [dd/Mon/yyyy:hh:mm:ss +hhmm] in front of a quoted request"};
}

} // namespace tool::replay
