// SPDX-License-Identifier: BSL-1.0
//
// A session with a server that the test plays: it reads the commands of the handshake and replies.

#pragma once

#include <redis/connection/session.hpp>
#include <redis/protocol/error_sink.hpp>
#include <redis/protocol/script.hpp>
#include <support/script_double.hpp>
#include <support/unit_test.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::test {

inline constexpr std::string_view ok = "+OK\r\n";
inline constexpr std::string_view loading = "-LOADING Redis is loading the dataset in memory\r\n";
inline constexpr std::string_view time_of_2023 = "*2\r\n$10\r\n1700000000\r\n$2\r\n12\r\n";

/// They come behind the facts that transactions need, and ask about the empty key.
inline const std::vector<command> commands_of_probe{{"MULTI"},
                                                    {"ZREMRANGEBYSCORE", "", "-inf", "(0"},
                                                    {"ZREVRANGE", "", "0", "0", "WITHSCORES"},
                                                    {"ZADD", "", "XX", "0", "m"},
                                                    {"ZCOUNT", "", "(0", "+inf"},
                                                    {"PTTL", ""},
                                                    {"PEXPIRE", "", "1000"},
                                                    {"ZREM", "", "m"},
                                                    {"ZREMRANGEBYRANK", "", "0", "0"},
                                                    {"PERSIST", ""},
                                                    {"SET", "", "0", "XX"},
                                                    {"INCRBY", "", "x"},
                                                    {"DECRBY", "", "x"},
                                                    {"PEXPIREAT", "", "1000"},
                                                    {"RENAMENX", "", ""},
                                                    {"GET", ""},
                                                    {"GETDEL", ""},
                                                    {"ZADD"},
                                                    {"EXEC"}};

struct session_bench {
    explicit session_bench(redis::session_settings s = {}) : session(std::move(s)) {}

    [[nodiscard]] std::vector<command> handshake() {
        auto out = std::string{};
        session.append_handshake(out);
        return commands_of(out);
    }

    redis::action reply(std::string_view bytes) {
        auto reader = redis::resp::decoder{};
        if (reader.feed(bytes) != redis::resp::progress::complete)
            throw std::runtime_error{"not one whole reply"};
        return session.read_reply(reader, bytes, now);
    }

    /// The last reply to the first part of the handshake; the second part is the script.
    void introduce(std::string_view bytes) {
        BOOST_TEST((reply(bytes) == redis::action::send));
        BOOST_TEST((handshake() ==
                    std::vector<command>{
                        {"SCRIPT", "LOAD", std::string{redis::check_script.body}},
                        {"SCRIPT", "LOAD", std::string{redis::permissions_script.body}},
                        {"EVALSHA", std::string{redis::permissions_script.sha1}, "0", ""}}));
    }

    /// Proceeds until replies to the handshake are expected.
    void open() {
        BOOST_TEST((session.start(now) == redis::action::connect));
        BOOST_TEST((session.connected() == redis::action::send));
        (void)handshake();
    }

    /// The replies to the second part, of which the last is this.
    redis::action load(std::string_view permissions = permissions_reply) {
        BOOST_TEST((reply(load_reply) == redis::action::nothing));
        BOOST_TEST((reply(load_reply) == redis::action::nothing));
        return reply(permissions);
    }

    /// The replies to the probe for transactions, of which the one to `command` is this.
    redis::action probe(std::string_view command = "", std::string_view answer = "") {
        constexpr std::string_view aborted =
            "-EXECABORT Transaction discarded because of previous errors.\r\n";
        auto last = redis::action::nothing;
        for (const auto& words : commands_of_probe) {
            BOOST_TEST((last == redis::action::nothing));
            const auto has_key = words.size() > 1;
            last = reply(words[0] == command && (has_key || command != "ZADD") ? answer
                         : words[0] == "MULTI"                                 ? ok
                         : words[0] == "EXEC"                                  ? aborted
                         : has_key                                             ? "+QUEUED\r\n"
                                   : "-ERR wrong number of arguments for 'zadd' command\r\n");
        }
        return last;
    }

    void make_ready() {
        open();
        introduce(hello_reply);
        BOOST_TEST((load() == redis::action::serve));
    }

    /// The replies about the server that come before those to the probe for transactions.
    void reply_facts() {
        for (const auto fact : {std::string_view{"$7\r\ncolimit\r\n"}, std::string_view{":3\r\n"},
                                std::string_view{"$0\r\n\r\n"}, time_of_2023})
            (void)reply(fact);
    }

    redis::session session;
    std::int64_t now = 1'000'000;
};

/// The reports of a session: all codes, the last text, and the password that none may show.
struct reports : redis::error_sink {
    void note(const redis::error_report& what) noexcept override {
        codes.push_back(what.code);
        text = what.text;
    }
    void note_own(errc code, phase /*where*/, std::string_view own,
                  std::string_view detail) noexcept override {
        codes.push_back(code);
        text = std::string{own} + ' ' + std::string{detail};
    }
    void hide(std::string_view password) override { hidden = password; }

    std::vector<errc> codes;
    std::string text;
    std::string hidden;
};

} // namespace colimit::test
