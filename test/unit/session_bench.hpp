// SPDX-License-Identifier: BSL-1.0
//
// A session with a server that the test plays: it reads the commands of the handshake and replies.
// Its functions check what the session does, and report the line of the test that calls them.

#pragma once

#include <redis/connection/session.hpp>
#include <redis/protocol/error_sink.hpp>
#include <support/script_double.hpp>

#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::test {

inline constexpr std::string_view ok = "+OK\r\n";
inline constexpr std::string_view pong = "+PONG\r\n";
inline constexpr std::string_view loading = "-LOADING Redis is loading the dataset in memory\r\n";
inline constexpr std::string_view no_hello = "-ERR unknown command 'HELLO'\r\n";
inline constexpr std::string_view wrong_password = "-WRONGPASS invalid username-password pair\r\n";
inline constexpr std::string_view read_only =
    "-READONLY You can't write against a read only replica.\r\n";
inline constexpr std::string_view time_of_2023 = "*2\r\n$10\r\n1700000000\r\n$2\r\n12\r\n";
inline const auto connection_reset =
    error_code{boost::system::errc::connection_reset, boost::system::generic_category()};

/// Returns a reply to HELLO of a server in this mode, such as `cluster`.
[[nodiscard]] std::string mode(std::string_view name);
/// Returns a reply to INFO of a server in this mode.
[[nodiscard]] std::string info(std::string_view name);
/// Returns a reply to the test of permissions: commands that each check needs, other ones, and the
/// error of a command that writes.
[[nodiscard]] std::string permissions(std::string_view needed, std::string_view others,
                                      std::string_view written);

/// The reports of a session: all codes, and the last text.
struct reports : redis::error_sink {
    void note(const redis::error_report& what) noexcept override {
        codes.push_back(what.code);
        text = std::string{what.text} + (what.is_own ? " " : "") + std::string{what.detail};
    }

    std::vector<errc> codes;
    std::string text;
};

struct session_bench {
    using action = redis::action;
    using place = std::source_location;
    using texts = std::initializer_list<std::string_view>;

    explicit session_bench(redis::session_settings s = {});

    /// Returns the commands that are sent now, such as `HELLO 3; SELECT 7`. Words that are empty or
    /// have spaces are in quotes.
    [[nodiscard]] std::string sent();
    /// Reads a reply.
    action reply(std::string_view bytes);
    action lost() { return session.lost(now); }
    /// Proceeds to the time at which the session wants to be woken.
    action wait();

    /// Starts and connects, and sends these commands, or any.
    void open(std::string_view commands = {}, place at = place::current());
    /// Connects after a loss, and sends these commands, or any.
    void open_again(std::string_view commands = {}, place at = place::current());
    /// Reads replies; the last one has this effect, and the others have none.
    void hear(texts replies, action effect = action::nothing, place at = place::current());
    /// Reads replies, the last of which ends the connection with this error. A refusal or an error
    /// of the server has the longest pause, or half of it.
    /// @param report the text that is reported; all or, after a `*`, a part of it
    void fail(texts replies, errc why, std::string_view report = {}, place at = place::current());
    /// Reads the last reply to the first part of the handshake; the second part is the script.
    void introduce(std::string_view reply = hello_reply, place at = place::current());
    /// Reads the replies to the second part, of which the last is this.
    void load(std::string_view permissions = permissions_reply, action effect = action::serve,
              place at = place::current());
    /// Both parts of a handshake, from the last reply to the first one.
    void serve(std::string_view reply = hello_reply, place at = place::current());
    /// A whole handshake.
    void make_ready(place at = place::current());
    /// Loses the connection, and wants another one later.
    void lose(redis::recovery why = redis::recovery::reconnect, place at = place::current());
    void lose(error_code why, place at = place::current());

    /// Reads the replies about the server that come before those to the probe for transactions.
    void reply_facts(texts replies = {"$7\r\ncolimit\r\n", ":3\r\n", "$0\r\n\r\n", time_of_2023},
                     place at = place::current());
    /// Reads the replies to the probe, of which the one to `command` is this.
    action probe(std::string_view command = "", std::string_view answer = "",
                 place at = place::current());

    /// The commands of the probe, which ask about the empty key.
    static const std::string commands_of_probe;

    redis::session session;
    reports errors;
    std::int64_t now = 1'000'000;

  private:
    void check(action done, action expected, std::string_view what, place at) const;
    void check_sent(std::string_view commands, place at);

    std::int64_t long_pause_;
};

} // namespace colimit::test
