// SPDX-License-Identifier: BSL-1.0
//
// The server of a session that a test plays.

#include <support/unit_test.hpp>
#include <unit/session_bench.hpp>

#include <redis/protocol/script.hpp>

#include <array>
#include <stdexcept>
#include <utility>

namespace colimit::test {
namespace {

using redis::action;

[[nodiscard]] std::string text_of(std::source_location at) {
    return std::string{at.file_name()} + ':' + std::to_string(at.line()) + ": ";
}

[[nodiscard]] std::string text_of(const std::vector<command>& commands) {
    auto out = std::string{};
    for (const auto& words : commands) {
        out += out.empty() ? "" : "; ";
        for (std::size_t i = 0; i < words.size(); ++i) {
            const auto quote = words[i].empty() || words[i].find(' ') != std::string::npos;
            out += (i == 0 ? "" : " ") + (quote ? '\'' + words[i] + '\'' : words[i]);
        }
    }
    return out;
}

[[nodiscard]] std::string_view name_of(action a) {
    constexpr auto names =
        std::array<std::string_view, 5>{"nothing", "connect", "send", "serve", "disconnect"};
    return names.at(static_cast<std::size_t>(a));
}

[[nodiscard]] std::string bulk(std::string_view text) {
    auto out = std::string{};
    redis::resp::append_bulk(out, text);
    return out;
}

constexpr auto probe_commands = std::array<std::string_view, 19>{
    "MULTI",
    "ZREMRANGEBYSCORE '' -inf (0",
    "ZREVRANGE '' 0 0 WITHSCORES",
    "ZADD '' XX 0 m",
    "ZCOUNT '' (0 +inf",
    "PTTL ''",
    "PEXPIRE '' 1000",
    "ZREM '' m",
    "ZREMRANGEBYRANK '' 0 0",
    "PERSIST ''",
    "SET '' 0 XX",
    "INCRBY '' x",
    "DECRBY '' x",
    "PEXPIREAT '' 1000",
    "RENAMENX '' ''",
    "GET ''",
    "GETDEL ''",
    "ZADD",
    "EXEC",
};

[[nodiscard]] std::string joined(const auto& texts) {
    auto out = std::string{};
    for (const auto text : texts)
        out += (out.empty() ? "" : "; ") + std::string{text};
    return out;
}

} // namespace

const std::string session_bench::commands_of_probe = joined(probe_commands);

std::string mode(std::string_view name) {
    return "%1\r\n" + bulk("mode") + bulk(name);
}

std::string info(std::string_view name) {
    return bulk("# Server\r\nredis_version:5\r\nredis_mode:" + std::string{name} + "\r\n");
}

std::string permissions(std::string_view needed, std::string_view others,
                        std::string_view written) {
    return "*3\r\n" + bulk(needed) + bulk(others) + bulk(written);
}

session_bench::session_bench(redis::session_settings s)
    : session(s), long_pause_(s.reconnect_delay_max / 2) {
    session.report_to(errors);
}

std::string session_bench::sent() {
    auto out = std::string{};
    session.append_handshake(out);
    return text_of(commands_of(out));
}

action session_bench::reply(std::string_view bytes) {
    auto reader = redis::resp::decoder{};
    if (reader.feed(bytes) != redis::resp::progress::complete)
        throw std::runtime_error{"not one whole reply"};
    return session.read_reply(reader, bytes, now);
}

action session_bench::wait() {
    now = session.wake_at().value();
    return session.wake(now);
}

void session_bench::open(std::string_view commands, place at) {
    check(session.start(now), action::connect, "start", at);
    check(session.connected(), action::send, "connected", at);
    check_sent(commands, at);
}

void session_bench::open_again(std::string_view commands, place at) {
    check(wait(), action::connect, "wait", at);
    check(session.connected(), action::send, "connected", at);
    check_sent(commands, at);
}

void session_bench::hear(texts replies, action effect, place at) {
    auto rest = replies.size();
    for (const auto text : replies)
        check(reply(text), --rest == 0 ? effect : action::nothing, text, at);
}

void session_bench::fail(texts replies, errc why, std::string_view report, place at) {
    hear(replies, action::disconnect, at);
    BOOST_TEST((session.error() == why), text_of(at) << make_error_code(session.error()));
    const auto lasts = why == errc::auth_failed || why == errc::bad_reply ||
                       why == errc::invalid_config || why == errc::untrusted_server;
    BOOST_TEST(session.is_refused() == lasts, text_of(at));
    if (why != errc::unavailable)
        BOOST_TEST(session.wake_at().value() >= now + long_pause_, text_of(at));
    if (report.starts_with('*'))
        BOOST_TEST(errors.text.find(report.substr(1)) != std::string::npos, text_of(at)
                                                                                << errors.text);
    else if (!report.empty())
        BOOST_TEST(errors.text == report, text_of(at) << errors.text);
}

void session_bench::introduce(std::string_view text, place at) {
    check(reply(text), action::send, text, at);
    check_sent(text_of({{"SCRIPT", "LOAD", std::string{redis::check_script.body}},
                        {"SCRIPT", "LOAD", std::string{redis::permissions_script.body}},
                        {"EVALSHA", std::string{redis::permissions_script.sha1}, "0", ""}}),
               at);
}

void session_bench::load(std::string_view permissions, action effect, place at) {
    hear({load_reply, load_reply, permissions}, effect, at);
}

void session_bench::serve(std::string_view text, place at) {
    introduce(text, at);
    load(permissions_reply, action::serve, at);
}

void session_bench::make_ready(place at) {
    open({}, at);
    serve(hello_reply, at);
}

void session_bench::lose(redis::recovery why, place at) {
    check(session.lost(now, why), action::disconnect, "lost", at);
}

void session_bench::lose(error_code why, place at) {
    check(session.lost(now, why), action::disconnect, "lost", at);
}

void session_bench::reply_facts(texts replies, place at) {
    hear(replies, action::nothing, at);
}

action session_bench::probe(std::string_view command, std::string_view answer, place at) {
    constexpr std::string_view aborted =
        "-EXECABORT Transaction discarded because of previous errors.\r\n";
    auto last = action::nothing;
    for (const auto words : probe_commands) {
        check(last, action::nothing, words, at);
        const auto name = words.substr(0, words.find(' '));
        const auto has_key = name != words;
        last = reply(name == command && (has_key || command != "ZADD") ? answer
                     : name == "MULTI"                                 ? ok
                     : name == "EXEC"                                  ? aborted
                     : has_key                                         ? "+QUEUED\r\n"
                               : "-ERR wrong number of arguments for 'zadd' command\r\n");
    }
    return last;
}

void session_bench::check(action done, action expected, std::string_view what, place at) const {
    BOOST_TEST((done == expected),
               text_of(at) << what << ": " << name_of(done) << ", expected " << name_of(expected));
}

void session_bench::check_sent(std::string_view commands, place at) {
    const auto found = sent();
    BOOST_TEST((commands.empty() || found == commands), text_of(at) << "sent " << found);
}

} // namespace colimit::test
