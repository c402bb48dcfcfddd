// SPDX-License-Identifier: BSL-1.0
//
// The commands for fixed windows, computed once to write them and once more to read the replies.
//
// A denied call subtracts what it added, in a later write. The window may have ended by then, as a
// write may be in flight for any time, and DECRBY would lower the count of another window, which
// would admit more than its limit, or make a negative number without TTL. A bound on the time in
// flight would be no guarantee. MULTI has no conditions; but RENAMENX is one, and the server
// compares times:
//
//     ZADD aside 0 mark
//     PEXPIREAT aside end      if the window has ended, deletes `aside`
//     RENAMENX key aside       if it has, sets the key aside
//     ZADD key 0 mark          if there is no key now, makes one of another type
//     DECRBY key surplus       which this command refuses
//     ZREM key mark            and this one deletes
//     ZREM aside mark          if the window has not ended, deletes `aside`
//     RENAMENX aside key       if it has, restores the key
//
// While the window counts, `aside` exists, so the key stays and is lowered. If it has ended and
// another one has begun, that one is aside meanwhile: its count and TTL are unchanged. If none has
// begun, or the key was deleted, nothing is left. `end` is the earliest possible time of the call
// plus the PTTL in its reply, so not later than the end of the window.
//
// What is lost costs only tokens that count to the end of the window: what was not sent when a
// connection is lost is dropped, as the server may have lost its data. Only `reset`, or a program
// that deletes keys, can end a window unnoticed: a call that was denied before a reset may give
// back to the window after it. A count that has become 0 stays, as no command deletes a number only
// if it is 0; so a call that another rule denies starts a window that should begin with its first
// charge. The value stays a number that people and INCR understand: one that begins below the
// largest integer, so that INCRBY itself refuses, needs no surplus for one rule, but does not help
// policies with several.

#include <core/rule_kind.hpp>
#include <redis/multi/window_commands.hpp>
#include <redis/protocol/key.hpp>

#include <boost/container/static_vector.hpp>

#include <algorithm>
#include <charconv>
#include <optional>

namespace colimit::redis {
namespace {

constexpr std::int64_t millisecond = 1'000;

/// A command that starts a window unless the key exists.
struct start {
    std::int64_t count = 0;
    std::string_view option; ///< PX or PXAT
    std::int64_t time = 0;   ///< milliseconds
};

using starts = boost::container::static_vector<start, 4>;

[[nodiscard]] const core::compiled_rule& rule_of(const transaction_call& c,
                                                 std::size_t rule) noexcept {
    return c.rules().limits[rule];
}

/// Returns the end of the aligned window that contains a time.
[[nodiscard]] std::int64_t end_of(const core::compiled_rule& l, std::int64_t time) noexcept {
    return (time / l.period + 1) * l.period;
}

/// Returns the commands that start a window. Redis keeps a key until the millisecond after its
/// expiry time, so the expiry time is the last millisecond of the window.
[[nodiscard]] starts starts_of(const transaction_call& c, std::size_t rule) noexcept {
    const auto& l = rule_of(c, rule);
    if (core::starts_at_use(l.kind))
        return {{.count = 0, .option = "PX", .time = l.period / millisecond}};
    auto all = starts{};
    const auto add = [&all](std::int64_t end) {
        all.push_back({.count = 0, .option = "PXAT", .time = end / millisecond - 1});
    };
    const auto first = end_of(l, c.earliest);
    const auto last = end_of(l, c.latest + c.grace);
    add(first);
    if (last > first)
        add(first + l.period);
    if (last > first + l.period)
        add(last);
    all.push_back({.count = l.debt_limit, .option = "PX", .time = 1});
    return all;
}

void begin_command(std::string& out, std::size_t words, std::string_view command,
                   const transaction_call& c, std::size_t rule,
                   std::string_view family = window_family) {
    resp::append_array(out, words);
    resp::append_bulk(out, command);
    append_name(out, c.key, family, c.policy.rules[rule].name());
}

void append_start(std::string& out, const transaction_call& c, std::size_t rule, const start& s) {
    begin_command(out, 6, "SET", c, rule);
    append_integer(out, s.count);
    resp::append_bulk(out, s.option);
    append_integer(out, s.time);
    resp::append_bulk(out, "NX");
}

void append_rename(std::string& out, const transaction_call& c, std::size_t rule,
                   std::string_view from, std::string_view to) {
    begin_command(out, 3, "RENAMENX", c, rule, from);
    append_name(out, c.key, to, c.policy.rules[rule].name());
}

/// Appends ZADD or ZREM of the only member of a sorted set, which marks a key for a moment.
void append_mark(std::string& out, const transaction_call& c, std::size_t rule,
                 std::string_view command, std::string_view family) {
    constexpr std::string_view mark = "colimit";
    const auto adds = command == "ZADD";
    begin_command(out, adds ? 4 : 3, command, c, rule, family);
    if (adds)
        resp::append_bulk(out, "0");
    resp::append_bulk(out, mark);
}

/// Appends a command that changes a window's key, and that the server executes only until `end`, in
/// milliseconds: see the head of this file. Returns the number of replies.
std::size_t append_until(std::string& out, const transaction_call& c, std::size_t rule,
                         std::int64_t end, std::string_view command, std::int64_t argument) {
    resp::append_command(out, {"MULTI"});
    append_mark(out, c, rule, "ZADD", aside_family);
    begin_command(out, 3, "PEXPIREAT", c, rule, aside_family);
    append_integer(out, end);
    append_rename(out, c, rule, window_family, aside_family);
    append_mark(out, c, rule, "ZADD", window_family);
    begin_command(out, 3, command, c, rule);
    append_integer(out, argument);
    append_mark(out, c, rule, "ZREM", window_family);
    append_mark(out, c, rule, "ZREM", aside_family);
    append_rename(out, c, rule, aside_family, window_family);
    resp::append_command(out, {"EXEC"});
    return 10;
}

[[nodiscard]] bool resets(const transaction_call& c) noexcept {
    return c.request.verb == core::verb::reset;
}

/// Returns the rest of a window that starts now, in milliseconds: the longest that it may be.
[[nodiscard]] std::int64_t longest_rest(const transaction_call& c, std::size_t rule) noexcept {
    const auto& l = rule_of(c, rule);
    const auto rest = core::starts_at_use(l.kind) ? l.period : end_of(l, c.earliest) - c.earliest;
    return (rest + millisecond - 1) / millisecond;
}

/// Reads the reply to INCRBY, which is the count with the call's tokens.
[[nodiscard]] bool read_sum(const transaction_call& c, exec_reply& from, window_result& to,
                            std::int64_t most) {
    const auto sum = from.next().front();
    if (!resp::is_error(sum.kind)) {
        to.added = true;
        to.used = sum.integer - c.tokens;
        return sum.kind == resp::kind::integer;
    }
    if (from.text(sum).ends_with("would overflow")) // after charges
        to.used = most;
    else
        from.note(classify(from.text(sum)));
    return true;
}

/// Reads the reply to GET. A text that is not a number is another program's, as INCRBY also says.
[[nodiscard]] bool read_count(exec_reply& from, window_result& to) {
    const auto count = from.next().front();
    if (resp::is_error(count.kind)) {
        from.note(classify(from.text(count)));
        return true;
    }
    if (count.kind == resp::kind::null)
        return true;
    const auto text = from.text(count);
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), to.used);
    if (ec != std::errc{} || end != text.data() + text.size())
        from.note({errc::key_conflict, recovery::keep});
    return count.kind == resp::kind::bulk;
}

} // namespace

bool is_fixed_window(const core::compiled_rule& l) noexcept {
    return l.kind == core::kind::window || l.kind == core::kind::from_first;
}

std::size_t append_window_commands(std::string& out, const transaction_call& c, std::size_t rule) {
    if (resets(c)) { // not DEL, which would also delete a key of another type
        begin_command(out, 2, "GETDEL", c, rule);
        return 1;
    }
    if (c.tokens == 0) {
        begin_command(out, 2, "GET", c, rule);
        begin_command(out, 2, "PTTL", c, rule);
        return 2;
    }
    const auto all = starts_of(c, rule);
    for (const auto& s : all)
        append_start(out, c, rule, s);
    begin_command(out, 3, "INCRBY", c, rule);
    append_integer(out, c.tokens);
    begin_command(out, 2, "PTTL", c, rule);
    return all.size() + 2;
}

std::size_t count_window_commands(const transaction_call& c, std::size_t rule) noexcept {
    return resets(c) ? 1 : c.tokens == 0 ? 2 : starts_of(c, rule).size() + 2;
}

bool read_window_replies(const transaction_call& c, std::size_t rule, exec_reply& from,
                         window_result& to) {
    const auto read_other = [&from] { // of which only an error matters
        const auto first = from.next().front();
        if (resp::is_error(first.kind))
            from.note(classify(from.text(first)));
    };
    if (resets(c)) {
        read_other();
        return true;
    }
    if (c.tokens != 0)
        for (auto i = starts_of(c, rule).size(); i != 0; --i)
            read_other();
    const auto most = rule_of(c, rule).debt_max;
    if (c.tokens != 0 ? !read_sum(c, from, to, most) : !read_count(from, to))
        return false;
    to.used = std::clamp<std::int64_t>(to.used, 0, most);
    const auto ttl = from.next().front();
    const auto longest = rule_of(c, rule).period / millisecond;
    to.is_ttl_wrong = ttl.integer == -1 || ttl.integer > longest;
    to.ttl = ttl.integer < 0 || ttl.integer > longest ? longest_rest(c, rule) : ttl.integer;
    return ttl.kind == resp::kind::integer;
}

core::rule_state window_state(const transaction_call& c, const window_result& found,
                              std::size_t rule) noexcept {
    // The key exists for a part of the millisecond after its TTL.
    return {.t = c.earliest + (found.ttl + 1) * millisecond,
            .debt = found.used,
            .num = rule_of(c, rule).num,
            .capacity = 1};
}

std::size_t append_give_back(std::string& out, const transaction_call& c,
                             const window_result& found, std::size_t rule, std::int64_t surplus) {
    const auto end = c.earliest / millisecond + found.ttl;
    return append_until(out, c, rule, end, "DECRBY", surplus);
}

std::size_t append_right_ttl(std::string& out, const transaction_call& c,
                             const window_result& found, std::size_t rule, std::int64_t latest) {
    const auto& l = rule_of(c, rule);
    if (!core::starts_at_use(l.kind)) {
        const auto end = end_of(l, latest) / millisecond - 1;
        return append_until(out, c, rule, end, "PEXPIREAT", end);
    }
    begin_command(out, 3, "PEXPIRE", c, rule);
    append_integer(out, found.ttl);
    return 1;
}

} // namespace colimit::redis
